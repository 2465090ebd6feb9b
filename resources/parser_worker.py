"""The process that parses: reads tasks from standard input, writes results to standard output.

The kernel ends it when one file takes more CPU time than allowed, even inside a grammar that never
returns; which file that was stands in memory shared with the parent.
"""

import contextlib
import gc
import mmap
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from typing import BinaryIO, Final, NamedTuple

from codelake.syntax import File, ParsedFile, ParseOptions, parse_files

LENGTH: Final = struct.Struct("<Q")
POSITION: Final = struct.Struct("<q")
IDLE: Final = -1
OUT_OF_MEMORY: Final = 77  # exit code


class Task(NamedTuple):
    """Files to parse, in order."""

    files: Sequence[File]
    options: ParseOptions
    seconds: float


def write_message(stream: BinaryIO, message: object) -> None:
    """Write one message that :func:`read_message` reads."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_message(stream: BinaryIO) -> object:
    """Read one message; None at the end of the stream, wherever it comes."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(header)
    data = stream.read(length)
    return pickle.loads(data) if len(data) == length else None  # noqa: S301 - from our own process


def main(shared: int, memory_bytes: int) -> None:
    """Parse tasks until standard input ends, as it does when the parent dies.

    Args:
        shared: file descriptor of the memory that holds the number of the current file.
        memory_bytes: address space the process may take beyond what it has at the start.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    _limit_memory(memory_bytes)
    gc.disable()  # a task makes many objects and no cycles to speak of: once a task is enough
    gc.freeze()
    place = mmap.mmap(shared, POSITION.size)
    results = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing but results may reach the parent's pipe
    while True:
        task = read_message(sys.stdin.buffer)
        if not isinstance(task, Task):
            return
        try:
            write_message(results, _parse(task, place))
        except MemoryError:
            sys.exit(OUT_OF_MEMORY)
        except BrokenPipeError:
            return


def _parse(task: Task, place: mmap.mmap) -> list[ParsedFile]:
    def mark(number: int) -> None:
        POSITION.pack_into(place, 0, number)
        # SIGPROF is not handled: its default ends the process, whatever C code it is in.
        signal.setitimer(signal.ITIMER_PROF, task.seconds)

    parsed = parse_files(task.files, task.options, mark)
    signal.setitimer(signal.ITIMER_PROF, 0)
    POSITION.pack_into(place, 0, IDLE)
    gc.collect()
    return parsed


def _limit_memory(memory_bytes: int) -> None:
    used = resource.RLIM_INFINITY
    with contextlib.suppress(OSError, ValueError):  # no /proc, no such limit: go without
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - a Path would import more
            used = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory_bytes, used + memory_bytes))
