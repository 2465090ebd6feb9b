"""Open the store that the settings name."""

from functools import lru_cache
from pathlib import Path

from codelake.bucket_settings import S3Settings
from codelake.settings import Settings
from resources.places import is_bucket, store_place
from resources.store.bucket import BucketPlace
from resources.store.place import FolderPlace, Place
from resources.store.writing import LanceStore


def open_store(settings: Settings) -> LanceStore:
    """Return the store of ``settings``, the same object each time so that its lock is one.

    Raises:
        StoreError: it lies in a bucket, and a package or the keys for that are missing.
    """
    return _open(store_place(settings.store), settings.s3)


@lru_cache(maxsize=8)
def _open(store: str, s3: S3Settings) -> LanceStore:
    place: Place = BucketPlace(store, s3) if is_bucket(store) else FolderPlace(Path(store))
    return LanceStore(place)
