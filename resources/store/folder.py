"""The tables of a store: one Lance dataset each, as LanceDB lays them out, and a record."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import lance
import pyarrow as pa
from lance.dataset import Session  # type: ignore[attr-defined] # public, not listed in __all__

from codelake.errors import StoreError
from codelake.schemas import TableSpec
from resources.store.errors import NO_INDEX, store_errors
from resources.store.manifest import Manifest, has_manifest, read_manifest, write_manifest
from resources.store.place import Place
from resources.store.specs import SEARCHED, STORED, stored_schema
from resources.store.words import add_words

Migration = Callable[[lance.LanceDataset], None]

# How to bring a table from the version named to the next one; see docs/store.md.
MIGRATIONS: Final[dict[tuple[str, int], Migration]] = {
    (table, 1): partial(add_words, table) for table in SEARCHED
}

# What Lance may keep of indexes and file footers; its defaults are 6 GiB and 1 GiB.
_INDEX_CACHE_BYTES: Final = 512 << 20
_METADATA_CACHE_BYTES: Final = 64 << 20


class StoreFolder:
    """Opens and creates the tables in one place.

    Args:
        place: where they lie; nothing need be there.
        specs: the shapes wanted of the tables.
        migrations: steps from a table's older version to the next.
    """

    def __init__(
        self,
        place: Place,
        specs: Mapping[str, TableSpec] = STORED,
        migrations: Mapping[tuple[str, int], Migration] = MIGRATIONS,
    ) -> None:
        """Name the place; nothing is read or written yet."""
        self.place = place
        self.specs = specs
        self._migrations = migrations
        self._is_known = False  # once there is a store, it is not looked for again
        self._session = Session(
            index_cache_size_bytes=_INDEX_CACHE_BYTES,
            metadata_cache_size_bytes=_METADATA_CACHE_BYTES,
        )

    @property
    def is_there(self) -> bool:
        """Whether there is a store."""
        return has_manifest(self.place)

    def create(self) -> None:
        """Create what is missing of the tables and bring older ones up to date.

        Raises:
            StoreError: the folder cannot be written, or was written by a newer version.
        """
        with store_errors(self.place, "create the store"):
            self.place.prepare()
        manifest = read_manifest(self.place) if self.is_there else Manifest()
        self._refuse_newer(manifest)
        versions = dict(manifest.tables)
        for name, spec in self.specs.items():
            if name not in versions:
                self._create_table(spec)
                versions[name] = spec.version
            while versions[name] < spec.version:
                versions[name] = self._migrated(name, versions[name])
                # Published states have the older shape, which no search reads any more.
                manifest = write_manifest(
                    self.place, replace(manifest, tables=dict(versions), published=())
                )
        if versions != manifest.tables:
            write_manifest(self.place, replace(manifest, tables=versions))

    def manifest(self) -> Manifest:
        """Return the store's record, once its tables are known to have the shapes wanted.

        Raises:
            StoreError: no store is there, or its tables have other versions.
        """
        manifest = read_manifest(self.place)
        self._refuse_newer(manifest)
        older = [n for n, spec in self.specs.items() if manifest.tables.get(n, 0) < spec.version]
        if older:
            message = (
                f"the tables {', '.join(older)} in {self.place} were written by an older codelake: "
                "run `codelake index` once to bring them up to date"
            )
            raise StoreError(message)
        return manifest

    def update(self, manifest: Manifest) -> Manifest:
        """Write ``manifest`` as the store's record."""
        return write_manifest(self.place, manifest)

    def dataset(self, table: str, version: int | str | None = None) -> lance.LanceDataset:
        """Open ``table`` as it is now, or as it was at a version or tag.

        Raises:
            StoreError: there is no such table or it cannot be opened.
        """
        self._is_known = self._is_known or self.is_there
        if not self._is_known:
            raise StoreError(NO_INDEX.format(place=self.place))
        with store_errors(self.place, f"open table {table!r}"):
            return lance.dataset(
                self.place.table(table),
                version=version,
                session=self._session,
                storage_options=self.place.options,
            )

    def empty(self, table: str, *, is_damaged: bool) -> None:
        """Leave ``table`` without rows; a damaged one is thrown away and created anew."""
        if is_damaged:
            with store_errors(self.place, f"remove table {table!r}"):
                self.place.remove(table)
            self._create_table(self.specs[table])
        else:
            dataset = self.dataset(table)
            dataset.delete("true")
            for name in dataset.tags.list():
                dataset.tags.delete(name)

    def _create_table(self, spec: TableSpec) -> None:
        """Create a table the record does not name; one that is there was left by a killed run."""
        there, options = self.place.table(spec.name), self.place.options
        with store_errors(self.place, f"create table {spec.name!r}"):
            try:
                rows = lance.dataset(there, storage_options=options).count_rows()
                mode = "overwrite"
            except ValueError:  # what Lance raises where no dataset is
                rows, mode = 0, "create"
            if rows:
                message = (
                    f"{there} has {rows} rows, but {self.place} has no record of it: "
                    "move the folder away, or delete it and index again"
                )
                raise StoreError(message)
            empty = pa.Table.from_batches([], schema=stored_schema(spec))
            lance.write_dataset(empty, there, mode=mode, storage_options=options)

    def _migrated(self, table: str, version: int) -> int:
        step = self._migrations.get((table, version))
        if step is None:
            message = (
                f"table {table!r} in {self.place} has version {version} and cannot be brought to "
                f"version {self.specs[table].version}: delete the folder and index again"
            )
            raise StoreError(message)
        with store_errors(self.place, f"bring table {table!r} to version {version + 1}"):
            step(self.dataset(table))
        return version + 1

    def _refuse_newer(self, manifest: Manifest) -> None:
        newer = [
            name
            for name, version in manifest.tables.items()
            if name not in self.specs or version > self.specs[name].version
        ]
        if newer:
            message = (
                f"the tables {', '.join(newer)} in {self.place} were written by a newer codelake: "
                "upgrade, or delete the folder and index again"
            )
            raise StoreError(message)
