"""Where a path of the settings or the command line points to."""

import os
from pathlib import Path


def expand_home(place: str) -> Path:
    """Return ``place`` with a ``~`` in front replaced; an unknown user stays as it is written."""
    return Path(os.path.expanduser(place))  # noqa: PTH111 # that of Path raises for such a user
