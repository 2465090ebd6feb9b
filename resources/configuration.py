"""The settings of a run as a Dagster resource, and what is opened with them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, cast

import dagster as dg
from pydantic import PrivateAttr

from codelake.embedding import Closable, Embedder
from codelake.settings import Settings
from resources.cluster import ClusterEngine, Connection, check_cluster
from resources.embedders import open_embedder
from resources.engines import Engine, LocalEngine
from resources.git import without_credentials
from resources.places import work_folder
from resources.settings_file import load_settings
from resources.store import LanceStore
from resources.store.opening import open_store

NO_EMBEDDER: Final = "none"
_PATHS: Final = "sources.paths"

# Sources with the credentials in their URLs, by what may be recorded of them; only in memory.
_GIVEN: Final[dict[str, str]] = {}


class Configuration(dg.ConfigurableResource[None]):
    """Where the settings come from; every asset reads them through this."""

    config_file: str = ""
    store: str = ""
    changes: str = "{}"
    places: str = "[]"
    _embedder: Embedder | None = PrivateAttr(None)
    _connection: Connection | None = PrivateAttr(None)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[None]:
        """Be the one run over this store, whoever started it, and make the store if there is none.

        Another run would put its stage tables in place of this one's before they are read.

        Raises:
            StoreError: another run writes; the message says which.
        """
        with self.open_store().writing(), Connection(context) as self._connection:
            try:
                yield cast("None", self)  # Dagster's type of a resource that is its own value
            finally:
                self.close_embedder()

    def load(self) -> Settings:
        """Return the settings of this run."""
        changes = json.loads(self.changes)
        if self.store:
            changes["store"] = self.store
        if _PATHS in changes:
            changes[_PATHS] = [_GIVEN.get(path, path) for path in changes[_PATHS]]
        return load_settings(self.config_file, changes)

    def recorded(self) -> dict[str, str]:
        """Return the configuration as a run may keep it: Dagster writes it to disk.

        Credentials in the URLs of sources are left out; this process still knows them.
        """
        changes = json.loads(self.changes)
        if _PATHS in changes:
            given: dict[str, str] = {}
            for path in changes[_PATHS]:
                given.setdefault(without_credentials(path), path)
            _GIVEN.update({shown: path for shown, path in given.items() if shown != path})
            changes[_PATHS] = list(given)
        return {
            "config_file": self.config_file,
            "store": self.store,
            "changes": json.dumps(changes),
            "places": self.places,
        }

    def chosen_places(self) -> frozenset[str]:
        """Return where the only repositories of this run lie; empty where it is about all."""
        return frozenset(json.loads(self.places))

    def open_store(self) -> LanceStore:
        """Open the tables; in one process the same store is the same writer."""
        return open_store(self.load())

    def open_embedder(self) -> Embedder | None:
        """Return the embedder, the same one for the whole run: it counts what the run costs.

        ``None`` where the index is by words only.
        """
        settings = self.load().embedding
        if self._embedder is None and settings.embedder != NO_EMBEDDER:
            self._embedder = open_embedder(settings)
        return self._embedder

    def open_engine(self) -> Engine:
        """Return what does the heavy stages of this run.

        Raises:
            UsageError: a cluster is to do them, and something it needs is missing.
        """
        settings = self.load()
        if settings.run.engine == "local":
            return LocalEngine(settings)
        check_cluster()
        folder = work_folder(settings) / "stages"
        return ClusterEngine(settings, self._connection or Connection(), folder)

    def close_embedder(self) -> None:
        """Close the connections of the embedder, if it has any; a later text opens new ones."""
        opened, self._embedder = self._embedder, None
        if isinstance(opened, Closable):
            opened.close()
