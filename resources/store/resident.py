"""Tables held in memory: what a process that asks again and again need not read again.

A table this small has no vector index, so its answers are exact; held in memory they take a tenth
of the time that reading them takes. docs/search.md has the figures.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from codelake.schemas import TableSpec
from resources.store.rounded import RoundedVectors, widened

# Rows of a table up to which it is held: 115 MB of vectors of 384 numbers, rounded ones included.
RESIDENT_ROWS: Final = 100_000

ROW_NUMBER: Final = "_rowid"  # Lance's name for the place of a row in a version of its table

# Vectors from which rounded ones pay.
_ROUNDED_ROWS: Final = 2_000

# Digits of a cosine that count. Sums of 384 products differ beyond them with the order of adding.
_DIGITS: Final = 6
_TIE: Final = 2e-6

Allowed = NDArray[np.bool_] | None
"""Which rows a filter lets through, by position; None for all."""

# The first question ranks a table once or twice, by vectors and by words.
_FIRST_QUESTION: Final = 2

# Filters whose rows are remembered; an agent keeps to a few.
_HELD_FILTERS: Final = 32


class ResidentVectors:
    """The ids and vectors of a table, sorted by id so that ties are told by position.

    Args:
        ids: row ids.
        vectors: one row each, of length one.
    """

    def __init__(self, ids: pa.Array, vectors: NDArray[np.float16]) -> None:
        """Sort the rows."""
        order = pc.sort_indices(ids)
        self.ids = ids.take(order)
        self._vectors = np.ascontiguousarray(vectors[order.to_numpy()])
        self._positions: dict[str, int] = {}
        self._rounded: RoundedVectors | None = None

    def round(self) -> None:
        """Get ready for more questions than one."""
        if self._rounded is None and len(self._vectors) >= _ROUNDED_ROWS:
            self._rounded = RoundedVectors(self._vectors)

    def nearest(self, queries: NDArray[np.float32], k: int, allowed: Allowed) -> list[pa.Table]:
        """Return ids and cosines of the ``k`` rows nearest to each query, ties by id."""
        count = min(k, len(self.ids) if allowed is None else int(allowed.sum()))
        if not count:
            none = {"id": pa.array([], pa.string()), "score": pa.array([], pa.float64())}
            return [pa.table(none) for _ in queries]
        if self._rounded is None:
            every = np.arange(len(self.ids)) if allowed is None else np.flatnonzero(allowed)
            return [self._best(query, every, count) for query in queries]
        likely = self._rounded.candidates(queries, count, allowed)
        return [self._best(query, rows, count) for query, rows in zip(queries, likely, strict=True)]

    def _best(self, query: NDArray[np.float32], rows: NDArray[np.intp], count: int) -> pa.Table:
        # Row by row: a matrix product would keep every core busy for a fifth of the speed.
        products = [np.vecdot(block, query) for _, block in widened(self._vectors, rows)]
        scores = np.concatenate(products)
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        among = np.flatnonzero(scores >= least - _TIE)
        rounded = scores[among].astype(np.float64).round(_DIGITS)
        best = np.argsort(-rounded, kind="stable")[:count]
        return pa.table({"id": self.ids.take(pa.array(rows[among[best]])), "score": rounded[best]})

    def with_ids(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these rows, in their order; zeros where there is none."""
        if not self._positions:
            self._positions.update({i: n for n, i in enumerate(self.ids.to_pylist())})
        result = np.zeros((len(ids), self._vectors.shape[1]), np.float32)
        for row, row_id in enumerate(ids):
            if row_id in self._positions:
                result[row] = self._vectors[self._positions[row_id]]
        return result


class ResidentRows:
    """The rows of a table, found by id or by the value of a column.

    Args:
        rows: all rows, without vectors, with their number in the table (``_rowid``).
        spec: the table's shape; rows that are equal in a column come in order of its key.
        id_column: the column that identifies a row.
    """

    def __init__(self, rows: pa.Table, spec: TableSpec, id_column: str) -> None:
        """Sort the rows by key."""
        rows = rows.sort_by([(name, "ascending") for name in spec.key]).combine_chunks()
        numbers = rows[ROW_NUMBER].to_numpy()
        self._by_number = np.argsort(numbers)
        self._numbers = numbers[self._by_number]
        self._rows = rows.drop_columns(ROW_NUMBER)
        self.ids = self._rows[id_column].combine_chunks()
        self._positions = {row_id: n for n, row_id in enumerate(self.ids.to_pylist())}
        self._by_value: dict[str, Mapping[str, list[int]]] = {}

    def has(self, columns: Sequence[str]) -> bool:
        """Tell whether all of ``columns`` are held."""
        return bool(columns) and set(columns) <= set(self._rows.schema.names)

    def numbered(self, numbers: NDArray[np.uint64]) -> pa.Array:
        """Return the ids of the rows with these numbers, in their order."""
        return self.ids.take(pa.array(self._by_number[np.searchsorted(self._numbers, numbers)]))

    def with_ids(self, ids: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """Return the rows with these ids, in their order; unknown ids are left out."""
        known = [self._positions[row_id] for row_id in ids if row_id in self._positions]
        return self._take(known, columns)

    def equal(
        self, column: str, values: Sequence[str], k: int, columns: Sequence[str], allowed: Allowed
    ) -> pa.Table:
        """Return the first ``k`` allowed rows whose ``column`` is one of ``values``."""
        index = self._by_value.get(column) or self._index(column)
        found = sorted(p for value in dict.fromkeys(values) for p in index.get(value, ()))
        if allowed is not None:
            found = [position for position in found if allowed[position]]
        return self._take(found[:k], columns)

    def _take(self, positions: Sequence[int], columns: Sequence[str]) -> pa.Table:
        return self._rows.select(list(columns)).take(pa.array(positions, pa.int64()))

    def _index(self, column: str) -> Mapping[str, list[int]]:
        index: dict[str, list[int]] = {}
        for position, value in enumerate(self._rows[column].to_pylist()):
            index.setdefault(value, []).append(position)
        self._by_value[column] = index
        return index


class Resident:
    """What is held of one table: each part is read once, when it is first worth it.

    Args:
        read_ids: reads the ids of the rows that meet a predicate.
        read_rows: reads all rows, without vectors.
        read_vectors: reads the ids and vectors of a model.
    """

    def __init__(
        self,
        read_ids: Callable[[str], pa.Array],
        read_rows: Callable[[], ResidentRows],
        read_vectors: Callable[[str], ResidentVectors],
    ) -> None:
        """Hold nothing yet."""
        self._read_ids = read_ids
        self._read_rows = read_rows
        self._read_vectors = read_vectors
        self._rows: ResidentRows | None = None
        self._vectors: dict[str, ResidentVectors] = {}
        self._allowed: dict[tuple[str, str], NDArray[np.bool_]] = {}
        self._questions = 0
        self._lock = threading.Lock()

    def count_question(self) -> None:
        """Take note that the table was ranked for a question."""
        self._questions += 1

    def rows(self) -> ResidentRows | None:
        """Return the rows, or None while only one question was asked: reading all takes longer."""
        if self._questions <= _FIRST_QUESTION:
            return None
        with self._lock:
            if self._rows is None:
                self._rows = self._read_rows()
            return self._rows

    def vectors(self, column: str) -> ResidentVectors:
        """Return the vectors of a column, from the first question on: both ways must agree."""
        with self._lock:
            if column not in self._vectors:
                self._vectors[column] = self._read_vectors(column)
            if self._questions > _FIRST_QUESTION:
                self._vectors[column].round()
            return self._vectors[column]

    def allowed(self, of: str, ids: pa.Array, predicate: str | None) -> Allowed:
        """Return which of ``ids``, those of the part named ``of``, meet a predicate."""
        if predicate is None:
            return None
        with self._lock:
            known = self._allowed.get((of, predicate))
            if known is None:
                if len(self._allowed) >= _HELD_FILTERS:
                    self._allowed.clear()
                known = pc.is_in(ids, value_set=self._read_ids(predicate)).to_numpy(
                    zero_copy_only=False
                )
                self._allowed[of, predicate] = known
            return known
