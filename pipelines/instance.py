"""Where Dagster keeps its runs and events: beside the tables unless the user has a home for it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import dagster as dg

from codelake.errors import StoreError

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


def prepare_home(work: Path) -> Path:
    """Make ``<work>/dagster`` a home for Dagster and return it."""
    home = work.absolute() / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    settings = home / "dagster.yaml"
    if not settings.exists():
        settings.write_text(_SETTINGS, encoding="utf-8")
    return home


@contextmanager
def record_errors(work: Path) -> Iterator[None]:
    """Turn a database of Dagster that cannot be read or written into :class:`StoreError`."""
    try:
        yield
    except Exception as error:
        cause = error.__cause__ if isinstance(error.__cause__, sqlite3.Error) else error
        if not isinstance(cause, OSError | sqlite3.Error):
            raise
        home = os.environ.get("DAGSTER_HOME") or work / "dagster"
        message = (
            f"cannot keep the record of the run in {home}: {cause}; check the space and the rights "
            "there, or delete it (it only holds what past runs reported), then run again"
        )
        raise StoreError(message) from error


def open_instance(work: Path) -> dg.DagsterInstance:
    """Open the instance of ``DAGSTER_HOME`` if that is set, else the one of the store."""
    if os.environ.get("DAGSTER_HOME"):
        return dg.DagsterInstance.get()
    os.environ["DAGSTER_HOME"] = str(prepare_home(work))
    try:
        return dg.DagsterInstance.get()
    finally:
        # Another store of this process has a home of its own.
        del os.environ["DAGSTER_HOME"]
