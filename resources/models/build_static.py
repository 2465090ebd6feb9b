"""Build static.safetensors, a table of one vector a token, from the shipped model alone.

``python -m resources.models.build_static [OUTPUT]`` takes half a CPU minute and needs nothing that
codelake does not need itself. No text is read, so there is nothing to learn by heart:

1. every token of the vocabulary goes through minilm.onnx by itself;
2. the vectors are turned to the principal axes of the tokens that are words, the first 256 are
   kept and stretched a little towards equal lengths;
3. a token weighs the square of the logarithm of its rank: the vocabulary is ordered by frequency,
   and a rare word says more; what is no word weighs nothing;
4. each row is stored as 8-bit integers with a scale.

docs/embedders.md says how it compares.
"""

import argparse
import hashlib
import logging
import sys
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from resources.embedders.minilm import MiniLMEmbedder, load_tokenizer
from resources.models import model_file
from resources.models.tensors import write_tensors

DIMENSION: Final = 256
# Of 0 (axes as long as they are) to 1 (all equally long); .75 was best of 0, .25, .5, .75.
STRETCH: Final = 0.75
_WHOLE: Final = 127  # largest 8-bit integer that is used
_LOG: Final = logging.getLogger(__name__)

Array = NDArray[np.float32]


def token_vectors(ids: range) -> Array:
    """Return the model's vector of each token by itself."""
    return MiniLMEmbedder(3).embed_ids([[i] for i in ids])


def is_word(token: str) -> bool:
    """Tell whether a token of the vocabulary is a word or a piece of one."""
    return not token.startswith("[") and any(character.isalnum() for character in token)


def project(vectors: Array, words: NDArray[np.bool_]) -> Array:
    """Turn to the principal axes of the words and keep the first ones."""
    centre = vectors[words].mean(axis=0)
    centred = (vectors - centre).astype(np.float64)
    lengths, axes = np.linalg.eigh(centred[words].T @ centred[words])
    lengths, axes = lengths[::-1][:DIMENSION], axes[:, ::-1][:, :DIMENSION]
    # eigh leaves the direction of an axis open; the same one on every machine.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSION)])
    turned: Array = (centred @ axes * (lengths / lengths[0]) ** (-STRETCH / 2)).astype(np.float32)
    return turned


def quantize(rows: Array) -> tuple[NDArray[np.int8], Array]:
    """Return rows of 8-bit integers and what each is multiplied by."""
    scale = np.abs(rows).max(axis=1) / _WHOLE
    return np.rint(rows / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def main(arguments: list[str]) -> None:
    """Build the file that ``arguments`` name, or the shipped one."""
    parser = argparse.ArgumentParser(prog="build_static", description=__doc__)
    parser.add_argument("output", nargs="?", type=Path, default=model_file("static.safetensors"))
    output: Path = parser.parse_args(arguments).output
    tokenizer = load_tokenizer()
    size = tokenizer.get_vocab_size()
    words = np.array([is_word(tokenizer.id_to_token(i) or "") for i in range(size)])
    weight = (np.log1p(np.arange(size)) ** 2 * words).astype(np.float32)
    table, scale = quantize(project(token_vectors(range(size)), words))
    # One weight for questions and one for documents: a trained table may tell them apart.
    write_tensors(
        output,
        {"table": table, "scale": scale, "query_weight": weight, "document_weight": weight},
    )
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    _LOG.info("%s: %d bytes, SHA-256 %s", output, output.stat().st_size, digest)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main(sys.argv[1:])
