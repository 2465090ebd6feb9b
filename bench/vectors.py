"""The vector index: what it finds of what exact search finds, and what it and its upkeep cost.

``CODELAKE_BENCH_VECTORS`` names the sizes, e.g. ``10000000``; 100,000 and a million by default. The
table has ids, repositories and vectors, and is written, indexed and kept up by what the store does
it with.
"""

import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import lance
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.figures import Figure
from bench.measure import folder_megabytes, timed
from bench.real_vectors import Vectors, embed_chunks, spread
from bench.trees import Source
from codelake.schemas import TableSpec, column
from codelake.search.tables import Filters
from resources.store import STORED, LanceTables
from resources.store.indexes import (
    compact,
    cover_new_rows,
    drop_old_versions,
    ensure_vector_indexes,
)
from resources.store.rows import (
    FRAGMENT_ROWS,
    CheckedRows,
    commit_replacement,
    find_rows,
    write_rows,
)
from resources.store.specs import vector_field

_MODEL: Final = "real/384"
_DIMENSION: Final = 384
_SIZES: Final = "100000,1000000"
_REPOSITORIES: Final = 50
_ROWS: Final = 20_000  # made at once
_QUESTIONS: Final = 60
_NEIGHBOURS: Final = 10
_SPARE: Final = 100  # nearest rows that are known, in case some are replaced
_NIGHTS: Final = 17  # parts of an index and small fragments are merged in one of them
_NIGHTLY: Final = 1000  # every so many-th row is replaced in a night
_FLOAT32: Final = 4  # bytes

_KEY: Final = ("chunk_id",)
_NAMES: Final = ("chunk_id", "repository")
_FILTERS: Final = {"": Filters(), ", one repository of 50": Filters(repositories=("r7",))}


def measure(sources: list[Source]) -> list[Figure]:
    """Compare index and exact search over the vectors of many chunks, before and after nights."""
    real, questions = embed_chunks(sources, _QUESTIONS)
    figures = []
    for size in map(int, os.environ.get("CODELAKE_BENCH_VECTORS", _SIZES).split(",")):
        with tempfile.TemporaryDirectory(prefix="codelake-vectors-") as name:
            table = _Table(Path(name), size, real, questions)
            figures += [
                Figure(f"{size:,} vectors: {figure.name}", figure.value, figure.unit, figure.goal)
                for figure in table.measured()
            ]
    return figures


def unit_vectors(count: int, seed: int) -> Vectors:
    """Return unit vectors without any order."""
    vectors = np.random.default_rng(seed).standard_normal((count, _DIMENSION), dtype=np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


class _Nearest:
    """The rows nearest to each question, found by comparing with every row that is written."""

    def __init__(self, questions: Vectors) -> None:
        self._questions = questions
        self._scores = np.full((len(questions), _SPARE), -2, np.float32)
        self._rows = np.full((len(questions), _SPARE), -1, np.int64)

    def see(self, rows: NDArray[np.int64], vectors: NDArray[np.float16]) -> None:
        """Compare the questions with more rows, or with rows that were seen and have changed."""
        self._scores[np.isin(self._rows, rows)] = -2
        scores = np.hstack([self._scores, self._questions @ vectors.astype(np.float32).T])
        numbers = np.hstack([self._rows, np.broadcast_to(rows, (len(scores), len(rows)))])
        best = np.argpartition(-scores, _SPARE - 1, axis=1)[:, :_SPARE]
        self._scores = np.take_along_axis(scores, best, axis=1)
        self._rows = np.take_along_axis(numbers, best, axis=1)

    def answers(self) -> list[frozenset[str]]:
        """Return the ids of the nearest rows for each question."""
        order = np.argsort(-self._scores, axis=1)[:, :_NEIGHBOURS]
        return [frozenset(map(_id, row)) for row in np.take_along_axis(self._rows, order, axis=1)]


class _Table:
    """A table of so many vectors."""

    def __init__(self, folder: Path, size: int, real: Vectors, questions: Vectors) -> None:
        self._folder, self._size, self._real, self._questions = folder, size, real, questions
        self._place = folder / "chunks.lance"
        self._exact = {what: _Nearest(questions) for what in _FILTERS}
        self._costs: dict[str, float] = {}

    def measured(self) -> list[Figure]:
        dataset = lance.write_dataset(
            self._batches(np.arange(self._size), 0),
            self._place,
            schema=_spec().schema,
            max_rows_per_file=FRAGMENT_ROWS,
        )
        for name in _NAMES:
            dataset.create_scalar_index(name, "BTREE", f"{name}_values")
        before = folder_megabytes(self._folder)
        with timed(self._costs, "index built"):
            ensure_vector_indexes(dataset, 1)
        bytes_each = 1e6 * (folder_megabytes(self._folder) - before) / self._size
        figures = [
            Figure("index", bytes_each, "bytes a vector"),
            Figure("float32 over that", _DIMENSION * _FLOAT32 / bytes_each, "", ">= 6"),
            *self._asked(""),
        ]
        for night in range(1, _NIGHTS + 1):
            self._replace(night)
        with timed(self._costs, "old versions forgotten"):
            drop_old_versions(self._dataset(), timedelta(0))
        costs = [Figure(what, cost, "CPU s") for what, cost in self._costs.items()]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        figures += [*self._asked(f"after {_NIGHTS} nights, "), *costs]
        return [*figures, Figure("peak memory so far", peak, "MB", "<= 8000")]

    def _dataset(self) -> lance.LanceDataset:
        return lance.dataset(str(self._place))

    def _replace(self, night: int) -> None:
        """Replace some rows and let the indexes follow, as a night does."""
        chance = np.random.default_rng(night)
        rows = np.sort(chance.choice(self._size, self._size // _NIGHTLY, replace=False))
        batches = list(self._batches(rows, night * self._size))
        checked = CheckedRows(_spec(), _KEY, lambda batch: batch)
        dataset = self._dataset()
        with timed(self._costs, f"{_NIGHTS} nights: rows replaced"):
            new = write_rows(dataset, iter(batches), checked)
            commit_replacement(dataset, find_rows(dataset, _KEY, checked.keys()), new)
        with timed(self._costs, f"{_NIGHTS} nights: compaction"):
            compact(self._dataset())
        spent: dict[str, float] = {}
        with timed(spent, "indexes"):
            cover_new_rows(self._dataset())
        name, dearest = f"{_NIGHTS} nights: indexes", "the dearest night's indexes"
        self._costs[name] = self._costs.get(name, 0.0) + spent["indexes"]
        self._costs[dearest] = max(self._costs.get(dearest, 0.0), spent["indexes"])

    def _asked(self, when: str) -> list[Figure]:
        figures = []
        for what, filters in _FILTERS.items():
            self._found(filters)  # once to read the index
            found, times, cpu = self._found(filters)
            pairs = zip(self._exact[what].answers(), found, strict=True)
            recall = statistics.fmean(len(a & b) / len(a) for a, b in pairs)
            figures += [
                Figure(f"{when}recall@10{what}", recall, "", ">= 0.95"),
                Figure(f"{when}median{what}", statistics.median(times), "ms"),
                Figure(f"{when}95th percentile{what}", statistics.quantiles(times, n=20)[-1], "ms"),
                Figure(f"{when}a question{what}", cpu, "CPU ms"),
            ]
        return figures

    def _found(self, filters: Filters) -> tuple[list[frozenset[str]], list[float], float]:
        tables = LanceTables(
            self._folder, {"chunks": self._dataset()}, STORED, _MODEL, resident_rows=0
        )
        found, times, costs = [], [], dict[str, float]()
        for question in self._questions:
            start = time.perf_counter()
            with timed(costs, "all"):
                (hits,) = tables.nearest(
                    "chunks", question[None], model_id=_MODEL, k=_NEIGHBOURS, filters=filters
                )
            times.append(1000 * (time.perf_counter() - start))
            found.append(frozenset(hits["chunk_id"].to_pylist()))
        return found, times, 1000 * costs["all"] / len(times)

    def _batches(self, rows: NDArray[np.int64], seed: int) -> Iterator[pa.RecordBatch]:
        """Yield the columns of a table of chunks that a search for neighbours reads."""
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            vectors = spread(self._real, len(some), seed + start)
            repositories = some % _REPOSITORIES
            self._exact[""].see(some, vectors)
            chosen = repositories == 7  # noqa: PLR2004 - the one of _FILTERS
            self._exact[", one repository of 50"].see(some[chosen], vectors[chosen])
            columns = [
                pa.array([_id(row) for row in some]),
                pa.array([f"r{number}" for number in repositories]),
                pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), _DIMENSION),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=_spec().schema)


def _spec() -> TableSpec:
    names = [column(name, pa.string(), name) for name in _NAMES]
    return TableSpec("chunks", 1, _KEY, (*names, vector_field(_MODEL, _DIMENSION)))


def _id(row: int) -> str:
    return f"{row:08}"
