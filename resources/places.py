"""Where a path of the settings or the command line points to."""

import os
from pathlib import Path

from codelake.settings import Settings


def expand_home(place: str) -> Path:
    """Return ``place`` with a ``~`` in front replaced; an unknown user stays as it is written."""
    return Path(os.path.expanduser(place))  # noqa: PTH111 # that of Path raises for such a user


def store_place(store: str) -> str:
    """Return where a store lies, whatever folder this process goes to."""
    return str(expand_home(store).absolute())


def work_folder(settings: Settings) -> Path:
    """Return the folder for what is no table: mirrors, stage tables, Dagster's record."""
    return expand_home(settings.store).absolute()
