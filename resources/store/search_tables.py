"""The tables as a search reads them: filters first, then the best, ties by row id."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.query import MatchQuery
from numpy.typing import NDArray

from codelake.errors import StoreError, UsageError
from codelake.schemas import TableSpec
from codelake.search.tables import HIT_COLUMNS, Filters
from resources.store.errors import store_errors
from resources.store.predicates import HAS_TEXT, filter_predicate, groups_of, is_one_of, matches
from resources.store.resident import (
    RESIDENT_ROWS,
    ROW_NUMBER,
    Resident,
    ResidentRows,
    ResidentVectors,
)
from resources.store.specs import MODEL_COLUMN, SEARCHED, WORDS, vector_column, vector_models

# Rows fetched beyond k, so that rows with the k-th score are rarely cut apart.
_SPARE: Final = 16

# How a vector index is asked; docs/store.md has the recall and time of other values. Every part of
# an index of a million vectors is looked at (244), and so many of the best are compared exactly.
_PROBES: Final = 256
_COMPARED: Final = 150

_PATTERN_COLUMNS: Final = {"chunks": ("text",), "symbols": ("body", "signature")}


class LanceTables:
    """``chunks`` and ``symbols`` at one moment; later writes are not seen.

    Args:
        place: the store, for messages.
        datasets: the tables.
        specs: their shapes.
        model_id: the model whose vectors searches use.
        resident_rows: rows up to which a table is held in memory.
    """

    def __init__(
        self,
        place: object,
        datasets: Mapping[str, lance.LanceDataset],
        specs: Mapping[str, TableSpec],
        model_id: str,
        *,
        resident_rows: int = RESIDENT_ROWS,
    ) -> None:
        """Take the open tables."""
        self.model_id = model_id
        self._place = place
        self._datasets = datasets
        self._specs = specs
        # Lance makes a schema anew each time it is asked: half a millisecond.
        self._models = {name: vector_models(d.schema) for name, d in datasets.items()}
        self._coverage: dict[str, dict[str, int]] = {}
        self._residents = {
            name: self._resident(name)
            for name, dataset in datasets.items()
            if dataset.count_rows() <= resident_rows
        }

    @property
    def versions(self) -> dict[str, int]:
        """Return the version of each table; equal versions have equal rows."""
        return {name: dataset.version for name, dataset in self._datasets.items()}

    def nearest(
        self, table: str, vectors: NDArray[np.float32], *, model_id: str, k: int, filters: Filters
    ) -> list[pa.Table]:
        """Return per query vector the ``k`` nearest rows: row id and score (cosine).

        A store without vectors yet answers with no rows.

        Raises:
            StoreError: the vectors of the store are of another model.
        """
        dimension = self._dimension(table, model_id)
        if dimension is None or not len(vectors):
            return [_no_hits(SEARCHED[table]) for _ in vectors]
        queries = np.atleast_2d(np.asarray(vectors, np.float32))
        if queries.shape[1] != dimension:
            message = f"vectors of {model_id!r} have {dimension} numbers, not {queries.shape[1]}"
            raise StoreError(message)
        column = vector_column(model_id)
        predicate = filter_predicate(filters)
        resident = self._residents.get(table)
        if resident is None:
            return [self._nearest_one(table, column, query, k, predicate) for query in queries]
        resident.count_question()
        held = resident.vectors(column)
        allowed = resident.allowed(column, held.ids, predicate)
        names = [SEARCHED[table], "score"]
        return [found.rename_columns(names) for found in held.nearest(queries, k, allowed)]

    def match(self, table: str, text: str, *, k: int, filters: Filters) -> pa.Table:
        """Return the ``k`` best rows by BM25 over identifier-split words: row id and score."""
        if not text.strip():
            return _no_hits(SEARCHED[table])
        predicate = filter_predicate(filters)
        if resident := self._residents.get(table):
            resident.count_question()
        id_column, held = SEARCHED[table], self._held_rows(table)

        def fetch(count: int) -> pa.Table:
            found = self._read(
                table,
                columns=[ROW_NUMBER if held else id_column, "_score"],
                filter=predicate,
                prefilter=True,
                full_text_query=MatchQuery(text, WORDS),
                limit=count,
                disable_scoring_autoprojection=True,
            )
            if not held:
                return found
            ids = held.numbered(found[ROW_NUMBER].to_numpy())
            return pa.table({id_column: ids, "_score": found["_score"]})

        return _best(fetch, id_column, "_score", k)

    def equal(
        self,
        table: str,
        column: str,
        values: Sequence[str],
        *,
        k: int,
        filters: Filters,
        columns: Sequence[str] = (),
    ) -> pa.Table:
        """Return at most ``k`` rows whose ``column`` is one of ``values``, in key order.

        ``columns`` are what is read; none named means all but the vector.
        """
        held = self._held_rows(table)
        if held is None or not held.has(columns):
            predicate = filter_predicate(filters, is_one_of(column, values))
            return self._first(table, predicate, k, columns)
        allowed = self._residents[table].allowed("rows", held.ids, filter_predicate(filters))
        return held.equal(column, values, k, columns, allowed)

    def matches_pattern(self, table: str, pattern: str, *, k: int, filters: Filters) -> pa.Table:
        """Return at most ``k`` whole rows whose text or body matches a regular expression.

        Raises:
            UsageError: the expression cannot be read.
        """
        found = " OR ".join(matches(column, pattern) for column in _PATTERN_COLUMNS[table])
        try:
            return self._first(table, filter_predicate(filters, f"({found})"), k)
        except StoreError as error:
            if "regex" not in str(error).lower():
                raise
            message = f"the pattern {pattern!r} is no regular expression: {_reason(error)}"
            raise UsageError(message) from error

    def rows(self, table: str, ids: Sequence[str], *, columns: Sequence[str] = ()) -> pa.Table:
        """Return the rows with these ids, in their order; unknown ids are left out.

        Args:
            table: chunks or symbols.
            ids: row ids.
            columns: the columns to read; none means all but the vector.
        """
        if (held := self._held_rows(table)) and held.has(columns):
            return held.with_ids(ids, columns)
        id_column = SEARCHED[table]
        wanted = list(columns) or self._specs[table].schema.names
        read = wanted if id_column in wanted else [*wanted, id_column]
        found = self._by_ids(table, ids, read)
        places = pc.index_in(pa.array(ids, pa.string()), found[id_column].combine_chunks())
        return found.take(places.drop_null()).select(wanted)

    def vectors(self, table: str, ids: Sequence[str], *, model_id: str) -> NDArray[np.float32]:
        """Return the vectors of these rows, in their order; zeros where there is none yet."""
        dimension = self._dimension(table, model_id)
        if dimension is None:
            return np.zeros((len(ids), 0), np.float32)
        column = vector_column(model_id)
        if resident := self._residents.get(table):
            return resident.vectors(column).with_ids(ids)
        found = self._by_ids(table, ids, [SEARCHED[table], column])
        found = found.filter(pc.is_valid(found[column]))
        places = pc.index_in(pa.array(ids, pa.string()), found[SEARCHED[table]].combine_chunks())
        known = places.is_valid().to_numpy(zero_copy_only=False)
        flat = found[column].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        result = np.zeros((len(ids), dimension), np.float32)
        result[known] = flat.reshape(-1, dimension)[places.drop_null().to_numpy()]
        return result

    def coverage(self, table: str) -> dict[str, int]:
        """Return the number of rows by the model of their vector; ``""`` counts those without."""
        if table not in self._coverage:
            models = self._read(table, columns=[MODEL_COLUMN], filter=HAS_TEXT)[MODEL_COLUMN]
            counts = pc.value_counts(models).to_pylist()
            self._coverage[table] = {item["values"]: item["counts"] for item in counts}
        return dict(self._coverage[table])

    def values(self, column: str) -> list[str]:
        """Return the values of a column that both tables have, sorted."""
        found = {v for table in SEARCHED for v in self._unique(table, column)}
        return sorted(found)

    def _unique(self, table: str, column: str) -> list[str]:
        found: list[str] = pc.unique(self._read(table, columns=[column])[column]).to_pylist()
        return found

    def _held_rows(self, table: str) -> ResidentRows | None:
        resident = self._residents.get(table)
        return resident.rows() if resident else None

    def _resident(self, table: str) -> Resident:
        id_column, spec = SEARCHED[table], self._specs[table]

        def read_ids(predicate: str) -> pa.Array:
            return self._read(table, columns=[id_column], filter=predicate)[
                id_column
            ].combine_chunks()

        def read_rows() -> ResidentRows:
            names = dict.fromkeys((*HIT_COLUMNS[table], *spec.key, ROW_NUMBER))
            return ResidentRows(self._read(table, columns=[*names]), spec, id_column)

        def read_vectors(column: str) -> ResidentVectors:
            rows = self._read(table, columns=[id_column, column], filter=f"{column} IS NOT NULL")
            flat = rows[column].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            vectors = flat.reshape(rows.num_rows, rows.schema.field(column).type.list_size)
            return ResidentVectors(rows[id_column].combine_chunks(), vectors)

        return Resident(read_ids, read_rows, read_vectors)

    def _nearest_one(
        self, table: str, column: str, query: NDArray[np.float32], k: int, predicate: str | None
    ) -> pa.Table:
        def fetch(count: int) -> pa.Table:
            found = self._read(
                table,
                columns=[SEARCHED[table], "_distance"],
                filter=predicate,
                prefilter=True,
                nearest={
                    "column": column,
                    "q": query,
                    "k": count,
                    "metric": "dot",
                    "nprobes": _PROBES,
                    "refine_factor": -(-_COMPARED // count),
                },
                disable_scoring_autoprojection=True,
            )
            # Lance's dot distance is one minus the product; of unit vectors that is the cosine
            score = pc.subtract(1.0, pc.cast(found["_distance"], pa.float64()))
            return pa.table({SEARCHED[table]: found[SEARCHED[table]], "_score": score})

        return _best(fetch, SEARCHED[table], "_score", k)

    def _first(
        self, table: str, predicate: str | None, k: int, columns: Sequence[str] = ()
    ) -> pa.Table:
        """Return the first ``k`` rows by the table's key, whole if no column is named."""
        spec = self._specs[table]
        keys = self._read(table, columns=list(spec.key), filter=predicate)
        order = [(name, "ascending") for name in spec.key]
        first = keys.take(pc.select_k_unstable(keys, min(k, keys.num_rows), order))
        return self.rows(table, first[SEARCHED[table]].to_pylist(), columns=columns)

    def _by_ids(self, table: str, ids: Sequence[str], columns: list[str]) -> pa.Table:
        groups = groups_of(SEARCHED[table], dict.fromkeys(ids))
        parts = [self._read(table, columns=columns, filter=group) for group in groups]
        return pa.concat_tables(parts) if parts else self._read(table, columns=columns, limit=0)

    def _dimension(self, table: str, model_id: str) -> int | None:
        models = self._models[table]
        if models and model_id not in models:
            message = (
                f"the vectors in {self._place} are of model {', '.join(models)}, the question's "
                f"is of {model_id}: search with that embedder, or index again with this one"
            )
            raise StoreError(message)
        return models.get(model_id)

    def _read(self, table: str, **options: Any) -> pa.Table:  # noqa: ANN401 - Lance's own options
        with store_errors(self._place, f"search table {table!r}"):
            return self._datasets[table].to_table(**options)


def _best(fetch: Callable[[int], pa.Table], id_column: str, score: str, k: int) -> pa.Table:
    """Take the ``k`` best, ties by row id, whatever order the engine finds ties in.

    If the last row fetched ties with the k-th, more rows are fetched until the tie is whole.
    """
    count = k + _SPARE
    while True:
        found = fetch(count)
        hits = pa.table(
            {id_column: found[id_column], "score": pc.cast(found[score], pa.float64())}
        ).sort_by([("score", "descending"), (id_column, "ascending")])
        is_all = found.num_rows < count
        if is_all or hits["score"][k - 1].as_py() > hits["score"][-1].as_py():
            return hits.slice(0, k)
        count *= 4


def _no_hits(id_column: str) -> pa.Table:
    return pa.table({id_column: pa.array([], pa.string()), "score": pa.array([], pa.float64())})


def _reason(error: StoreError) -> str:
    lines = str(error.__cause__).splitlines()
    told = next((line for line in reversed(lines) if line.startswith("error:")), lines[0])
    return told.removeprefix("error: ").partition("), /")[0]  # then the engine's own source
