"""The local reranker: each word of a question looks for its nearest word in a text."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codelake.errors import UsageError
from codelake.settings import RerankingSettings
from resources.embedders.static import REVISION, StaticEmbedder, add_up, load_table

# Share of the word-by-word score; the rest is the cosine of the whole texts in the same table.
# docs/rerankers.md has what was measured.
WORD_SHARE: Final = 0.5

Array = NDArray[np.float32]


class MaxSimReranker:
    """Score with the token table of the static embedder; no key and no model."""

    model_id: str = f"maxsim-{REVISION}"
    is_remote: bool = False

    def __init__(self) -> None:
        """Prepare; the table is read at the first question."""
        self._embedder = StaticEmbedder()

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score between 0 and 1 for each text; 0 for a blank one."""
        scores = np.zeros(len(texts), dtype=np.float32)
        if not query.strip() or not texts:
            return scores
        table, ids = load_table(), self._embedder.token_ids([query])[0]
        whole = _unit(add_up(ids, table.query_weight))
        asked, weights = _words(ids)
        for row, found in enumerate(self._embedder.token_ids(texts)):
            if texts[row].strip():
                kept = found[: self._embedder.max_tokens]
                nearest = (asked @ _words(kept)[0].T).max(axis=1)
                cosine = float(_unit(add_up(kept, table.document_weight)) @ whole)
                scores[row] = WORD_SHARE * float(nearest @ weights) + (1 - WORD_SHARE) * cosine
        return np.clip(scores, 0.0, 1.0)


def _words(ids: Sequence[int]) -> tuple[Array, Array]:
    """Return the unit vectors of the words among some tokens, and weights that add up to one."""
    weight = load_table().query_weight
    tokens = np.unique(np.array(ids))
    kept = tokens[weight[tokens] > 0]
    if not len(kept):  # nothing but punctuation
        return _directions()[tokens], np.full(len(tokens), 1.0 / len(tokens), dtype=np.float32)
    weights: Array = weight[kept] / weight[kept].sum()
    return _directions()[kept], weights


def _unit(vector: Array) -> Array:
    return vector / np.float32(np.linalg.norm(vector))


@lru_cache(maxsize=1)
def _directions() -> Array:
    vectors = load_table().vectors
    unit: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def open_maxsim(settings: RerankingSettings) -> MaxSimReranker:
    """Return the local reranker, which has no settings.

    Raises:
        UsageError: one is set all the same.
    """
    if settings != RerankingSettings():
        message = "search.reranking has nothing for 'maxsim': leave its keys out"
        raise UsageError(message)
    return MaxSimReranker()
