"""What a process costs: CPU seconds and memory, children included."""

import os
import resource
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Seconds between two looks at the memory; a peak shorter than this may be missed.
_INTERVAL: Final = 0.05
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took.

    Args:
        cpu_seconds: user and system time of the command and everything it started.
        peak_megabytes: largest sum of resident memory over its processes, pages that
            processes share counted once (proportional set size).
        output: what it wrote to standard output.
        code: its exit code.
    """

    cpu_seconds: float
    peak_megabytes: float
    output: str
    code: int


@contextmanager
def timed(into: dict[str, float], name: str) -> Iterator[None]:
    """Add the CPU seconds that this process spends in the block to ``into[name]``."""
    start = time.process_time()
    try:
        yield
    finally:
        into[name] = into.get(name, 0.0) + time.process_time() - start


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    return time.process_time() + _children_seconds()


def _children_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def run_measured(command: list[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run ``command`` to its end and say what it cost; standard error passes through."""
    before = _children_seconds()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | dict(environment or {}),
    )
    peak = [0.0]
    is_over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, peak, is_over))
    watcher.start()
    output, _ = process.communicate()
    is_over.set()
    watcher.join()
    return Cost(_children_seconds() - before, peak[0], output, process.returncode)


def folder_megabytes(folder: Path) -> float:
    """Return the size of all files below ``folder``."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / _MEGABYTE


def _watch(root: int, peak: list[float], is_over: threading.Event) -> None:
    while not is_over.wait(_INTERVAL):
        # A child between vfork and exec has the memory of its parent, at the same addresses: once.
        spaces: dict[str, float] = {}
        for pid in _family(root):
            place, size = _resident(pid)
            spaces[place] = max(size, spaces.get(place, 0.0))
        peak[0] = max(peak[0], sum(spaces.values()))


def _family(root: int) -> list[int]:
    """Return ``root`` and all its descendants."""
    found = [root]
    for pid in found:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += [int(word) for word in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def _resident(pid: int) -> tuple[str, float]:
    """Return where the memory of a process lies, and the megabytes of it that are its own."""
    try:
        place, *lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        for line in lines:
            if line.startswith("Pss:"):
                return place, int(line.split()[1]) * 1024 / _MEGABYTE
    except (OSError, ValueError):
        pass  # the process has just ended, or there is no /proc on this system
    return "", 0.0
