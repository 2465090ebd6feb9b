"""Open the store that the settings name."""

from functools import lru_cache
from pathlib import Path

from codelake.settings import Settings
from resources.places import store_place
from resources.store.place import FolderPlace
from resources.store.writing import LanceStore


def open_store(settings: Settings) -> LanceStore:
    """Return the store of ``settings``, the same object each time so that its lock is one."""
    return _open(store_place(settings.store))


@lru_cache(maxsize=8)
def _open(store: str) -> LanceStore:
    return LanceStore(FolderPlace(Path(store)))
