"""Rank the rows for each question of a call."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from codelake.errors import EmbeddingError
from codelake.search.candidates import Candidate, Rankings, Recall
from codelake.search.grouping import group
from codelake.search.multihop import Clock, Walk
from codelake.search.plans import Plan
from codelake.search.questions import Question, read_question
from codelake.search.ranking import score_candidates
from codelake.search.tables import Filters, SearchTables
from codelake.search.threads import side_by_side
from codelake.settings import SearchSettings

# Rows taken from one ranking at most, where copies and overlaps eat up smaller cuts.
_DEEPEST: Final = 3200
_DEEPER: Final = 4  # factor from one cut to the next

_ALL: Final = -1  # instead of a question's number: what is made of all at once

_Vector = NDArray[np.float32]


@dataclass(slots=True)
class Ranker:
    """Ranks rows for questions by one plan.

    Args:
        k: hits wanted.
        stopped: why each multi-hop walk ended.
    """

    plan: Plan
    tables: SearchTables
    filters: Filters
    settings: SearchSettings
    k: int
    clock: Clock
    stopped: list[str] = field(default_factory=list)

    def rank(self, queries: Sequence[str]) -> dict[str, list[Candidate]]:
        """Return the best ``k`` places for each question."""
        vectors = self._embed(queries)
        questions = [read_question(query) for query in queries]
        depth = max(self.settings.depth, 2 * self._wanted())
        every = self._rankings(questions, vectors, depth)
        ranked: dict[str, list[Candidate]] = {}
        for query, question, vector, rankings in zip(
            queries, questions, vectors, every, strict=True
        ):
            first = self._regular(question, vector, rankings, depth)
            if vector is not None:
                first = self._walk(question, vector, rankings.nearest, first)
            ranked[query] = first[: self.k]
        return ranked

    def _wanted(self) -> int:
        if self.plan.reranker is None:
            return self.k
        hop = self.settings.multihop
        return max(self.k, min(hop.factor * self.k, hop.first_candidates))

    def _embed(self, queries: Sequence[str]) -> list[_Vector | None]:
        embedder = self.plan.embedder
        if embedder is None:
            return [None] * len(queries)
        try:
            embedded = embedder.embed_queries(queries)
        except EmbeddingError as error:
            if not self.plan.by_words:
                raise
            self.plan.notices.append(f"Answered by words alone: {error}")
            return [None] * len(queries)
        for position, reason in embedded.failures.items():
            failed = f"the question {queries[position]!r} has no vector ({reason})"
            if not self.plan.by_words:
                raise EmbeddingError(failed)
            self.plan.notices.append(f"Answered by words alone: {failed}.")
        return [
            None if position in embedded.failures else vector
            for position, vector in enumerate(embedded.vectors)
        ]

    def _rankings(
        self, questions: Sequence[Question], vectors: Sequence[_Vector | None], depth: int
    ) -> list[Rankings]:
        """Rank by vectors, all questions at once, and by words, all of it side by side."""
        embedded = [n for n, vector in enumerate(vectors) if vector is not None]
        asked = np.stack([v for v in vectors if v is not None]) if embedded else None

        def make(key: tuple[str, int]) -> list[pa.Table]:
            table, number = key
            if number != _ALL:
                text = questions[number].text
                return [self.tables.match(table, text, k=depth, filters=self.filters)]
            # there is no such key without an embedder and vectors
            assert asked is not None  # noqa: S101
            assert self.plan.embedder is not None  # noqa: S101
            model_id = self.plan.embedder.model_id
            return self.tables.nearest(
                table, asked, model_id=model_id, k=depth, filters=self.filters
            )

        by_words = range(len(questions)) if self.plan.by_words else ()
        numbers = [_ALL] * bool(embedded) + [*by_words]
        made = side_by_side(make, [(table, n) for table in self.plan.names for n in numbers])
        rankings = [Rankings({}, {}) for _ in questions]
        for (table, number), found in made.items():
            if number == _ALL:
                for n, ranking in zip(embedded, found, strict=True):
                    rankings[n].nearest[table] = ranking
            else:
                rankings[number].words[table] = found[0]
        return rankings

    def _regular(
        self,
        question: Question,
        vector: _Vector | None,
        rankings: Rankings,
        depth: int,
    ) -> list[Candidate]:
        """Rank by vectors and words, looking deeper while copies leave fewer than ``k`` hits."""
        wanted = self._wanted()
        dense_weight = self.plan.dense_weight if vector is not None else 0.0
        settings = self.settings.model_copy(update={"dense_weight": dense_weight})
        asked = question if self.plan.by_words else replace(question, names=(), natural=())
        while True:
            recall = Recall(self.tables, self.filters, depth, self.plan.names)
            candidates, has_more = recall.find(asked, rankings)
            score_candidates(candidates, asked, settings)
            found = group(candidates, settings.ranking)
            if len(found) >= wanted or not has_more or depth >= _DEEPEST:
                return found[:wanted]
            depth *= _DEEPER
            (rankings,) = self._rankings([question], [vector], depth)

    def _walk(
        self,
        question: Question,
        vector: _Vector,
        nearest: dict[str, pa.Table],
        first: list[Candidate],
    ) -> list[Candidate]:
        """Follow neighbours from ``first``; return it where no reranker answers."""
        if self.plan.reranker is None or self.plan.embedder is None:
            return first
        walk = Walk(
            question.text,
            self.tables,
            self.plan.reranker,
            self.plan.embedder.model_id,
            self.filters,
            self.settings.multihop,
            self.clock,
        )
        try:
            stopped = walk.run(first)
        except EmbeddingError as error:
            self.plan.mode = "hybrid"
            self.plan.notices.append(f"Answered by hybrid, the reranker failed: {error}")
            return first
        self.stopped.append(stopped)
        self._add_nearness(walk.pool, vector, nearest, walk.model_id)
        weight = {"dense_weight": self.plan.dense_weight}
        score_candidates(walk.pool, question, self.settings.model_copy(update=weight))
        return group(walk.pool, self.settings.ranking)

    def _add_nearness(
        self,
        pool: Sequence[Candidate],
        vector: _Vector,
        nearest: dict[str, pa.Table],
        model_id: str,
    ) -> None:
        """Tell of what was found on the way how near it is to the question, as of the first."""
        for table, ranking in nearest.items():
            found = [c for c in pool if c.table == table and c.hop]
            top = max(ranking.column("score").to_pylist(), default=0.0)
            if not found or top <= 0:
                continue
            ids = [candidate.id for candidate in found]
            vectors = self.tables.vectors(table, ids, model_id=model_id)
            for candidate, near in zip(found, vectors @ vector, strict=True):
                candidate.signals["dense"] = max(float(near), 0.0) / top
