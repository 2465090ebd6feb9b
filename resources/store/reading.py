"""Reading a store: no lock, no writes, one moment at a time."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import lance
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from resources.store import exporting, sql, vectors, verifying, versions
from resources.store.errors import store_errors
from resources.store.folder import StoreFolder
from resources.store.manifest import Manifest, Published
from resources.store.place import FolderPlace, Place
from resources.store.predicates import all_of, equals, is_one_of
from resources.store.resident import RESIDENT_ROWS
from resources.store.search_tables import LanceTables
from resources.store.specs import SEARCHED, vector_models
from resources.store.states import Found, find_state


class StoreReader:
    """All tables of one store, to be read. Nothing is opened before it is needed."""

    def __init__(self, place: Place | Path) -> None:
        """Name the store: a folder, or another place."""
        self.place: Place = FolderPlace(place) if isinstance(place, Path) else place
        self._folder = StoreFolder(self.place)

    @property
    def is_there(self) -> bool:
        """Whether there is a store."""
        return self._folder.is_there

    def models(self) -> Manifest:
        """Return the store's record, which names the models."""
        return self._folder.manifest()

    def find_state(self, wanted: str) -> Found:
        """Return the published state meant by a name, a moment or a commit; see :mod:`.states`."""
        return find_state(self._folder, wanted)

    def search_tables(
        self, *, state: Published | None = None, resident_rows: int = RESIDENT_ROWS
    ) -> LanceTables:
        """Return the searched tables of ``state``, else as published last, else as they are now.

        Tables of up to ``resident_rows`` rows are held in memory once they are asked repeatedly.
        """
        manifest = self._folder.manifest()
        if state is None and manifest.published:
            state = manifest.published[-1]
        datasets = {
            name: self._folder.dataset(name, state.tables[name] if state else None)
            for name in SEARCHED
        }
        model_id = state.model_id if state else manifest.model_id
        return LanceTables(
            self.place, datasets, self._folder.specs, model_id, resident_rows=resident_rows
        )

    def repositories(self, state: Published | None = None) -> list[dict[str, str]]:
        """Return the rows of the repositories table by name, now or in a published state."""
        version = state.tables["repositories"] if state else None
        dataset = self._folder.dataset("repositories", version)
        with store_errors(self.place, "read table 'repositories'"):
            rows: list[dict[str, str]] = dataset.to_table().to_pylist()
        return sorted(rows, key=lambda row: row["repository"])

    def read(
        self,
        table: str,
        *,
        columns: Sequence[str] = (),
        repositories: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return rows of a table as the last write left it, in no particular order.

        Args:
            table: name of a stored table.
            columns: those to read; none means all but the vectors.
            repositories: only these; None means all.
            paths: only these; None means all.
        """
        batches = self.read_batches(table, columns=columns, repositories=repositories, paths=paths)
        return pa.Table.from_batches(batches, schema=self._schema(table, columns))

    def read_batches(
        self,
        table: str,
        *,
        columns: Sequence[str] = (),
        repositories: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield what :meth:`read` returns, batch by batch."""
        schema = self._schema(table, columns)
        conditions = [
            is_one_of(column, values)
            for column, values in (("repository", repositories), ("path", paths))
            if values is not None
        ]
        dataset = self._folder.dataset(table)
        with store_errors(self.place, f"read table {table!r}"):
            for batch in dataset.to_batches(columns=schema.names, filter=all_of(conditions)):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def known_vectors(
        self, model_id: str, hashes: Sequence[str]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float16]]:
        """Return for each text hash whether its vector is kept, and the vectors (else zeros)."""
        dimension = self.dimension(model_id)
        dataset = self._folder.dataset("embeddings")
        with store_errors(self.place, "read table 'embeddings'"):
            return vectors.look_up(dataset, model_id, hashes, dimension)

    def pending(self, model_id: str) -> Iterator[tuple[str, str]]:
        """Yield the hash and text of each stored text without a kept vector of the model, once."""
        with store_errors(self.place, "read what is to be embedded"):
            yield from vectors.pending_texts(*self._pending_tables(), model_id)

    def dimension(self, model_id: str) -> int:
        """Return how many numbers the vectors of a model have here, 0 if it has none."""
        # A table made anew has no vectors yet, where the other one has.
        found = (vector_models(self._folder.dataset(t).schema).get(model_id, 0) for t in SEARCHED)
        return next(filter(None, found), 0)

    def pending_count(self, model_id: str) -> int:
        """Return the number of texts that :meth:`pending` would yield."""
        with store_errors(self.place, "read what is to be embedded"):
            return len(vectors.pending_hashes(*self._pending_tables(), model_id))

    def waiting_rows(self, model_id: str) -> dict[str, int]:
        """Return, by repository, how many rows wait for a vector of the model."""
        with store_errors(self.place, "read what is to be embedded"):
            return vectors.waiting_rows(self._pending_tables()[0], model_id)

    def summary(self) -> dict[str, int]:
        """Return the number of rows of each table."""
        self._folder.manifest()
        return {name: self._folder.dataset(name).count_rows() for name in self._folder.specs}

    def counts(self, table: str, column: str, values: Iterable[str]) -> dict[str, int]:
        """Return how many rows have each of ``values`` in an indexed column; none is read."""
        dataset = self._folder.dataset(table)
        with store_errors(self.place, f"count in table {table!r}"):
            found = {value: dataset.count_rows(equals(column, value)) for value in values}
        return {value: count for value, count in found.items() if count}

    def coverage(self, table: str) -> dict[str, int]:
        """Return the rows of ``table`` by the model of their newest vector, ``""`` for none."""
        return self._present_tables().coverage(table)

    def verify(self) -> list[verifying.Problem]:
        """Return every promise the tables do not keep; an empty list means that all is well."""
        return verifying.find_problems(self._folder)

    def history(self) -> list[versions.Version]:
        """Return the versions of each table that can still be read, oldest first."""
        return list(versions.history(self._folder))

    def export(self, table: str, form: str, target: Path | IO[bytes]) -> None:
        """Write a table sorted by key as ``jsonl`` or ``parquet``; see :mod:`.exporting`."""
        spec = exporting.known_spec(self._folder.specs, table)
        exporting.export_table(self._folder.dataset(table), spec, form, target)

    def sql(self, statement: str) -> pa.Table:
        """Answer a question in SQL over the tables; see :mod:`.sql`."""
        return sql.query(self._folder, statement)

    def _present_tables(self) -> LanceTables:
        datasets = {name: self._folder.dataset(name) for name in SEARCHED}
        return LanceTables(
            self.place, datasets, self._folder.specs, self._folder.manifest().model_id
        )

    def _pending_tables(self) -> tuple[list[lance.LanceDataset], lance.LanceDataset]:
        return [self._folder.dataset(t) for t in SEARCHED], self._folder.dataset("embeddings")

    def _schema(self, table: str, columns: Sequence[str]) -> pa.Schema:
        schema = self._folder.specs[table].schema
        return pa.schema([schema.field(name) for name in columns or schema.names])
