"""Files on disk: a checkout with what is not committed yet, or a plain folder.

Git lists them, since git knows what is ignored; they are opened part by part without following
a link, so a link swapped in between cannot lead out of the folder.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from codelake.errors import SourceError
from codelake.paths import path_from_bytes, path_to_bytes
from codelake.selection import Entry
from resources.git import GitError, Head, network_environment, run_git
from resources.objects import empty_git_directory

_LINK: Final = "120000"
_REPOSITORY: Final = "160000"  # the only folders git lists are other repositories
_FILE: Final = "100644"
_UNREADABLE: Final = ""  # blob id of what cannot be read
_PIECE: Final = 1 << 20  # bytes hashed at a time, so that a large file does not fill memory
# A pipe does not block, a terminal does not become ours, a link is an error.
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def list_files(work_tree: Path, head: Head | None) -> list[bytes]:
    """Return tracked files and untracked ones that are not ignored, as git names them.

    A clone that lies inside is named once, with a ``/`` at its end. The repository's own
    configuration is not read: a ``core.worktree`` in it could point anywhere.

    Args:
        work_tree: the folder the files lie in.
        head: of the repository; ``None`` for a plain folder.

    Raises:
        GitError: the index cannot be read.
    """
    listing = ["-C", str(work_tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    excludes = [_global_excludes()]
    with _borrowing(head) as environment:
        environment["GIT_WORK_TREE"] = str(work_tree)
        if head is not None:
            excludes.append(head.common_directory / "info" / "exclude")
        listing += [f"--exclude-from={path}" for path in excludes if path and path.is_file()]
        return sorted(set(run_git(listing, environment=environment).split(b"\0")[:-1]))


def list_submodules(head: Head) -> list[bytes]:
    """Return the names of the submodules that the index knows.

    Raises:
        GitError: the index cannot be read.
    """
    with _borrowing(head) as environment:
        records = run_git(["ls-files", "-z", "--stage"], environment=environment).split(b"\0")
    mark = _REPOSITORY.encode() + b" "
    return [record.split(b"\t", 1)[1] for record in records if record.startswith(mark)]


@contextmanager
def _borrowing(head: Head | None) -> Iterator[dict[str, str]]:
    """Give the environment of an empty git directory with the index of a checkout."""
    objects = head.common_directory / "objects" if head else None
    with empty_git_directory(objects, head.object_format if head else "sha1") as environment:
        if head is not None:
            environment["GIT_INDEX_FILE"] = str(head.git_directory / "index")
        yield environment


@cache
def _global_excludes() -> Path | None:
    question = ["config", "--global", "--includes", "--type=path", "--get", "core.excludesFile"]
    try:
        named = os.fsdecode(run_git(question, environment=network_environment({}))).strip()
    except GitError:  # not set: git's own default place
        base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        named = f"{base}/git/ignore"
    with suppress(RuntimeError):  # no home folder
        return Path(named).expanduser()
    return None


class WorkingTree:
    """Reads the files of a folder; a context manager that holds one open folder."""

    def __init__(self, folder: Path, head: Head | None, *, hidden: Path) -> None:
        """Prepare to read a checkout, or a plain folder without ``head``.

        Nothing below ``hidden``, the store, belongs to it.
        """
        self._folder = folder
        self._head = head
        self._object_format = head.object_format if head else "sha1"
        self._hidden = os.fsencode(hidden)
        self._root = -1

    def __enter__(self) -> Self:
        """Open the folder.

        Raises:
            SourceError: it is gone or not ours to read.
        """
        try:
            self._root = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            message = f"cannot open its folder: {error.strerror}; check that it is still there"
            raise SourceError(message) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the folder."""
        os.close(self._root)

    def entries(self) -> list[Entry]:
        """Return every file, link and inner repository, with the hash git would give it.

        Raises:
            GitError: git cannot list the folder.
        """
        names = list_files(self._folder, self._head)
        base = os.fsencode(self._folder) + b"/"
        shown = [name for name in names if not self._is_hidden(base + name)]
        return [entry for name in shown if (entry := self._entry(name)) is not None]

    def _is_hidden(self, place: bytes) -> bool:
        return place == self._hidden or place.startswith(self._hidden + b"/")

    def _entry(self, name: bytes) -> Entry | None:
        path = path_from_bytes(name.rstrip(b"/"))
        try:
            with self._parent(name.rstrip(b"/")) as (folder, last):
                mode = os.lstat(last, dir_fd=folder).st_mode
                if stat.S_ISLNK(mode):
                    target = os.readlink(last, dir_fd=folder)
                    return Entry(path, _LINK, self._hash(len(target), iter([target])))
        except FileNotFoundError:  # tracked and deleted, or outside a sparse checkout
            return None
        except OSError:
            return Entry(path, _FILE, _UNREADABLE)
        if stat.S_ISDIR(mode):
            return Entry(path, _REPOSITORY, _UNREADABLE)
        return Entry(path, _FILE, self._hash_file(name))

    def _hash_file(self, name: bytes) -> str:
        try:
            with self._open(name) as file:
                size = os.fstat(file).st_size
                pieces = iter(lambda: os.read(file, _PIECE), b"")
                return self._hash(size, pieces)
        except OSError:
            return _UNREADABLE

    def _hash(self, size: int, pieces: Iterator[bytes]) -> str:
        digest = hashlib.new(self._object_format, b"blob %d\0" % size, usedforsecurity=False)
        for piece in pieces:
            digest.update(piece)
        return digest.hexdigest()

    def sizes(self, entries: Sequence[Entry]) -> Iterator[int | None]:
        """Yield the size of each file in bytes, ``None`` for one that cannot be read."""
        for entry in entries:
            try:
                with self._open(path_to_bytes(entry.path)) as file:
                    size = os.fstat(file).st_size
            except OSError:
                yield None
            else:
                yield size

    def contents(self, entries: Sequence[Entry]) -> Iterator[bytes | None]:
        """Yield the content of each file, ``None`` for one that cannot be read."""
        for entry in entries:
            try:
                with self._open(path_to_bytes(entry.path)) as file:
                    # What is appended meanwhile belongs to the next run.
                    left = os.fstat(file).st_size
                    content = b"".join(iter(lambda: os.read(file, _PIECE), b""))[:left]
            except OSError:
                yield None
            else:
                yield content

    def is_same(self, entry: Entry, content: bytes) -> bool:
        """Say whether ``content`` is what stood there when ``entry`` was listed."""
        return self._hash(len(content), iter([content])) == entry.blob_id

    @contextmanager
    def _open(self, name: bytes) -> Iterator[int]:
        with self._parent(name) as (folder, last):
            file = os.open(last, _FLAGS, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                message = "not a regular file"
                raise OSError(message)
            yield file
        finally:
            os.close(file)

    @contextmanager
    def _parent(self, name: bytes) -> Iterator[tuple[int, bytes]]:
        """Open the folders of ``name`` one after another and give the last one's descriptor."""
        *parts, last = name.split(b"/")
        if {b"", b".", b".."} & {*parts, last}:
            message = "not a path inside the folder"
            raise OSError(message)
        folder = os.dup(self._root)
        try:
            for part in parts:
                inner = os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder, last
        finally:
            os.close(folder)
