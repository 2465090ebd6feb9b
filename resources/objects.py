"""The objects of a git repository, read without its configuration."""

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from codelake.paths import path_from_bytes
from codelake.selection import Entry
from resources.git import kill_git, local_environment, run_git, start_git

# Object names sent ahead of the answers: 64 names of 65 bytes fit the smallest pipe buffer
# (16 KiB), so neither side can wait for the other for ever.
_WINDOW: Final = 64
_SHA256_DIGITS: Final = 64


@contextmanager
def empty_git_directory(objects: Path | None, object_format: str) -> Iterator[dict[str, str]]:
    """Make an empty git directory that may borrow ``objects``; give the environment to use it.

    Neither configuration nor hooks, attributes or promisor remotes of the repository are seen.
    """
    with tempfile.TemporaryDirectory(prefix="codelake-git-") as folder:
        place = Path(folder)
        (place / "objects").mkdir()
        (place / "refs").mkdir()
        (place / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
        version = "1\n[extensions]\nobjectFormat = sha256" if object_format == "sha256" else "0"
        config = f"[core]\nbare = true\nrepositoryFormatVersion = {version}\n"
        (place / "config").write_text(config, encoding="ascii")
        borrowed = {} if objects is None else {"GIT_OBJECT_DIRECTORY": str(objects)}
        yield local_environment(GIT_DIR=folder, **borrowed)


def object_format(commit: str) -> str:
    """Return the hash a repository uses, told by the length of a commit's name."""
    return "sha256" if len(commit) == _SHA256_DIGITS else "sha1"


class Objects:
    """Reads trees and blobs; a context manager that holds at most two git processes."""

    def __init__(
        self,
        common_directory: Path,
        commit: str,
        fetch_missing: Callable[[Sequence[str]], None] | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """Prepare to read what ``commit`` of the repository holds.

        ``fetch_missing`` gets the blobs that are to be read and are not there yet, ``sizes`` are
        those of blobs that are listed and were never kept.
        """
        self._fetch_missing = fetch_missing
        self._sizes = sizes or {}
        self._objects = common_directory / "objects"
        self._commit = commit
        self._stack = ExitStack()
        self._environment: Mapping[str, str] = {}
        self._processes: dict[str, _CatFile] = {}

    def __enter__(self) -> Self:
        """Make the borrowed git directory."""
        fence = empty_git_directory(self._objects, object_format(self._commit))
        self._environment = self._stack.enter_context(fence)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the processes and remove the directory."""
        self._stack.close()

    def entries(self) -> list[Entry]:
        """Return every file, link and submodule of the commit in the order of their bytes.

        Raises:
            GitError: the commit or one of its trees cannot be read.
        """
        listing = run_git(
            ["ls-tree", "-r", "-z", "--full-tree", self._commit], environment=self._environment
        )
        found: dict[bytes, Entry] = {}  # a crafted tree can hold a name twice: the first counts
        for record in listing.split(b"\0")[:-1]:
            facts, name = record.split(b"\t", 1)
            mode, _, blob_id = facts.decode("ascii").split(" ")
            found.setdefault(name, Entry(path_from_bytes(name), mode, blob_id))
        return list(found.values())

    def sizes(self, entries: Sequence[Entry]) -> Iterator[int | None]:
        """Yield the size of each blob in bytes, ``None`` for one that cannot be read.

        Raises:
            SourceError: blobs that have to be fetched first cannot be.
        """
        self._complete(entries)
        for entry, answer in zip(entries, self._ask("--batch-check", entries), strict=True):
            yield answer[0] if answer else self._sizes.get(entry.blob_id)

    def contents(self, entries: Sequence[Entry]) -> Iterator[bytes | None]:
        """Yield the content of each blob, ``None`` for one that cannot be read.

        Raises:
            SourceError: as above.
        """
        self._complete(entries)
        for answer in self._ask("--batch", entries):
            yield answer[1] if answer else None

    def is_same(self, entry: Entry, content: bytes) -> bool:  # noqa: ARG002 # files on disk differ
        """Say yes: an object never changes."""
        return True

    def _complete(self, entries: Sequence[Entry]) -> None:
        if self._fetch_missing is None:
            return
        sizes = zip(entries, self._ask("--batch-check", entries), strict=True)
        missing = sorted({entry.blob_id for entry, answer in sizes if answer is None})
        if missing:
            self._fetch_missing(missing)

    def _ask(self, option: str, entries: Sequence[Entry]) -> Iterator[tuple[int, bytes] | None]:
        if option not in self._processes:
            process = _CatFile(option, self._environment)
            self._processes[option] = self._stack.enter_context(process)
        return self._processes[option].ask([entry.blob_id for entry in entries])


class _CatFile:
    """One ``git cat-file`` process, started anew after an object that killed it."""

    def __init__(self, option: str, environment: Mapping[str, str]) -> None:
        self._option = option
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def ask(self, blob_ids: Sequence[str]) -> Iterator[tuple[int, bytes] | None]:
        """Yield size and content (empty for a check) of each object, ``None`` if unreadable."""
        start = 0
        while start < len(blob_ids):
            window = blob_ids[start : start + _WINDOW]
            output = self._send(window)
            unread = len(window)
            try:
                for _ in window:
                    start += 1
                    answer = self._receive(output)
                    unread -= 1
                    yield answer
                    if answer is None and self._process is None:
                        break  # git died on a damaged object: the rest is asked again
            finally:
                if unread and self._process is not None:
                    self._stop()  # nobody wants the other answers, and they are on their way

    def _send(self, window: Sequence[str]) -> IO[bytes]:
        if self._process is None:
            self._process = start_git(
                ["cat-file", self._option], self._environment, error=subprocess.DEVNULL
            )
        assert self._process.stdin is not None  # noqa: S101 # pipes are always asked for
        assert self._process.stdout is not None  # noqa: S101 # as above
        with contextlib.suppress(BrokenPipeError):  # git has died: reading says so
            self._process.stdin.write("".join(f"{blob_id}\n" for blob_id in window).encode())
            self._process.stdin.flush()
        return self._process.stdout

    def _receive(self, output: IO[bytes]) -> tuple[int, bytes] | None:
        header = output.readline().split()
        if len(header) == 2 and header[1] == b"missing":  # noqa: PLR2004 # "<name> missing"
            return None
        if len(header) != 3 or header[1] != b"blob":  # noqa: PLR2004 # "<name> blob <size>"
            self._stop()
            return None
        size = int(header[2])
        if self._option == "--batch-check":
            return size, b""
        content = output.read(size)
        if len(content) != size or output.read(1) != b"\n":
            self._stop()
            return None
        return size, content

    def _stop(self) -> None:
        if self._process is not None:
            kill_git(self._process)
        self._process = None
