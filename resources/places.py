"""Where a path of the settings or the command line points to."""

import hashlib
import os
from pathlib import Path
from typing import Final

from codelake.bucket_settings import BUCKET_URL
from codelake.settings import Settings

_MOST_CHARACTERS: Final = 255  # bytes of a name, on every file system in use; all are ASCII
_WORK: Final = ".codelake"  # for the store of no settings, too


def expand_home(place: str) -> Path:
    """Return ``place`` with a ``~`` in front replaced; an unknown user stays as it is written."""
    return Path(os.path.expanduser(place))  # noqa: PTH111 # that of Path raises for such a user


def store_place(store: str) -> str:
    """Return where a store lies, whatever folder this process goes to: a folder or a bucket."""
    return store if is_bucket(store) else str(expand_home(store).absolute())


def is_bucket(store: str) -> bool:
    """Tell whether a store lies in a bucket."""
    return BUCKET_URL.fullmatch(store) is not None


def work_folder(settings: Settings) -> Path:
    """Return the folder on this machine for what is no table: that of the store if it has one.

    That of a bucket may lie in a store's, but not under a name that a store writes to; buckets of
    one name at two endpoints share it, unless ``s3.folder`` keeps them apart.
    """
    found = BUCKET_URL.fullmatch(settings.store)
    if found is None:
        return expand_home(settings.store).absolute()
    name = f"s3+{found['bucket']}{found['prefix'].replace('/', '+')}"  # neither may have a plus
    return expand_home(settings.s3.folder or _WORK).absolute() / _short(name)


def _short(name: str) -> str:
    """Return a name that a folder may have: the rest of one that is too long is a hash."""
    if len(name) <= _MOST_CHARACTERS:
        return name
    mark = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return f"{name[: _MOST_CHARACTERS - len(mark) - 1]}+{mark}"
