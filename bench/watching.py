"""Live mode: seconds from a save to a hit, and what an update costs.

A repository of small files is watched while one is saved, a branch is switched and ignored files
are written. ``CODELAKE_BENCH_FILES`` says how many there are, 2,000 by default, and
``CODELAKE_BENCH_EMBEDDER`` with which embedder.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench.figures import Figure
from bench.trees import Source

_LINES: Final = 12  # of a file
_SAVES: Final = 3
_MAIN: Final = "from pipelines.command_line import main; main()"
_GIT: Final = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class _Watch:
    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", _MAIN, "watch", str(folder / "app"), "--json"]
        command += ["--store", str(folder / "store")]
        command += ["--embedder", os.environ.get("CODELAKE_BENCH_EMBEDDER", "minilm")]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def next(self, name: str) -> dict[str, Any]:
        """Wait for the next event, which is to be of this name."""
        line = self._process.stdout.readline() if self._process.stdout else ""
        event: dict[str, Any] = json.loads(line)
        if event["event"] != name:
            raise RuntimeError(str(event))
        return event

    def cpu_seconds(self) -> float:
        """Return what it and its workers have spent so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8").rpartition(")")[2]
        return sum(map(int, fields.split()[11:15])) / _TICKS

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


def measure(sources: list[Source]) -> list[Figure]:
    """Watch a repository that is cut out of ``sources``."""
    count = int(os.environ.get("CODELAKE_BENCH_FILES", "2000"))
    with tempfile.TemporaryDirectory(prefix="codelake-watching-") as name:
        folder = Path(name)
        _make(folder / "app", sources, count)
        watch = _Watch(folder)
        try:
            watch.next("watching")
            watch.next("updated")
            figures = [Figure("the first update", watch.cpu_seconds(), "CPU s")]
            figures += _saved(folder / "app", watch)
            return figures + _switched(folder / "app", watch, count)
        finally:
            watch.end()


def _make(place: Path, sources: list[Source], count: int) -> None:
    """Commit files on ``main`` with a line more than on ``other``."""
    texts = [s.content.decode("utf-8", "replace") for s in sources if s.language == "python"]
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    place.mkdir()
    _git(place, "init", "-q", "-b", "other")
    (place / ".gitignore").write_text("*.log\n", "utf-8")
    for branch in ("other", "main"):
        for number in range(count):
            start = number * _LINES % (len(lines) - _LINES)
            text = "".join(lines[start : start + _LINES])
            file = place / f"part{number % 40}" / f"file{number}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"# {number} of {branch}\n{text}", "utf-8")
        _git(place, "add", "-A")
        _git(place, "commit", "-q", "-m", branch)
        if branch == "other":
            _git(place, "checkout", "-q", "-b", "main")


def _git(place: Path, *words: str) -> None:
    subprocess.run([*_GIT, *words], cwd=place, check=True)


def _saved(place: Path, watch: _Watch) -> list[Figure]:
    seconds, spent = [], watch.cpu_seconds()
    for number in range(_SAVES):
        file, began = place / "part0" / "file0.py", time.monotonic()
        file.write_text(f"def saved_{number}():\n    return {number}\n", "utf-8")
        watch.next("updated")
        seconds.append(time.monotonic() - began)
    cost = (watch.cpu_seconds() - spent) / _SAVES
    spent = watch.cpu_seconds()
    for number in range(100):
        (place / f"noise{number}.log").write_text("noise\n", "utf-8")
    _git(place, "status", "-s")
    file.write_text("def after_noise():\n    return 1\n", "utf-8")
    watch.next("updated")
    return [
        Figure("from a save until it is found", sorted(seconds)[_SAVES // 2], "s of wall time"),
        Figure("a save", cost, "CPU s"),
        Figure("a save and a hundred ignored files", watch.cpu_seconds() - spent, "CPU s"),
    ]


def _switched(place: Path, watch: _Watch, count: int) -> list[Figure]:
    _git(place, "checkout", "-q", "-f", "other")
    began, spent = time.monotonic(), watch.cpu_seconds()
    event = watch.next("updated")
    seconds, cost = time.monotonic() - began, watch.cpu_seconds() - spent
    if event["chunks"]["added"] + event["chunks"]["modified"] < count:
        message = f"the switch was not one update: {event['chunks']}"
        raise RuntimeError(message)
    stages = event["seconds"]
    return [
        Figure(f"a switch of {count:,} files, one update", cost, "CPU s"),
        Figure("  of it until words find it", _until_words(stages), "s of wall time"),
        Figure("  until vectors find it", seconds, "s of wall time"),
    ]


def _until_words(stages: dict[str, float]) -> float:
    order = list(stages)
    return sum(stages[name] for name in order[: order.index("word_indexes") + 1])
