"""Rows that may answer a question, with what each ranking says about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import pyarrow as pa

from codelake.search.questions import Question
from codelake.search.tables import HIT_COLUMNS, ID_COLUMNS, Filters, SearchTables

Key = tuple[str, str]
"""Table and row id."""

_FLAGS: Final = ("test", "generated", "vendored", "documentation")

# Where in HIT_COLUMNS the marks that become flags begin, and what the tables do not share.
_MARKS: Final = HIT_COLUMNS["chunks"].index(f"is_{_FLAGS[0]}")
_OWN: Final = _MARKS + len(_FLAGS)


@dataclass(slots=True)
class Candidate:
    """One stored row on its way to become a hit.

    Args:
        signals: what each ranking gave, by name: dense, words, rerank, exact, literal.
        score: what the signals add up to.
        members: rows of the same place or text that were folded into this one.
    """

    table: str
    id: str
    repository: str
    path: str
    language: str
    start_line: int
    end_line: int
    kind: str
    name: str
    content_hash: str
    flags: frozenset[str]
    qualified_name: str
    text: str
    natural_name: str = ""
    signature: str = ""
    doc: str = ""
    signals: dict[str, float] = field(default_factory=dict)
    score: float = 0.0
    hop: int = 0
    seed: str = ""
    lines: tuple[int, ...] = ()
    queries: tuple[str, ...] = ()
    members: list["Candidate"] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """Return table and row id."""
        return self.table, self.id

    @property
    def order(self) -> tuple[float, str, str, int, str, str]:
        """Return the sort key: best first, ties by place, never by chance."""
        return (
            -round(self.score, 9),
            self.repository,
            self.path,
            self.start_line,
            self.table,
            self.id,
        )


def read_candidates(table: str, rows: pa.Table) -> list[Candidate]:
    """Turn stored rows into candidates without a score."""
    columns = (rows.column(name).to_pylist() for name in HIT_COLUMNS[table])
    build = _symbol if table == "symbols" else _chunk
    return [build(values) for values in zip(*columns, strict=True)]


def read_rows(tables: SearchTables, table: str, ids: Sequence[str]) -> list[Candidate]:
    """Read stored rows by id as candidates without a score."""
    unique = list(dict.fromkeys(ids))
    if not unique:
        return []
    return read_candidates(table, tables.rows(table, unique, columns=HIT_COLUMNS[table]))


# Made of the columns in their order, whose number no type checker knows.
_make: Final[Callable[..., Candidate]] = Candidate


def _chunk(values: tuple[Any, ...]) -> Candidate:
    scope, text = values[_OWN:]
    return _make("chunks", *values[:_MARKS], _flags(values[_MARKS:_OWN]), scope, text)


def _symbol(values: tuple[Any, ...]) -> Candidate:
    name, natural, signature, doc, body = values[_OWN:]
    flags = _flags(values[_MARKS:_OWN])
    return _make("symbols", *values[:_MARKS], flags, name, body, natural, signature, doc)


@cache
def _flags(marks: tuple[bool, ...]) -> frozenset[str]:
    return frozenset(flag for flag, is_set in zip(_FLAGS, marks, strict=True) if is_set)


@dataclass(frozen=True, slots=True)
class Rankings:
    """What the tables say to a question, by table: rows with their score.

    Args:
        nearest: the rows nearest to its vector, where it has one.
        words: the rows with its words, where they are looked up.
    """

    nearest: dict[str, pa.Table]
    words: dict[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Recall:
    """Where candidates are read, and how many rows each ranking gave.

    Args:
        names: the tables.
    """

    tables: SearchTables
    filters: Filters
    depth: int
    names: tuple[str, ...] = ("chunks", "symbols")

    def find(self, question: Question, rankings: Rankings) -> tuple[list[Candidate], bool]:
        """Return the rows some ranking names, and whether any ranking has more to give."""
        found: list[Candidate] = []
        has_more = False
        for table in self.names:
            dense = _scaled(table, rankings.nearest.get(table))
            words = _scaled(table, rankings.words.get(table))
            has_more |= max(len(dense), len(words)) >= self.depth
            named = self._defined(question) if table == "symbols" else ()
            # What the vectors did not name is at most as near as the last that they did.
            farthest = min(dense.values(), default=0.0)
            for candidate in read_rows(self.tables, table, [*{**dense, **words}, *named]):
                near = dense.get(candidate.id, farthest)
                given = {"dense": near, "words": words.get(candidate.id, 0.0)}
                candidate.signals = {name: value for name, value in given.items() if value}
                found.append(candidate)
        return found, has_more

    def _defined(self, question: Question) -> list[str]:
        wanted = {"name": question.names, "natural_name": question.natural}
        return [
            row_id
            for column, values in wanted.items()
            if values
            for row_id in self.tables.equal(
                "symbols",
                column,
                values,
                k=self.depth,
                filters=self.filters,
                columns=("symbol_id",),
            )
            .column("symbol_id")
            .to_pylist()
        ]


def _scaled(table: str, ranking: pa.Table | None) -> dict[str, float]:
    """Return ids with their score as a share of the best one; at most 1, never below 0."""
    if ranking is None:
        return {}
    scores = ranking.column("score").to_pylist()
    top = max(scores, default=0.0)
    ids = ranking.column(ID_COLUMNS[table]).to_pylist()
    if top <= 0:  # nothing is like the question, yet these are the nearest there are
        return dict.fromkeys(ids, 0.0)
    return {row_id: max(score, 0.0) / top for row_id, score in zip(ids, scores, strict=True)}
