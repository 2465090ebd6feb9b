"""Walk from the first hits to their neighbours, reranking all that was found each round."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from codelake.errors import EmbeddingError
from codelake.reranking import Reranker
from codelake.search.candidates import Candidate, Key, read_rows
from codelake.search.tables import ID_COLUMNS, Filters, SearchTables
from codelake.settings import MultiHopSettings

Clock = Callable[[], float]
"""Seconds from any fixed moment; the library never reads a clock of its own."""

STOP_REASONS: Final[dict[str, str]] = {
    "score-drop": "the score of a top candidate fell by search.multihop.score_drop",
    "time": "search.multihop.seconds were over",
    "candidates": "search.multihop.candidates were found",
    "few-candidates": "fewer than search.multihop.fewest high-scoring ones were left to expand",
    "nothing-new": "a round found no new candidate",
}

# Scores of this many best candidates are watched from round to round.
_WATCHED: Final = 5


@dataclass(slots=True)
class Walk:
    """One question's way through the tables.

    Args:
        model_id: model whose vectors say what a neighbour is.
        clock: read before each batch that is reranked.
    """

    query: str
    tables: SearchTables
    reranker: Reranker
    model_id: str
    filters: Filters
    settings: MultiHopSettings
    clock: Clock
    pool: list[Candidate] = field(default_factory=list)
    _seen: set[Key] = field(default_factory=set)
    _expanded: set[Key] = field(default_factory=set)
    _ranked: list[Candidate] = field(default_factory=list)
    _texts: dict[str, str] = field(default_factory=dict)
    _end: float = 0.0

    def run(self, first: Sequence[Candidate]) -> str:
        """Fill ``pool`` with reranked candidates, starting from ``first``; say why it ended."""
        self._end = self.clock() + self.settings.seconds
        self._seen = {c.key for f in first for c in (f, *f.members)}
        self.pool = list(first)
        stopped = None if self._rerank() else "time"
        while stopped is None:
            stopped = self._round()
        self.pool = [c for c in self.pool if "rerank" in c.signals]
        return stopped

    def _round(self) -> str | None:
        if self.clock() >= self._end:
            return "time"
        if len(self.pool) >= self.settings.candidates:
            return "candidates"
        seeds = self._seeds()
        if len(seeds) < self.settings.fewest:
            return "few-candidates"
        new = self._neighbours(seeds[: self.settings.seeds])
        if not new:
            return "nothing-new"
        watched = self._ranked[:_WATCHED]
        before = [c.signals["rerank"] for c in watched]
        self.pool += new
        if not self._rerank():
            return "time"
        return "score-drop" if self._has_dropped(watched, before) else None

    def _seeds(self) -> list[Candidate]:
        high = self.settings.high_score
        return [
            c for c in self._ranked if c.signals["rerank"] >= high and c.key not in self._expanded
        ]

    def _has_dropped(self, watched: Sequence[Candidate], before: Sequence[float]) -> bool:
        by_candidate = [c.signals["rerank"] for c in watched]
        by_rank = [c.signals["rerank"] for c in self._ranked[: len(before)]]
        drop = self.settings.score_drop
        return any(
            old - min(same, rank) >= drop - 1e-9
            for old, same, rank in zip(before, by_candidate, by_rank, strict=True)
        )

    def _neighbours(self, seeds: Sequence[Candidate]) -> list[Candidate]:
        self._expanded |= {seed.key for seed in seeds}
        room = self.settings.candidates - len(self.pool)
        new: list[Candidate] = []
        for table in ID_COLUMNS:
            found = self._nearest(table, [seed for seed in seeds if seed.table == table])
            self._seen |= {(table, row_id) for row_id in found}
            for candidate in read_rows(self.tables, table, list(found)[: room - len(new)]):
                seed = found[candidate.id]
                candidate.hop, candidate.seed = seed.hop + 1, seed.id
                new.append(candidate)
        return new

    def _nearest(self, table: str, seeds: Sequence[Candidate]) -> dict[str, Candidate]:
        """Return the new neighbours' ids in order of nearness, each with its nearest seed."""
        vectors = self.tables.vectors(table, [s.id for s in seeds], model_id=self.model_id)
        usable = [i for i in range(len(seeds)) if np.any(vectors[i])]
        if not usable:
            return {}
        rankings = self.tables.nearest(
            table,
            vectors[usable],
            model_id=self.model_id,
            k=self.settings.neighbours + 1,  # a row is its own nearest neighbour
            filters=self.filters,
        )
        pairs = [
            (-score, row_id, seeds[i])
            for i, ranking in zip(usable, rankings, strict=True)
            for row_id, score in zip(
                ranking.column(ID_COLUMNS[table]).to_pylist(),
                ranking.column("score").to_pylist(),
                strict=True,
            )
            if (table, row_id) not in self._seen
        ]
        found: dict[str, Candidate] = {}
        for _, row_id, seed in sorted(pairs, key=lambda pair: (pair[0], pair[1], pair[2].id)):
            found.setdefault(row_id, seed)
        return found

    def _rerank(self) -> bool:
        """Score the whole pool against the question; False if time ran out before the end."""
        size = self.settings.batch
        ordered = [*self._ranked, *(c for c in self.pool if "rerank" not in c.signals)]
        is_whole = True
        for start in range(0, len(ordered), size):
            if start and self.clock() >= self._end:
                is_whole = False
                break
            self._score(ordered[start : start + size])
        scored = (c for c in ordered if "rerank" in c.signals)
        # Stable: what ties stays in the order it was found in, which is always the same.
        self._ranked = sorted(scored, key=lambda c: -c.signals["rerank"])
        return is_whole

    def _score(self, batch: Sequence[Candidate]) -> None:
        for candidate in batch:
            if candidate.id not in self._texts:
                self._texts[candidate.id] = reranked_text(candidate)
        scores = self.reranker.rerank(self.query, [self._texts[c.id] for c in batch])
        if len(scores) != len(batch) or not np.all(np.isfinite(scores)):
            message = (
                f"reranker {self.reranker.model_id!r} answered {len(batch)} texts with "
                f"{len(scores)} scores, or with scores that are no numbers"
            )
            raise EmbeddingError(message)
        for candidate, score in zip(batch, scores, strict=True):
            candidate.signals["rerank"] = float(score)


def reranked_text(candidate: Candidate) -> str:
    """Return what a reranker reads of a candidate."""
    heading = candidate.qualified_name or candidate.path
    doc = candidate.doc if candidate.doc not in candidate.text else ""
    return "\n".join(part for part in (heading, doc, candidate.text) if part)
