"""Scores of every chunk for every question, by words, by vectors or by both; kept on disk."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from codelake.errors import UsageError
from codelake.hashing import content_hash
from codelake.settings import SearchSettings
from evaluation import lexical
from evaluation.arms import Cut
from evaluation.lexical import Vocabulary, bm25_scores
from evaluation.metrics import Floats
from evaluation.product import Rankings, product_scores, product_version
from evaluation.vectors import VectorCache

DENSE_WEIGHT: Final = SearchSettings().dense_weight
MODES: Final = ("bm25", "dense", "hybrid", "search", "multihop")
_OF_PRODUCT: Final = {"search": "hybrid", "multihop": "multihop"}


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How chunks are ranked.

    Args:
        mode: one of :data:`MODES`.
        dense_weight: share of the vectors where both count.
    """

    mode: str
    dense_weight: float = DENSE_WEIGHT

    @property
    def label(self) -> str:
        """Return the name tables use; :func:`parse_retrievals` reads it back."""
        # The weight is part of the name: the product's default is a setting that changes.
        return f"hybrid:{self.dense_weight:g}" if self.mode == "hybrid" else self.mode

    @property
    def needs_vectors(self) -> bool:
        """Say whether an embedder is asked."""
        return self.mode != "bm25"


def parse_retrievals(specifications: Sequence[str]) -> list[Retrieval]:
    """Return the retrievals of ``bm25``, ``dense``, ``hybrid`` or ``hybrid:0.5``.

    Raises:
        UsageError: another name, none, or a weight that is not between 0 and 1.
    """
    if not specifications:
        message = f"no retrieval is named; choose from {', '.join(MODES)}, hybrid:WEIGHT"
        raise UsageError(message)
    found = []
    for specification in specifications:
        mode, _, weight = specification.partition(":")
        if mode not in MODES or (weight and mode != "hybrid"):
            names = ", ".join(MODES)
            message = f"unknown retrieval {specification!r}; choose from {names}, hybrid:WEIGHT"
            raise UsageError(message)
        found.append(Retrieval(mode, _weight(specification, weight) if weight else DENSE_WEIGHT))
    return list(dict.fromkeys(found))


def _weight(specification: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        message = f"the weight of {specification!r} is {text!r}; give a number from 0 to 1"
        raise UsageError(message)
    return value


class Scorer:
    """Scores the chunks of one cut after the other; what was scored before is read from disk."""

    def __init__(self, folder: Path, vocabulary: Vocabulary) -> None:
        """Keep scores below ``folder``."""
        self._folder = folder
        self._vocabulary = vocabulary

    def scores(
        self, cut: Cut, queries: Sequence[str], retrieval: Retrieval, vectors: VectorCache | None
    ) -> Floats:
        """Return a row a query and a column a chunk."""
        if retrieval.mode == "bm25":
            return self._words(cut, queries)
        assert vectors is not None  # noqa: S101 # the benchmark opens an embedder for these modes
        if retrieval.mode == "dense":
            return self._dense(cut, queries, vectors)
        if retrieval.mode == "hybrid":
            return self._fused(cut, queries, vectors, retrieval.dense_weight)
        return self._product(cut, queries, vectors, retrieval.mode)

    def _fused(
        self, cut: Cut, queries: Sequence[str], vectors: VectorCache, weight: float
    ) -> Floats:
        dense = _scaled(self._dense(cut, queries, vectors))
        return weight * dense + (1 - weight) * _scaled(self._words(cut, queries))

    def _product(self, cut: Cut, queries: Sequence[str], vectors: VectorCache, mode: str) -> Floats:
        def compute() -> Floats:
            words = self._words(cut, queries)
            own = vectors.dense_weight
            fused = self._fused(cut, queries, vectors, DENSE_WEIGHT if own is None else own)
            rankings = Rankings(
                vectors.model_id,
                vectors.documents(cut.text_hashes, cut.texts),
                dict(zip(queries, vectors.queries(queries), strict=True)),
                dict(zip(queries, words, strict=True)),
                dict(zip(queries, fused, strict=True)),
                own,
            )
            return product_scores(cut, rankings, _OF_PRODUCT[mode])

        paths = content_hash("\n".join(text.path for text in cut.corpus.texts))
        weight = vectors.dense_weight
        key = f"{mode}:{product_version()}:{vectors.model_id}:{weight}:{paths}"
        return self._kept(key, cut, queries, compute)

    def _words(self, cut: Cut, queries: Sequence[str]) -> Floats:
        key = f"{lexical.VERSION}:{lexical.K1}:{lexical.B}"
        return self._kept(
            key, cut, queries, lambda: bm25_scores(cut.texts, queries, self._vocabulary)
        )

    def _dense(self, cut: Cut, queries: Sequence[str], vectors: VectorCache) -> Floats:
        def compute() -> Floats:
            documents = vectors.documents(cut.text_hashes, cut.texts)
            found: Floats = (vectors.queries(queries) @ documents.T).astype(np.float64)
            return found

        return self._kept(f"dense:{vectors.model_id}", cut, queries, compute)

    def _kept(
        self, kind: str, cut: Cut, queries: Sequence[str], compute: Callable[[], Floats]
    ) -> Floats:
        digest = hashlib.blake2b(kind.encode(), digest_size=16)
        for part in (*cut.text_hashes, "", *queries):
            digest.update(part.encode() + b"\0")
        path = self._folder / f"{digest.hexdigest()}.npy"
        if path.is_file():
            kept: Floats = np.load(path).astype(np.float64)
            return kept
        # Rounded before it is used, so that a first and a later run rank alike.
        scores = compute().astype(np.float32)
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial.npy")
        np.save(partial, scores)
        partial.replace(path)
        return scores.astype(np.float64)


def _scaled(scores: Floats) -> Floats:
    """Return scores as shares of each query's best one, none below 0, as the product fuses them."""
    if not scores.shape[1]:
        return scores
    top = scores.max(axis=1, keepdims=True)
    return np.clip(scores, 0, None) / np.where(top > 0, top, 1)
