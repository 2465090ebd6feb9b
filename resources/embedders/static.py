"""The fast local embedder: a table of token vectors, added up by weight; no model is run."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codelake.embedding import Embedded, Part, Usage, gather, unit_vectors
from codelake.settings import EmbeddingSettings
from resources.embedders.opening import refuse_settings
from resources.embedders.wording import WordPieces
from resources.models import model_file
from resources.models.tensors import read_tensors

TABLE: Final = "static.safetensors"
VOCABULARY: Final = "static_vocabulary.txt"  # the token of each row of the table
# First digits of the SHA-256 of TABLE and VOCABULARY together; a test compares them.
REVISION: Final = "aba51605a9c1"
DIMENSION: Final = 256
DEFAULT_TOKENS: Final = 512
_PART_TEXTS: Final = 256  # texts that are answered together
# A longer text is cut before it is split, so that a megabyte costs no more than a page; no
# token needs more characters on average, white space included.
_CHARACTERS_PER_TOKEN: Final = 64

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The vectors of tokens and what each weighs in a question and in a document."""

    vectors: Array
    query_weight: Array
    document_weight: Array


class StaticEmbedder:
    """Embed by adding up the vectors of words.

    Args:
        max_tokens: word pieces of a text that are read.
    """

    dimension: int = DIMENSION
    is_remote: bool = False
    dense_weight: float = 0.45  # docs/search.md has what 0.3 and 0.6 find

    def __init__(self, max_tokens: int = DEFAULT_TOKENS) -> None:
        """Choose how much of a text is read; nothing is loaded yet."""
        self.max_tokens = max_tokens
        self.model_id = f"static-{REVISION}-{max_tokens}"
        self.usage = Usage()

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched."""
        return gather(texts, self.embed_parts, self.dimension)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for."""
        weight = load_table().query_weight
        return gather(texts, lambda stream: self._parts(stream, weight), self.dimension)

    def embed_parts(self, texts: Iterable[str]) -> Iterator[Part]:
        """Embed documents as they come."""
        return self._parts(texts, load_table().document_weight)

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of each text, uncut."""
        longest = self.max_tokens * _CHARACTERS_PER_TOKEN
        pieces = load_pieces()
        return [pieces.ids(text[:longest]) for text in texts]

    def _parts(self, texts: Iterable[str], weight: Array) -> Iterator[Part]:
        stream, start = iter(texts), 0
        while batch := list(islice(stream, _PART_TEXTS)):
            rows = self.token_ids(batch)
            vectors = [add_up(row[: self.max_tokens], weight) for row in rows]
            answer = unit_vectors(vectors, DIMENSION)
            cut = tuple(i for i, row in enumerate(rows) if len(row) > self.max_tokens)
            self.usage.texts += len(batch)
            self.usage.tokens += sum(min(len(row), self.max_tokens) for row in rows)
            self.usage.requests += 1
            self.usage.truncated += len(cut)
            positions = range(start, start + len(batch))
            yield Part(positions, Embedded(answer.vectors, answer.failures, cut))
            start += len(batch)


def open_static(settings: EmbeddingSettings) -> StaticEmbedder:
    """Return the static embedder as the settings want it.

    Raises:
        UsageError: a setting that it does not have.
    """
    refuse_settings(settings, ["model", "base_url", "dimensions", "output_type"])
    return StaticEmbedder(settings.max_tokens or DEFAULT_TOKENS)


# Two threads that ask at once would otherwise read the table twice.
_LOADING: Final = threading.Lock()


def load_table() -> TokenTable:
    """Return the shipped table, read once in a process."""
    with _LOADING:
        return _load_table()


@lru_cache(maxsize=1)
def load_pieces() -> WordPieces:
    """Return what cuts words into the rows of the table, read once in a process."""
    return WordPieces(model_file(VOCABULARY).read_text("utf-8").splitlines())


@lru_cache(maxsize=1)
def _load_table() -> TokenTable:
    arrays = read_tensors(model_file(TABLE))
    vectors = arrays["table"].astype(np.float32) * arrays["scale"][:, None]
    return TokenTable(vectors, arrays["query_weight"], arrays["document_weight"])


def add_up(ids: Sequence[int], weight: Array) -> Array:
    """Add up the vectors of a text; a token that stands there four times counts twice."""
    tokens, counts = np.unique(np.array(ids), return_counts=True)
    weights = weight[tokens] * np.sqrt(counts, dtype=np.float32)
    if not weights.any():  # no word at all: better that than no vector
        weights = np.ones_like(weights)
    vector: Array = weights @ load_table().vectors[tokens]
    return vector
