"""Who is told how far a run has come; a run without a listener tells nobody."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Reporter(Protocol):
    """Someone who shows progress: a terminal, a log."""

    def stage(self, name: str, *, total: int | None = None, unit: str = "") -> None:
        """Begin stage ``name`` of ``total`` units, or of an unknown number."""
        ...

    def advance(self, count: int, detail: str = "") -> None:
        """Say that ``count`` more units of the current stage are done."""
        ...


class SilentReporter:
    """Tells nobody."""

    def stage(self, name: str, *, total: int | None = None, unit: str = "") -> None:
        """Do nothing."""

    def advance(self, count: int, detail: str = "") -> None:
        """Do nothing."""


_REPORTER: ContextVar[Reporter | None] = ContextVar("reporter", default=None)


def reporter() -> Reporter:
    """Return who listens to this run."""
    return _REPORTER.get() or SilentReporter()


@contextmanager
def reporting_to(listener: Reporter) -> Iterator[None]:
    """Tell ``listener`` about everything that runs inside the block."""
    token = _REPORTER.set(listener)
    try:
        yield
    finally:
        _REPORTER.reset(token)
