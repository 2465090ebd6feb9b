"""One writer at a time: a lock that the system lets go of when its holder dies."""

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from codelake.errors import StoreError
from resources.store.errors import store_errors

_FILE: Final = "writer.lock"
_POLL_SECONDS: Final = 0.2


class WriterLock:
    """The right to write to a store, held by one process at a time.

    The holder may take it again, from any thread; it is given back with the last release. The
    system releases it when the process ends, however it ends; the file stays and means nothing.

    Args:
        folder: the store.
        prepare: called by whoever takes the lock first, before anyone holds it.
    """

    def __init__(self, folder: Path, prepare: Callable[[], None]) -> None:
        """Take nothing yet."""
        self._prepare = prepare
        self._path = folder / _FILE
        self._guard = threading.RLock()
        self._file: IO[str] | None = None
        self._depth = 0

    @contextmanager
    def held(self, *, wait_seconds: float = 0.0) -> Iterator[None]:
        """Hold the lock.

        Args:
            wait_seconds: how long to wait for another holder before giving up.

        Raises:
            StoreError: another process holds it; the message says which and since when.
        """
        self._take(wait_seconds)
        try:
            yield
        finally:
            self._release()

    def _take(self, wait_seconds: float) -> None:
        with self._guard:
            if self._depth == 0:
                file = self._locked_file(time.monotonic() + wait_seconds)
                try:
                    self._prepare()
                except BaseException:
                    file.close()
                    raise
                self._file = file
            self._depth += 1

    def _release(self) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth == 0 and self._file is not None:
                self._file.close()
                self._file = None

    def _locked_file(self, deadline: float) -> IO[str]:
        folder = self._path.parent
        with store_errors(folder, "take the writer's lock"):
            folder.mkdir(parents=True, exist_ok=True)
            # "a+" neither truncates what the holder wrote nor asks that the file exists
            file = self._path.open("a+", encoding="utf-8")
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    holder = _holder(file)
                    file.close()
                    message = (
                        f"the store {folder} is being written by {holder}; "
                        "wait for that run to end, or stop it"
                    )
                    raise StoreError(message) from None
                time.sleep(_POLL_SECONDS)
            else:
                _sign(file)
                return file


def _sign(file: IO[str]) -> None:
    file.seek(0)
    file.truncate()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    json.dump({"pid": os.getpid(), "host": socket.gethostname(), "since": started}, file)
    file.flush()


def _holder(file: IO[str]) -> str:
    file.seek(0)
    try:
        signed = json.load(file)
        return f"process {signed['pid']} on {signed['host']} since {signed['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
