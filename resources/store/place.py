"""Where a store lies. What a folder and a bucket do differently is said here, once."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from resources.store.lock import FileLatch, Latch


@dataclass(frozen=True, slots=True)
class Content:
    """What a small file of a store holds.

    Args:
        data: its bytes.
        tag: stands for this state of it, where the place can tell; see :meth:`Place.exchange`.
    """

    data: bytes
    tag: str = ""


class Place(Protocol):
    """Where a store lies: its tables, and small files by name. Its text names it in messages.

    What cannot be read or written raises an ``OSError``.
    """

    @property
    def options(self) -> dict[str, str]:
        """What Lance needs to know to reach the tables; no secret."""

    def prepare(self) -> None:
        """Make the place ready to be written."""

    def table(self, name: str) -> str:
        """Return where Lance finds a table."""

    def has(self, name: str) -> bool:
        """Tell whether there is a file of that name."""

    def read(self, name: str) -> Content | None:
        """Return what a file holds, or None where there is none."""

    def exchange(self, name: str, data: bytes, seen: Content | None) -> Content:
        """Put a file in place of the one that was ``seen``, in one step, and return it.

        Raises:
            ChangedError: another process has written it since, and the place can tell.
        """

    def missing(self, table: str, paths: Iterable[str]) -> list[str]:
        """Return those of the files below a table that are not there, sorted."""

    def remove(self, table: str) -> None:
        """Remove all files of a table."""

    def latch(self) -> Latch:
        """Return what keeps other writers out."""


class ChangedError(OSError):
    """A file is not any more what it was when it was read."""


class FolderPlace:
    """A store in a folder of a file system with ``flock``.

    Args:
        folder: it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder."""
        self.folder = folder
        self.options: dict[str, str] = {}

    def __str__(self) -> str:
        """Return the folder."""
        return str(self.folder)

    def prepare(self) -> None:
        """Make the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def table(self, name: str) -> str:
        """Return the folder of a table."""
        return str(self.folder / f"{name}.lance")

    def has(self, name: str) -> bool:
        """Tell whether there is a file of that name."""
        return (self.folder / name).is_file()

    def read(self, name: str) -> Content | None:
        """Return what a file holds, or None where there is none."""
        with suppress(FileNotFoundError):
            return Content((self.folder / name).read_bytes())
        return None

    def exchange(self, name: str, data: bytes, seen: Content | None) -> Content:
        """Put a file in place in one step; the lock, which dies with its holder, has no race."""
        del seen
        partial = self.folder / f"{name}.partial"
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / name)
        return Content(data)

    def missing(self, table: str, paths: Iterable[str]) -> list[str]:
        """Return those of the files below a table that are not there, sorted."""
        root = Path(self.table(table))
        return sorted({path for path in paths if not (root / path).exists()})

    def remove(self, table: str) -> None:
        """Remove the folder of a table."""
        shutil.rmtree(self.table(table), ignore_errors=True)

    def latch(self) -> Latch:
        """Return a lock that the system lets go of when its holder dies."""
        return FileLatch(self.folder)
