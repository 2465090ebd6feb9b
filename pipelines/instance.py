"""Where Dagster keeps its runs and events: beside the tables unless the user has a home for it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import dagster as dg
from sqlalchemy.exc import DBAPIError

from codelake.errors import CodelakeError, StoreError
from resources.places import expand_home

WRITER_TAG: Final = "codelake/store"
"""The tag of runs that write to a store, with the store as its value."""

# Nothing about the code or its users leaves the machine unless someone asks for it. What a run
# prints is not kept: that takes four processes beside it, and it prints nothing that its events
# do not tell.
_SETTINGS: Final = f"""\
telemetry:
  enabled: false
nux:
  enabled: false
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
python_logs:
  managed_python_loggers: [codelake]
  python_log_level: WARNING
concurrency:
  runs:
    tag_concurrency_limits:
      - key: {WRITER_TAG}
        limit: 1
        value:
          applyLimitPerUniqueValue: true
"""

_HOME: Final = "DAGSTER_HOME"
_CURES: Final = {
    True: "check the space and the rights there, or delete it (it only holds what past runs "
    "reported), then run again",
    False: "start or restore the database that its dagster.yaml names, or name another folder in "
    "DAGSTER_HOME, then run again",
}


def prepare_home(work: Path) -> Path:
    """Return the home of Dagster, ``DAGSTER_HOME`` or else ``<work>/dagster``; made if need be.

    One that somebody uses already keeps the settings it has.
    """
    given = os.environ.get(_HOME)
    home = expand_home(given).absolute() if given else work.absolute() / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    settings = home / "dagster.yaml"
    if not settings.exists() and not (given and any(home.iterdir())):
        settings.write_text(_SETTINGS, encoding="utf-8")
    return home


@contextmanager
def record_errors(work: Path) -> Iterator[None]:
    """Turn a database of Dagster that cannot be reached or written into :class:`StoreError`."""
    try:
        yield
    except Exception as error:
        causes = list(_causes(error))
        is_file = isinstance(error, OSError) or any(isinstance(c, sqlite3.Error) for c in causes)
        if not is_file and not any(isinstance(cause, DBAPIError) for cause in causes):
            raise
        home = os.environ.get(_HOME) or work / "dagster"
        told = " ".join(str(causes[-1]).split())
        message = f"cannot keep the record of the run in {home}: {told}; {_CURES[is_file]}"
        raise StoreError(message) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it was raised from, unless that is told by one of ours."""
    yield error
    if error.__cause__ is not None and not isinstance(error, CodelakeError):
        yield from _causes(error.__cause__)


def open_instance(work: Path) -> dg.DagsterInstance:
    """Open the instance of ``DAGSTER_HOME`` if that is set, else the one of the store."""
    given = os.environ.get(_HOME)
    os.environ[_HOME] = str(prepare_home(work))
    try:
        return dg.DagsterInstance.get()
    finally:
        # Another store of this process has a home of its own.
        if given:
            os.environ[_HOME] = given
        else:
            del os.environ[_HOME]


def open_passing_instance() -> dg.DagsterInstance:
    """Open an instance that keeps a run for as long as it takes, and reports nothing either."""
    return dg.DagsterInstance.ephemeral(settings={"telemetry": {"enabled": False}})
