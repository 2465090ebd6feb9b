"""The store: LanceDB tables in one folder, written by one process at a time.

>>> from pathlib import Path
>>> from tempfile import mkdtemp
>>> store = LanceStore(Path(mkdtemp()))
>>> with store.writing():
...     pass
>>> store.summary()["chunks"]
0
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from codelake.errors import StoreError
from resources.store import indexes, rows, vectors
from resources.store.errors import store_errors
from resources.store.folder import StoreFolder
from resources.store.lock import WriterLock
from resources.store.manifest import Manifest
from resources.store.predicates import all_of, is_one_of
from resources.store.rows import Replaced
from resources.store.search_tables import LanceTables
from resources.store.specs import (
    IDENTITY,
    SEARCHED,
    STORED,
    given_spec,
    vector_column,
    vector_field,
    vector_models,
)

__all__ = ["SEARCHED", "STORED", "LanceStore", "LanceTables", "Replaced", "given_spec"]

_DAY = timedelta(days=1)


class LanceStore:
    """All tables of one folder. Nothing is opened, and nothing created, before it is needed.

    Reading needs no lock. A write takes the writer's lock; a run takes it once around all of its
    writes with :meth:`writing`.
    """

    def __init__(self, path: Path) -> None:
        """Name the folder of the store."""
        self.path = path
        self._folder = StoreFolder(path)
        self._lock = WriterLock(path)

    @property
    def is_there(self) -> bool:
        """Whether there is a store in the folder."""
        return self._folder.is_there

    @contextmanager
    def writing(self, *, wait_seconds: float = 0.0) -> Iterator[None]:
        """Be the one writer, with all tables there and of this version's shape.

        Raises:
            StoreError: another process writes, the folder cannot be written, or the tables are
                of a newer version.
        """
        with self._lock.held(wait_seconds=wait_seconds):
            self._prepare()
            yield

    # reading ------------------------------------------------------------------------------------

    def search_tables(self, version: str | None = None) -> LanceTables:
        """Return the searched tables as they are now, or as they were at a tag."""
        manifest = self._folder.manifest()
        datasets = {name: self._folder.dataset(name, version) for name in SEARCHED}
        return LanceTables(self.path, datasets, self._folder.specs, manifest.model_id)

    def read(
        self,
        table: str,
        *,
        columns: Sequence[str] = (),
        repositories: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return rows of a table, in no particular order.

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
        with store_errors(self.path, f"read table {table!r}"):
            for batch in dataset.to_batches(columns=schema.names, filter=all_of(conditions)):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def models(self) -> Manifest:
        """Return the store's record, which names the models."""
        return self._folder.manifest()

    def summary(self) -> dict[str, int]:
        """Return the number of rows of each table."""
        self._folder.manifest()
        return {name: self._folder.dataset(name).count_rows() for name in self._folder.specs}

    # writing ------------------------------------------------------------------------------------

    def replace_rows(
        self,
        table: str,
        *,
        delete_ids: Sequence[str] | Sequence[tuple[str, ...]] | pa.Array = (),
        delete_repositories: Sequence[str] = (),
        batches: Iterable[pa.RecordBatch] = (),
    ) -> Replaced:
        """Delete rows and write rows as one version of the table; doing so twice changes nothing.

        A stored row with the id of a written one is replaced. Rows of ``chunks`` and ``symbols``
        get the vectors known for their texts.

        Args:
            table: name of a stored table.
            delete_ids: row ids, or tuples of the identifying columns where there are several.
            delete_repositories: repositories whose rows all go.
            batches: rows as a stage makes them, see :func:`given_spec`; read once, streamed.

        Raises:
            SchemaError: rows do not fit the table, or an id comes twice.
            StoreError: the table cannot be written; it is then as it was.
        """
        with self.writing(), store_errors(self.path, f"write to table {table!r}"):
            dataset = self._folder.dataset(table)
            identity = IDENTITY[table]

            def prepare(batch: pa.RecordBatch) -> pa.RecordBatch:
                if table not in SEARCHED:
                    return pa.RecordBatch.from_arrays(batch.columns, schema=dataset.schema)
                models = self._models_of(dataset.schema)
                return vectors.with_vectors(batch, dataset.schema, models, self.known_vectors)

            checked = rows.CheckedRows(given_spec(table), identity, prepare)
            new = rows.write_rows(dataset, iter(batches), checked)
            written = checked.keys()
            gone = [
                rows.find_rows(dataset, identity, written),
                rows.find_rows(dataset, identity, _keys(delete_ids)),
                rows.find_repositories(dataset, delete_repositories),
            ]
            deleted = rows.commit_replacement(dataset, np.concatenate(gone), new)
            return Replaced(len(written), deleted)

    def use_model(
        self, model_id: str, dimension: int, settings: Mapping[str, object] | None = None
    ) -> None:
        """Make room for the vectors of a model; the first one is searched at once.

        A further one fills in beside it until :meth:`complete_model`. The ``settings`` that open
        the model are kept for those who search; they hold no secret.

        Raises:
            StoreError: the model was used before with another dimension.
        """
        with self.writing(), store_errors(self.path, "add a model"):
            for table in SEARCHED:
                dataset = self._folder.dataset(table)
                known = vector_models(dataset.schema).get(model_id)
                if known is None:
                    dataset.add_columns(pa.schema([vector_field(model_id, dimension)]))
                elif known != dimension:
                    message = f"vectors of {model_id!r} have {known} numbers, not {dimension}"
                    raise StoreError(message)
            manifest = self._folder.manifest()
            if settings is not None and manifest.embedders.get(model_id) != settings:
                kept = {**manifest.embedders, model_id: dict(settings)}
                manifest = self._folder.update(replace(manifest, embedders=kept))
            if not manifest.model_id:
                self._folder.update(replace(manifest, model_id=model_id))
            elif manifest.model_id != model_id:
                self._folder.update(replace(manifest, next_model_id=model_id))
            elif manifest.next_model_id:
                self._folder.update(replace(manifest, next_model_id=""))

    def complete_model(self, model_id: str) -> bool:
        """Let searches use a model once every row has its vector; drop the others' columns.

        Returns:
            Whether every row has one.
        """
        with self.writing(), store_errors(self.path, "switch to a model"):
            tables = self.search_tables()
            if any(set(tables.coverage(table)) - {model_id} for table in SEARCHED):
                return False
            manifest = self._folder.manifest()
            if (manifest.model_id, manifest.next_model_id) != (model_id, ""):
                self._folder.update(replace(manifest, model_id=model_id, next_model_id=""))
            for table in SEARCHED:
                dataset = self._folder.dataset(table)
                old = [vector_column(m) for m in vector_models(dataset.schema) if m != model_id]
                if old:
                    dataset.drop_columns(old)
            return True

    def append_embeddings(self, table: pa.Table) -> int:
        """Keep vectors: rows of ``EMBEDDINGS``; those kept before are left out.

        Returns:
            The number of new rows.

        Raises:
            EmbeddingError: a vector is not finite, not of length one or of a wrong dimension.
            SchemaError: the table has another shape.
        """
        with self.writing(), store_errors(self.path, "write to table 'embeddings'"):
            models = self._models_of(self._folder.dataset("chunks").schema)
            vectors.check_vectors(table, models)
            dataset = self._folder.dataset("embeddings")
            fresh = vectors.not_kept(table, dataset)
            if fresh.num_rows:
                new = rows.write_rows(
                    dataset,
                    iter(fresh.to_batches()),
                    rows.CheckedRows(given_spec("embeddings"), IDENTITY["embeddings"], _unchanged),
                )
                rows.commit_replacement(dataset, np.empty(0, np.uint64), new)
            return int(fresh.num_rows)

    def known_vectors(
        self, model_id: str, hashes: Sequence[str]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float16]]:
        """Return for each text hash whether its vector is kept, and the vectors (else zeros)."""
        dimension = vector_models(self._folder.dataset("chunks").schema).get(model_id, 0)
        with store_errors(self.path, "read table 'embeddings'"):
            dataset = self._folder.dataset("embeddings")
            return vectors.look_up(dataset, model_id, hashes, dimension)

    def pending(self, model_id: str) -> Iterator[tuple[str, str]]:
        """Yield the hash and text of each stored text without a kept vector of the model, once."""
        with store_errors(self.path, "read what is to be embedded"):
            yield from vectors.pending_texts(*self._pending_tables(), model_id)

    def pending_count(self, model_id: str) -> int:
        """Return the number of texts that :meth:`pending` would yield."""
        with store_errors(self.path, "read what is to be embedded"):
            return len(vectors.pending_hashes(*self._pending_tables(), model_id))

    def fill_vectors(self, table: str, model_id: str) -> int:
        """Copy kept vectors into the rows that lack them, in one commit; return how many did."""
        with self.writing(), store_errors(self.path, f"fill vectors into table {table!r}"):
            return vectors.fill(self._folder.dataset(table), model_id, self.known_vectors)

    # upkeep -------------------------------------------------------------------------------------

    def index_new_rows(self) -> None:
        """Let the indexes cover all rows: words are found fast, vectors too where that pays."""
        with self.writing():
            for table in self._folder.specs:
                with store_errors(self.path, f"index table {table!r}"):
                    indexes.cover_new_rows(self._folder.dataset(table))

    def optimize(
        self, *, retention: timedelta = _DAY, vector_rows: int = indexes.VECTOR_INDEX_ROWS
    ) -> int:
        """Compact, index and forget old versions; nothing is done where nothing changed.

        Args:
            retention: age up to which old versions stay readable.
            vector_rows: rows with a vector from which vectors are indexed.

        Returns:
            The bytes freed.
        """
        freed = 0
        with self.writing():
            for table in self._folder.specs:
                with store_errors(self.path, f"optimize table {table!r}"):
                    dataset = self._folder.dataset(table)
                    indexes.compact(dataset)
                    indexes.ensure_indexes(table, dataset)
                    if table in SEARCHED:
                        indexes.ensure_vector_indexes(dataset, vector_rows)
                    dataset = self._folder.dataset(table)
                    indexes.cover_new_rows(dataset)
                    dataset = self._folder.dataset(table)
                    freed += indexes.drop_old_versions(dataset, retention)
        return freed

    def _prepare(self) -> None:
        is_new = not self._folder.is_there
        self._folder.create()
        if is_new:
            for table in self._folder.specs:
                indexes.ensure_indexes(table, self._folder.dataset(table))

    def _pending_tables(self) -> tuple[list[lance.LanceDataset], lance.LanceDataset]:
        return [self._folder.dataset(t) for t in SEARCHED], self._folder.dataset("embeddings")

    def _schema(self, table: str, columns: Sequence[str]) -> pa.Schema:
        schema = self._folder.specs[table].schema
        return pa.schema([schema.field(name) for name in columns or schema.names])

    def _models_of(self, schema: pa.Schema) -> dict[str, int]:
        dimensions = vector_models(schema)
        order = self._folder.manifest().models
        return {model: dimensions[model] for model in order if model in dimensions}


def _keys(ids: Sequence[str] | Sequence[tuple[str, ...]] | pa.Array) -> pa.Array:
    if isinstance(ids, pa.Array):
        return ids
    return pa.array([i if isinstance(i, str) else "\0".join(i) for i in ids], pa.string())


def _unchanged(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch
