"""Writing a store: one process at a time, one commit a write."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from codelake.errors import StoreError
from codelake.schemas import EMBEDDINGS
from resources.store import indexes, pruning, rows, vectors, verifying, versions
from resources.store.errors import store_errors
from resources.store.lock import WriterLock
from resources.store.place import Place
from resources.store.reading import StoreReader
from resources.store.rows import Replaced
from resources.store.specs import (
    IDENTITY,
    SEARCHED,
    WORDS,
    given_spec,
    vector_column,
    vector_field,
    vector_models,
)
from resources.store.words import words_of

# A reader that opened the tables before a write may go on for this long.
RETENTION: Final = timedelta(hours=1)


class LanceStore(StoreReader):
    """All tables of one store, to be read and written.

    Reading needs no lock. A write takes the writer's lock; a run takes it once around all of its
    writes with :meth:`writing`.
    """

    def __init__(self, place: Place | Path) -> None:
        """Name the store; it is created by the first write."""
        super().__init__(place)
        self._lock = WriterLock(self.place, self.place.latch(), self._prepare)
        self._one_at_a_time = threading.RLock()

    @contextmanager
    def writing(self, *, wait_seconds: float = 0.0, is_brief: bool = False) -> Iterator[None]:
        """Be the one writer, with all tables there and of this version's shape.

        Args:
            wait_seconds: how long to wait for another writer.
            is_brief: it does not take long, so that other writers wait.

        Raises:
            BusyError: another process writes.
            StoreError: the folder cannot be written, or the tables are of a newer version.
        """
        with self._lock.held(wait_seconds=wait_seconds, is_brief=is_brief):
            yield

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Write, while no other thread of this process does."""
        with self.writing(), self._one_at_a_time:
            self._lock.check()
            yield

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
            batches: rows as a stage makes them, see :func:`given_spec`; read once, streamed. An
                error raised by them comes out as it is, and the table is as it was.

        Raises:
            SchemaError: rows do not fit the table, or an id comes twice.
            StoreError: the table cannot be written; it is then as it was.
        """
        with self._turn():
            dataset = self._folder.dataset(table)
            checked = rows.CheckedRows(
                given_spec(table), IDENTITY[table], lambda b: self._stored(table, b, dataset.schema)
            )
            try:
                with store_errors(self.place, f"write to table {table!r}"):
                    new = rows.write_rows(dataset, iter(batches), checked)
                    written = checked.keys()
                    gone = [
                        rows.find_rows(dataset, IDENTITY[table], written),
                        rows.find_rows(dataset, IDENTITY[table], _keys(delete_ids)),
                        rows.find_repositories(dataset, delete_repositories),
                    ]
                    self._lock.check()
                    deleted = rows.commit_replacement(dataset, np.concatenate(gone), new)
            except StoreError:
                if checked.problem is not None:
                    raise checked.problem from None
                raise
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
        with self._turn(), store_errors(self.place, "add a model"):
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
        with self._turn(), store_errors(self.place, "switch to a model"):
            if any(set(self.coverage(table)) - {model_id} for table in SEARCHED):
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

    def append_embeddings(self, table: pa.Table, *, are_new: bool = False) -> int:
        """Keep vectors: rows of ``EMBEDDINGS``; those kept before are left out.

        Args:
            table: the rows.
            are_new: none of them is kept, which the caller knows, having asked :meth:`pending`
                under this lock; looking costs half as much as writing.

        Returns:
            The number of new rows.

        Raises:
            EmbeddingError: a vector is not finite, not of length one or of a wrong dimension.
            SchemaError: the table has another shape.
        """
        with self._turn():
            vectors.check_vectors(table, vector_models(self._folder.dataset("chunks").schema))
            dataset = self._folder.dataset("embeddings")
            with store_errors(self.place, "write to table 'embeddings'"):
                fresh = (table if are_new else vectors.not_kept(table, dataset)).to_batches()
                checked = rows.CheckedRows(EMBEDDINGS, IDENTITY["embeddings"], lambda b: b)
                new = rows.write_rows(dataset, iter(fresh), checked)
                rows.commit_replacement(dataset, np.empty(0, np.uint64), new)
            return len(checked.keys())

    def fill_vectors(self, table: str, model_id: str) -> int:
        """Copy kept vectors into the rows that lack them, in one commit; return how many did."""
        with self._turn(), store_errors(self.place, f"fill vectors into table {table!r}"):
            return vectors.fill(self._folder.dataset(table), model_id, self.known_vectors)

    def index_new_rows(self) -> None:
        """Let the indexes cover all rows; they are found without, only slower."""
        with self._turn():
            for table in self._folder.specs:
                with store_errors(self.place, f"index table {table!r}"):
                    indexes.ensure_indexes(table, self._folder.dataset(table))
                    indexes.cover_new_rows(self._folder.dataset(table))

    def optimize(
        self, *, retention: timedelta = RETENTION, vector_rows: int = indexes.VECTOR_INDEX_ROWS
    ) -> int:
        """Compact, index and forget old versions; nothing is done where nothing changed.

        Args:
            retention: age up to which old versions stay readable; published ones stay anyway.
            vector_rows: rows with a vector from which vectors are indexed.

        Returns:
            The bytes freed.
        """
        freed = 0
        with self._turn():
            for table in self._folder.specs:
                with store_errors(self.place, f"optimize table {table!r}"):
                    indexes.compact(self._folder.dataset(table))
                    if table in SEARCHED:
                        indexes.ensure_vector_indexes(self._folder.dataset(table), vector_rows)
            self.index_new_rows()
            for table in self._folder.specs:
                with store_errors(self.place, f"forget old versions of table {table!r}"):
                    freed += indexes.drop_old_versions(self._folder.dataset(table), retention)
        return freed

    def prune_vectors(self, keep: timedelta, *, now: datetime | None = None) -> int:
        """Forget vectors that no row has had for ``keep``; return how many. See :mod:`.pruning`."""
        with self._turn(), store_errors(self.place, "forget unused vectors"):
            return pruning.prune(self._folder, keep, now)

    def publish(self, name: str, *, keep: int = versions.KEPT) -> None:
        """Let searches see the tables as they are now, all at once; keep that state as ``name``.

        Until a state is published for the first time, searches see every write.
        """
        with self._turn(), store_errors(self.place, f"publish state {name!r}"):
            versions.publish(self._folder, name, keep=keep)

    def publish_sound(self, name: str, *, keep: int = versions.KEPT) -> list[verifying.Problem]:
        """Publish the tables if what changed in them since the last time is sound.

        Else searches go on to see the state before, and the problems are returned.
        """
        with self._turn():
            problems = verifying.find_new_problems(self._folder)
            if not problems:
                self.publish(name, keep=keep)
            return problems

    def rollback(self, name: str) -> None:
        """Make the state published as ``name`` the present one, for searches and the next run.

        Raises:
            UsageError: there is no such state.
        """
        with self._turn(), store_errors(self.place, f"go back to state {name!r}"):
            versions.rollback(self._folder, name)

    def rebuild(self) -> list[str]:
        """Empty the rows and the ledger, so that the next run writes all of them anew.

        Kept vectors stay unless their table is damaged, so nothing is embedded again.

        Returns:
            The tables that were damaged.
        """
        with self._turn():
            return self._rebuild()

    def _prepare(self) -> None:
        is_new = not self._folder.is_there
        self._folder.create()
        if is_new:
            with store_errors(self.place, "create the indexes"):
                for table in self._folder.specs:
                    indexes.ensure_indexes(table, self._folder.dataset(table))
        begun, _, name = self._folder.manifest().unfinished.partition(" ")
        if begun == versions.ROLLBACK:
            with store_errors(self.place, f"go back to state {name!r}"):
                versions.rollback(self._folder, name)
        elif begun:
            self._rebuild()

    def _rebuild(self) -> list[str]:
        damaged = {p.table for p in self.verify() if p.kind in verifying.DAMAGE}
        manifest = replace(self._folder.manifest(), published=(), unfinished="rebuild")
        manifest = self._folder.update(manifest)
        for table in self._folder.specs:
            if table == "embeddings" and table not in damaged:
                continue
            with store_errors(self.place, f"empty table {table!r}"):
                self._folder.empty(table, is_damaged=table in damaged)
                indexes.ensure_indexes(table, self._folder.dataset(table))
        self._folder.update(replace(manifest, unfinished=""))
        return sorted(damaged)

    def _stored(self, table: str, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        if table not in SEARCHED:
            return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        dimensions = vector_models(schema)
        order = self._folder.manifest().models
        models = {model: dimensions[model] for model in order if model in dimensions}
        made = vectors.with_vectors(batch, schema, models, self.known_vectors)
        place = schema.get_field_index(WORDS)
        return made.set_column(place, schema.field(place), words_of(table, batch))


def _keys(ids: Sequence[str] | Sequence[tuple[str, ...]] | pa.Array) -> pa.Array:
    if isinstance(ids, pa.ChunkedArray):
        return ids.combine_chunks()
    if isinstance(ids, pa.Array):
        return ids
    return pa.array([i if isinstance(i, str) else rows.SEPARATOR.join(i) for i in ids], pa.string())
