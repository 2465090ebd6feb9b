"""What the table is before it has learned anything: MiniLM's vector of each word by itself."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from resources.embedders.minilm import MiniLMEmbedder
from training.table import Array, Table

DIMENSION: Final = 256
# Of 0 (axes as long as they are) to 1 (all equally long).
_STRETCH: Final = 0.75
_MARK: Final = "##"


def is_word(token: str) -> bool:
    """Tell whether a token of the vocabulary is a word or a piece of one."""
    return not token.startswith("[") and any(character.isalnum() for character in token)


def word_vectors(words: Sequence[str]) -> Array:
    """Return MiniLM's vector of each word; of a piece, as if it stood alone."""
    return MiniLMEmbedder(16).embed_documents([word.removeprefix(_MARK) for word in words]).vectors


def starting_table(vectors: Array, words: Sequence[str]) -> Table:
    """Return the first table: fewer axes, and weights by rarity.

    The vectors are turned to the principal axes, of which the first ones are kept and stretched
    a little towards equal lengths. A token weighs by the logarithm of its rank, the vocabulary
    being ordered by frequency; pieces stand behind, and what is no word weighs next to nothing.
    """
    is_said = np.array([is_word(word) for word in words])
    centred = (vectors - vectors[is_said].mean(axis=0)).astype(np.float64)
    lengths, axes = np.linalg.eigh(centred[is_said].T @ centred[is_said])
    lengths, axes = lengths[::-1][:DIMENSION], axes[:, ::-1][:, :DIMENSION]
    # eigh leaves the direction of an axis open; the same one on every machine.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSION)])
    turned = centred @ axes * (lengths / lengths[0]) ** (-_STRETCH / 2)
    turned /= np.sqrt((turned**2).sum(axis=1).mean())
    weights = np.log(np.log1p(np.arange(len(words)) + 1.0) ** 2 / 100)
    logs: NDArray[np.float32] = np.where(is_said, weights, -9).astype(np.float32)
    return Table(turned.astype(np.float32), logs.copy(), logs.copy())
