"""The local reranker: each word of a question looks for its nearest word in a text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
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

# Questions whose scores are kept: a walk asks for the same texts round after round.
_KEPT_QUESTIONS: Final = 8

# Texts that are kept read, some 4 KB each: questions about one repository share most of theirs.
_KEPT_TEXTS: Final = 8192

Array = NDArray[np.float32]
Read = tuple[NDArray[np.intp], Array]
"""The words of a text, each once, and the unit vector of the whole."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question, and the score of each text it was compared with.

    Args:
        near: cosine of each of its words with every token of the table.
        weights: what each of its words weighs; they add up to one.
        whole: the unit vector of the question.
    """

    near: Array
    weights: Array
    whole: Array
    scores: dict[str, float] = field(default_factory=dict)


class MaxSimReranker:
    """Score with the token table of the static embedder; no key and no model."""

    model_id: str = f"maxsim-{REVISION}"
    is_remote: bool = False

    def __init__(self) -> None:
        """Prepare; the table is read at the first question."""
        self._embedder = StaticEmbedder()
        self._asked = lru_cache(maxsize=_KEPT_QUESTIONS)(self._question)
        self._known: dict[str, Read] = {}

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score between 0 and 1 for each text; 0 for a blank one."""
        if not query.strip() or not texts:
            return np.zeros(len(texts), dtype=np.float32)
        asked = self._asked(query)
        fresh = [text for text in dict.fromkeys(texts) if text.strip()]
        if fresh := [text for text in fresh if text not in asked.scores]:
            asked.scores.update(zip(fresh, self._scores(asked, fresh), strict=True))
        return np.array([asked.scores.get(text, 0.0) for text in texts], dtype=np.float32)

    def _question(self, query: str) -> _Asked:
        table, ids = load_table(), self._embedder.token_ids([query])[0]
        tokens = _words(ids)
        weights = table.query_weight[tokens]
        if not weights.any():  # nothing but punctuation
            weights = np.ones_like(weights)
        whole = _unit(add_up(ids, table.query_weight))
        return _Asked(_directions()[tokens] @ _directions().T, weights / weights.sum(), whole)

    def _scores(self, asked: _Asked, texts: Sequence[str]) -> list[float]:
        read = self._read(texts)
        whole = np.array([vector for _, vector in read]) @ asked.whole
        words = [tokens for tokens, _ in read]
        near = asked.near[:, np.concatenate(words)]
        starts = np.cumsum([0, *(len(row) for row in words[:-1])])
        nearest = asked.weights @ np.maximum.reduceat(near, starts, axis=1)
        scores = WORD_SHARE * nearest + (1 - WORD_SHARE) * whole
        found: list[float] = np.clip(scores, 0.0, 1.0).tolist()
        return found

    def _read(self, texts: Sequence[str]) -> list[Read]:
        known = self._known
        if len(known) + len(texts) > _KEPT_TEXTS:
            known = self._known = {}  # whoever reads the old one at this moment goes on with it
        weight = load_table().document_weight
        fresh = [text for text in texts if text not in known]
        for text, ids in zip(fresh, self._embedder.token_ids(fresh) if fresh else (), strict=True):
            kept = ids[: self._embedder.max_tokens]
            known[text] = _words(kept), _unit(add_up(kept, weight))
        return [known[text] for text in texts]


def _words(ids: Sequence[int]) -> NDArray[np.intp]:
    """Return the words among some tokens, each once; all tokens where none is a word."""
    tokens = np.unique(np.array(ids))
    kept = tokens[load_table().query_weight[tokens] > 0]
    return kept if len(kept) else tokens


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
