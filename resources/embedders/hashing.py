"""A cheap deterministic embedder: words hashed into places of a vector, for tests and stubs."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codelake.embedding import BLANK, Embedded, Usage
from codelake.settings import EmbeddingSettings
from resources.embedders.opening import refuse_settings

DEFAULT_DIMENSION: Final = 64

_BREAK, _UPPER, _LOWER, _DIGIT, _OTHER = range(5)  # what a byte is; others are of no ASCII letter
_PRIME: Final = np.uint64(0x100000001B3)
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # spreads every bit of a number over the high ones


def _classes() -> NDArray[np.uint8]:
    """Return what each of the 256 bytes is."""
    classes = np.full(256, _OTHER, np.uint8)
    classes[:128] = _BREAK
    classes[ord("A") : ord("Z") + 1] = _UPPER
    classes[ord("a") : ord("z") + 1] = _LOWER
    classes[ord("0") : ord("9") + 1] = _DIGIT
    return classes


_CLASSES: Final = _classes()


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
        self.model_id = f"hash2-{dimension}"
        self.usage = Usage()

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched."""
        failures = {row: BLANK for row, text in enumerate(texts) if not text.strip()}
        contents = [text.encode("utf-8", "surrogatepass") for text in texts]
        rows, numbers = _word_numbers(contents)
        # The whole text counts as one more word: no vector is zero, few are equal.
        wholes = [row for row in range(len(texts)) if row not in failures]
        rows = np.concatenate([rows, np.array(wholes, np.int64)])
        whole_numbers = np.array([_number(contents[row]) for row in wholes], np.uint64)
        numbers = np.concatenate([numbers, whole_numbers])
        self.usage.texts += len(wholes)
        self.usage.tokens += len(numbers)
        self.usage.requests += 1
        return Embedded(self._vectors(len(texts), rows, numbers), failures)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for."""
        return self.embed_documents(texts)

    def _vectors(
        self, count: int, rows: NDArray[np.int64], hashed: NDArray[np.uint64]
    ) -> NDArray[np.float32]:
        places = (hashed >> np.uint64(8)) % np.uint64(self.dimension)
        # Fractions shifted by an irrational number: no sum of them is zero.
        weights = (hashed % np.uint64(251)).astype(np.float64) / 250.0 - 0.5 + 0.01 / np.pi
        flat = rows * self.dimension + places.astype(np.int64)
        total = np.bincount(flat, weights=weights, minlength=count * self.dimension)
        vectors = total.reshape(count, self.dimension)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _word_numbers(contents: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return for each word of some texts the text it stands in and a number made of its letters.

    A word is a run of letters, which ends before an upper-case letter that begins another, or of
    digits. Upper and lower case have the same number.
    """
    joined = np.frombuffer(b"\n".join([*contents, b""]), np.uint8)
    classes = _CLASSES[joined]
    before = np.concatenate([np.array([_BREAK], np.uint8), classes[:-1]])
    after = np.concatenate([classes[1:], np.array([_BREAK], np.uint8)])
    goes_on = (before == classes) | ((before == _UPPER) & (classes == _LOWER))
    is_next_word = (before == _UPPER) & (classes == _UPPER) & (after == _LOWER)
    edges = np.flatnonzero(~goes_on | is_next_word)
    if not len(edges):
        return np.empty(0, np.int64), np.empty(0, np.uint64)
    lengths = np.diff(edges, append=len(joined))
    within = np.arange(edges[0], len(joined)) - np.repeat(edges, lengths)
    powers = np.multiply.accumulate(np.full(int(lengths.max()), _PRIME))
    lowered = np.where(classes == _UPPER, joined | 0x20, joined)[edges[0] :]
    numbers = np.add.reduceat(lowered * powers[within], edges - edges[0])
    numbers = (numbers ^ (numbers >> np.uint64(29))) * _MIX
    is_word = classes[edges] != _BREAK
    ends = np.cumsum([len(content) + 1 for content in contents])
    rows = np.searchsorted(ends, edges[is_word], side="right")
    return rows, (numbers ^ (numbers >> np.uint64(32)))[is_word]


def open_hashing(settings: EmbeddingSettings) -> HashEmbedder:
    """Return a hash embedder of ``embedding.dimensions`` numbers.

    Raises:
        UsageError: a setting that makes no sense here.
    """
    refuse_settings(settings, ["model", "base_url", "output_type"])
    return HashEmbedder(settings.dimensions or DEFAULT_DIMENSION)


def _number(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
