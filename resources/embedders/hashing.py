"""A cheap deterministic embedder: words hashed into places of a vector, for tests and stubs."""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codelake.embedding import BLANK, Embedded, Usage
from codelake.settings import EmbeddingSettings
from resources.embedders.opening import refuse_settings

DEFAULT_DIMENSION: Final = 64
# Words that are remembered with their place: code repeats a few thousand of them.
_REMEMBERED_WORDS: Final = 1 << 16
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


class HashEmbedder:
    """Embed texts by the words in them; texts that share words are near each other.

    Args:
        dimension: numbers in a vector.
    """

    is_remote: bool = False
    max_tokens: int = 1 << 20

    def __init__(self, dimension: int = DEFAULT_DIMENSION) -> None:
        """Choose the number of dimensions."""
        self.dimension = dimension
        self.model_id = f"hash-{dimension}"
        self.usage = Usage()

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched."""
        rows: list[int] = []
        numbers: list[int] = []
        failures: dict[int, str] = {}
        for row, text in enumerate(texts):
            if not text.strip():
                failures[row] = BLANK
                continue
            # The whole text counts as one more word: no vector is zero, few are equal.
            found = [_word_number(word.lower()) for word in _WORD.findall(text)]
            found.append(_number(text))
            numbers += found
            rows += [row] * len(found)
        self.usage.texts += len(texts) - len(failures)
        self.usage.tokens += len(numbers)
        self.usage.requests += 1
        return Embedded(self._vectors(len(texts), rows, numbers), failures)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for."""
        return self.embed_documents(texts)

    def _vectors(
        self, count: int, rows: Sequence[int], numbers: Sequence[int]
    ) -> NDArray[np.float32]:
        hashed = np.array(numbers, dtype=np.uint64)
        places = (hashed >> np.uint64(8)) % np.uint64(self.dimension)
        # Fractions shifted by an irrational number: no sum of them is zero.
        weights = (hashed % np.uint64(251)).astype(np.float64) / 250.0 - 0.5 + 0.01 / np.pi
        flat = np.array(rows, dtype=np.int64) * self.dimension + places.astype(np.int64)
        total = np.bincount(flat, weights=weights, minlength=count * self.dimension)
        vectors = total.reshape(count, self.dimension)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def open_hashing(settings: EmbeddingSettings) -> HashEmbedder:
    """Return a hash embedder of ``embedding.dimensions`` numbers.

    Raises:
        UsageError: a setting that makes no sense here.
    """
    refuse_settings(settings, ["model", "base_url", "output_type"])
    return HashEmbedder(settings.dimensions or DEFAULT_DIMENSION)


def _number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@lru_cache(maxsize=_REMEMBERED_WORDS)
def _word_number(word: str) -> int:
    return _number(word)
