"""Show the progress of a run: a live display on a terminal, plain lines elsewhere."""

import sys
import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

_LINE_SECONDS: Final = 5.0  # a log that a person reads wants no line more often
_SHORT_RUN: Final = 0.2  # seconds below which a rate is noise


class RateColumn(ProgressColumn):
    """Units a second."""

    def render(self, task: Task) -> Text:
        """Return the rate of ``task``, or nothing before there is one."""
        if not task.finished_speed and not task.speed:
            return Text("")
        unit = task.fields.get("unit", "")
        return Text(f"{task.finished_speed or task.speed:,.0f} {unit}/s", style="dim")


class LiveReporter:
    """A bar a stage, with rate and time left."""

    def __init__(self, console: Console) -> None:
        """Draw on ``console``."""
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<16}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            RateColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[detail]}", style="dim"),
            console=console,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        """Start to draw."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the last bar and stop drawing."""
        self._finish()
        self._progress.stop()

    def stage(self, name: str, *, total: int | None = None, unit: str = "") -> None:
        """Begin a bar."""
        self._finish()
        self._task = self._progress.add_task(name, total=total, unit=unit, detail="")

    def advance(self, count: int, detail: str = "") -> None:
        """Move the current bar."""
        if self._task is not None:
            self._progress.update(self._task, advance=count, detail=detail)

    def _finish(self) -> None:
        if self._task is None:
            return
        task = self._progress.tasks[self._task]
        self._progress.update(self._task, total=task.completed, detail="")
        self._progress.stop_task(self._task)


class LineReporter:
    """A line when a stage begins and every few seconds while it lasts."""

    def __init__(self) -> None:
        """Write to standard error."""
        self._name = self._unit = ""
        self._total: int | None = None
        self._done = 0
        self._began = self._told = 0.0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Tell how far the last stage came."""
        self._tell()

    def stage(self, name: str, *, total: int | None = None, unit: str = "") -> None:
        """Close the stage before and begin the next."""
        self._tell()
        self._name, self._total, self._unit, self._done = name, total, unit, 0
        self._began = self._told = time.monotonic()

    def advance(self, count: int, detail: str = "") -> None:  # noqa: ARG002 # live display only
        """Count, and write a line if the last one is old."""
        self._done += count
        if time.monotonic() - self._told >= _LINE_SECONDS:
            self._tell()

    def _tell(self) -> None:
        if not self._name or not self._done:
            return
        self._told = time.monotonic()
        seconds = self._told - self._began
        rate = self._done / seconds if seconds > _SHORT_RUN else 0.0
        text = f"{self._name}: {self._done:,}"
        if self._total:
            text += f" of {self._total:,}"
        text += f" {self._unit}, {seconds:.0f} s"
        if rate:
            text += f", {rate:,.0f} {self._unit}/s"
        if rate and self._total and self._total > self._done:
            text += f", {(self._total - self._done) / rate:,.0f} s left"
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def open_reporter(console: Console) -> LiveReporter | LineReporter:
    """Return the display that suits standard error."""
    return LiveReporter(console) if console.is_terminal else LineReporter()
