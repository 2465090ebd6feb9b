"""Parse in processes that a file cannot hang, crash or fill: time and memory are limited.

The rows do not depend on the number of processes: results come in input order, and a grammar that
stopped is not asked again for the files *after* the one it stopped on, whichever was parsed first.
"""

import contextlib
import mmap
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import BinaryIO, Final, Self, cast

import pyarrow as pa
import pyarrow.compute as pc

from codelake.errors import CodelakeError
from codelake.secrets import find_suspects
from codelake.settings import Settings
from codelake.syntax import File, ParsedFile, ParseOptions, assemble_syntax, parse_options
from resources.parser_faults import GRAMMAR_STOPPED, Fault, find_stops
from resources.parser_worker import (
    IDLE,
    OUT_OF_MEMORY,
    POSITION,
    Task,
    read_message,
    write_message,
)

_TASK_FILES: Final = 64  # files of one task: small enough to spread one batch over the workers
_TASK_BYTES: Final = 4_000_000  # bytes of one task: bounds what a lost worker has to do again
_BASE_MEMORY: Final = 512 * 2**20  # bytes of a worker beyond its start, and for each byte of the
_BYTES_PER_BYTE: Final = (
    192  # largest file: trees of broken input took up to 110 (docs/chunking.md)
)
_MOST_STARTS: Final = 3  # workers that die before their first file: not the files' fault
_WALL_FACTOR: Final = 10  # a worker that sleeps has no CPU deadline; this many times it, at least
_LEAST_WALL: Final = 120.0  # seconds, so that a busy machine does not look like a hang
_NOT_READ: Final = "unreadable"  # skip reason of a file that kills even a worker that only cuts it
_LAST_WORDS: Final = 1.0  # seconds between a worker's closing its pipe and its end
_TICK: Final = 5.0  # seconds between looks at the wall clock
_START: Final = (
    "import os, sys\n"
    "os.environ['OPENBLAS_NUM_THREADS'] = '1'\n"  # each thread of it takes 40 MiB of addresses
    "sys.path[:] = sys.argv[3:]\n"
    "from resources.parser_worker import main\n"
    "main(int(sys.argv[1]), int(sys.argv[2]))\n"
)


@dataclass(eq=False)
class _Work:
    """Some rows of one batch, and what came of them."""

    batch: pa.RecordBatch
    numbers: Sequence[int]
    """Number of each row, counted over all batches."""
    languages: list[str]
    sizes: list[int]
    skips: list[str]
    suspects: list[bool]
    sent: list[str] = field(default_factory=list)
    parsed: list[ParsedFile] | None = None


class _Worker:
    """One process and the work it has."""

    def __init__(self, memory_bytes: int) -> None:
        with tempfile.TemporaryFile() as file:
            file.truncate(POSITION.size)
            self._place = mmap.mmap(file.fileno(), POSITION.size)
            POSITION.pack_into(self._place, 0, IDLE)
            shared = file.fileno()
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, str(shared), str(memory_bytes), *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(shared,),
                process_group=0,
            )
        assert self.process.stdin is not None  # noqa: S101 - both are pipes, mypy cannot know
        assert self.process.stdout is not None  # noqa: S101 - the same
        self.tasks, self.results = self.process.stdin, self.process.stdout
        self.work: _Work | None = None
        self._seen = (IDLE, time.monotonic())

    def send(self, work: _Work, task: Task) -> None:
        self.work = work
        self._seen = (IDLE, time.monotonic())
        with contextlib.suppress(BrokenPipeError):  # it died; reading from it will say so
            write_message(cast("BinaryIO", self.tasks), task)

    def current(self) -> int:
        (row,) = POSITION.unpack_from(self._place, 0)
        return int(row)

    def is_stuck(self, seconds: float) -> bool:
        """Tell whether it has been on one file for more than ``seconds`` of wall time."""
        row, now = self.current(), time.monotonic()
        if row != self._seen[0]:
            self._seen = (row, now)
        return now - self._seen[1] > seconds

    def end(self) -> int:
        """Make sure the process is gone and return how it ended, by itself or by us."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=0 if self.work is None else _LAST_WORDS)
        self.process.kill()
        self.process.wait()
        for stream in (self.tasks, self.results):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self._place.close()
        return self.process.returncode


class ParserPool:
    """Worker processes that turn batches of files into batches of syntax rows."""

    def __init__(self, workers: int, settings: Settings) -> None:
        """Prepare a pool; processes start with the first work, as many as there is work for.

        Args:
            workers: processes; 0 for one a core.
            settings: what decides the rows, the deadline and the memory limit.
        """
        self._count = workers or os.cpu_count() or 1
        self._options: ParseOptions = parse_options(settings)
        self._seconds = settings.chunking.parse_seconds
        self._memory = _BASE_MEMORY + _BYTES_PER_BYTE * settings.files.max_bytes
        self._workers: list[_Worker] = []
        self.faults: dict[int, Fault] = {}
        self._idle_deaths = 0

    def __enter__(self) -> Self:
        """Return the pool."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process."""
        self.close()

    def close(self) -> None:
        """End every process at once; nothing they hold is needed any more."""
        while self._workers:
            self._workers.pop().end()

    def process_ids(self) -> list[int]:
        """Return the ids of the processes that run."""
        return [worker.process.pid for worker in self._workers]

    def map(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the syntax rows of each batch, in order; few batches are held at a time."""
        return self.map_numbered(_numbered(batches))

    def map_numbered(
        self, batches: Iterable[tuple[Sequence[int], pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        """Do so for rows whose numbers are given: some of a run whose other rows are elsewhere."""
        source = iter(batches)
        waiting: deque[tuple[pa.RecordBatch, list[_Work]]] = deque()
        is_exhausted = False
        while True:
            while not is_exhausted and self._wants_more(waiting):
                numbers, batch = next(source, (None, None))
                if numbers is None:
                    is_exhausted = True
                    break
                waiting.append((batch, _split(batch, numbers)))
            if not waiting:
                return
            self._check(waiting[0][1])
            if all(work.parsed is not None for work in waiting[0][1]):
                batch, done = waiting.popleft()
                yield assemble_syntax(batch, [row for work in done for row in work.parsed or ()])
                continue
            self._give([work for _, works in waiting for work in works])
            self._wait()

    def _wants_more(self, waiting: deque[tuple[pa.RecordBatch, list[_Work]]]) -> bool:
        """Keep each worker and one task more busy, without reading far ahead of a slow batch."""
        undone = sum(work.parsed is None for _, works in waiting for work in works)
        return len(waiting) <= self._count and undone <= self._count

    def _give(self, works: list[_Work]) -> None:
        """Give work to idle workers, starting one where all are busy and there may be more."""
        taken = {id(worker.work) for worker in self._workers}
        for work in works:
            if work.parsed is not None or id(work) in taken:
                continue
            worker = next((w for w in self._workers if w.work is None), None)
            if worker is None and len(self._workers) < self._count:
                worker = _Worker(self._memory)
                self._workers.append(worker)
            if worker is None:
                return
            work.sent = self._withouts(work)
            worker.send(work, self._task(work))

    def _task(self, work: _Work) -> Task:
        columns = (work.batch.column(name).to_pylist() for name in ("content", "path"))
        rows = zip(*columns, work.languages, work.sent, work.suspects, strict=True)
        return Task([File(*row) for row in rows], self._options, self._seconds)

    def _wait(self) -> None:
        """Read what workers have done, or notice that one died or sleeps."""
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                if worker.work is not None:
                    selector.register(worker.results, selectors.EVENT_READ, worker)
            ready = [cast("_Worker", key.data) for key, _ in selector.select(_TICK)]
        for worker in ready:
            message = read_message(cast("BinaryIO", worker.results))
            if message is None:
                self._bury(worker)
            else:
                assert worker.work is not None  # noqa: S101 - only busy workers are waited for
                worker.work.parsed = cast("list[ParsedFile]", message)
                worker.work = None
                self._idle_deaths = 0
        wall = max(_LEAST_WALL, _WALL_FACTOR * self._seconds)
        for worker in [w for w in self._workers if w.work is not None and w.is_stuck(wall)]:
            self._bury(worker)

    def _bury(self, worker: _Worker) -> None:
        """Note what a dead worker was at; its work is given out again without that."""
        row = worker.current()
        code = worker.end()
        self._workers.remove(worker)
        work = worker.work
        if work is None or not 0 <= row < len(work.languages):
            self._idle_deaths += 1
            if self._idle_deaths >= _MOST_STARTS:
                message = f"parser processes end as they start (exit code {code}); see above"
                raise CodelakeError(message)
            return
        language, size = work.languages[row], work.sizes[row]
        is_fatal = bool(work.sent[row])
        self.faults[work.numbers[row]] = Fault(_reason(code), language, size, is_fatal)

    def _check(self, works: list[_Work]) -> None:
        """Drop results that a fault noticed later makes wrong: it was earlier in the input."""
        for work in works:
            if work.parsed is not None and work.sent != self._withouts(work):
                work.parsed = None

    def _withouts(self, work: _Work) -> list[str]:
        """Return for each file why it is not to be parsed or read, empty where it is."""
        stops = find_stops(self.faults)
        found = []
        for number, language, skip in zip(work.numbers, work.languages, work.skips, strict=True):
            fault = self.faults.get(number)
            if skip or (fault and fault.is_fatal):
                found.append(skip or _NOT_READ)
            elif stops.get(language, number) < number:
                found.append(GRAMMAR_STOPPED)
            else:
                found.append(fault.reason if fault else "")
        return found


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[range, pa.RecordBatch]]:
    first = 0
    for batch in batches:
        yield range(first, first + batch.num_rows), batch
        first += batch.num_rows


def _split(batch: pa.RecordBatch, numbers: Sequence[int]) -> list[_Work]:
    """Cut a batch into works of bounded size."""
    languages = batch.column("language").to_pylist()
    sizes = pc.binary_length(batch.column("content")).to_pylist()
    skips = batch.column("skip_reason").to_pylist()
    # Here and not in a worker: it takes Arrow, and one pass over a batch is what makes it cheap.
    suspects = find_suspects(batch.column("content"), batch.column("path"))
    works = []
    start = 0
    while start < batch.num_rows:
        end, size = start, 0
        while end < batch.num_rows and end - start < _TASK_FILES and size <= _TASK_BYTES:
            size += sizes[end]
            end += 1
        rows = batch.slice(start, end - start)
        part = slice(start, end)
        facts = (languages[part], sizes[part], skips[part], suspects[part])
        works.append(_Work(rows, numbers[part], *facts))
        start = end
    return works


def _reason(code: int) -> str:
    if code in {-signal.SIGPROF, -signal.SIGKILL}:
        return "timeout"
    return "memory" if code == OUT_OF_MEMORY else "crash"
