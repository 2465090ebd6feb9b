"""One writer at a time: a right that does not outlive its holder."""

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final, Protocol

from codelake.errors import BusyError
from resources.store.errors import store_errors

LOCK_FILE: Final = "writer.lock"
_BRIEF_SECONDS: Final = 600.0  # waited for a holder that said it would not be long


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as it signed; what it says is not trusted.

    Args:
        name: words for a message.
        is_brief: whether it said that it would not be long.
    """

    name: str
    is_brief: bool = False

    @classmethod
    def read(cls, signed: str | bytes) -> "Holder":
        """Return who signed so."""
        try:
            told = json.loads(signed)
            name = f"process {told['pid']} on {told['host']} since {told['since']}"
            return cls(name, bool(told.get("brief")))
        except (ValueError, KeyError, TypeError):
            return cls("another process")


class Latch(Protocol):
    """What keeps other processes out, however the holder ends."""

    @property
    def poll_seconds(self) -> float:
        """How long to wait between two tries."""

    def take(self, *, is_brief: bool) -> Holder | None:
        """Take it, or return who holds it; None if this process does now."""

    def check(self) -> None:
        """Make sure that it is still held.

        Raises:
            StoreError: it was lost.
        """

    def give_back(self) -> None:
        """Let others take it."""


class WriterLock:
    """The right to write to a store, held by one process at a time.

    The holder may take it again, from any thread; it is given back with the last release.

    Args:
        place: the store, for messages.
        latch: what keeps other processes out.
        prepare: called by whoever takes the lock first, before anyone holds it.
    """

    def __init__(self, place: object, latch: Latch, prepare: Callable[[], None]) -> None:
        """Take nothing yet."""
        self._place = place
        self._latch = latch
        self._prepare = prepare
        self._guard = threading.RLock()
        self._depth = 0

    @contextmanager
    def held(self, *, wait_seconds: float = 0.0, is_brief: bool = False) -> Iterator[None]:
        """Hold the lock.

        Args:
            wait_seconds: how long to wait for another holder before giving up; longer for one
                that is brief.
            is_brief: it will not be held for long; others wait for it.

        Raises:
            BusyError: another process holds it; the message says which and since when.
        """
        self._take(wait_seconds, is_brief=is_brief)
        try:
            yield
        finally:
            self._release()

    def check(self) -> None:
        """Make sure, before something is committed, that the lock is still held.

        Raises:
            StoreError: it was lost; nothing may be written any more.
        """
        with store_errors(self._place, "renew the writer's lock"):
            self._latch.check()

    def _take(self, wait_seconds: float, *, is_brief: bool) -> None:
        with self._guard:
            if self._depth == 0:
                self._wait(time.monotonic() + wait_seconds, is_brief=is_brief)
                try:
                    self._prepare()
                except BaseException:
                    self._latch.give_back()
                    raise
            self._depth += 1

    def _release(self) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth == 0:
                self._latch.give_back()

    def _wait(self, deadline: float, *, is_brief: bool) -> None:
        while True:
            with store_errors(self._place, "take the writer's lock"):
                holder = self._latch.take(is_brief=is_brief)
            if holder is None:
                return
            patience = _BRIEF_SECONDS if holder.is_brief else 0.0
            if time.monotonic() >= deadline + patience:
                message = (
                    f"the store {self._place} is being written by {holder.name}; "
                    "wait for that run to end, or stop it"
                )
                raise BusyError(message)
            time.sleep(self._latch.poll_seconds)


class FileLatch:
    """A file with a ``flock``: the system lets go of it when its holder dies, however it dies.

    The file stays and means nothing.

    Args:
        folder: the store.
    """

    poll_seconds = 0.2

    def __init__(self, folder: Path) -> None:
        """Name the file."""
        self._folder = folder
        self._file: IO[str] | None = None

    def take(self, *, is_brief: bool) -> Holder | None:
        """Take the lock, or return who has it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        # "a+" neither truncates what the holder wrote nor asks that the file exists
        file = (self._folder / LOCK_FILE).open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                file.seek(0)
                return Holder.read(file.read())
        file.seek(0)
        file.truncate()
        json.dump(signature(is_brief=is_brief), file)
        file.flush()
        self._file = file
        return None

    def check(self) -> None:
        """Nothing but the end of this process takes it away."""

    def give_back(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def signature(*, is_brief: bool) -> dict[str, object]:
    """Return what a holder writes of itself."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"pid": os.getpid(), "host": socket.gethostname(), "since": started}
    return {**told, "brief": is_brief}
