"""One writer at a time: a lock that the system lets go of when its holder dies."""

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from codelake.errors import BusyError
from resources.store.errors import store_errors

_FILE: Final = "writer.lock"
_POLL_SECONDS: Final = 0.2
_BRIEF_SECONDS: Final = 600.0  # waited for a holder that said it would not be long


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

    def _take(self, wait_seconds: float, *, is_brief: bool) -> None:
        with self._guard:
            if self._depth == 0:
                file = self._locked_file(time.monotonic() + wait_seconds, is_brief=is_brief)
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

    def _locked_file(self, deadline: float, *, is_brief: bool) -> IO[str]:
        folder = self._path.parent
        with store_errors(folder, "take the writer's lock"):
            folder.mkdir(parents=True, exist_ok=True)
            # "a+" neither truncates what the holder wrote nor asks that the file exists
            file = self._path.open("a+", encoding="utf-8")
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _holder(file)
                patience = _BRIEF_SECONDS if holder.get("brief") else 0.0
                if time.monotonic() >= deadline + patience:
                    file.close()
                    message = (
                        f"the store {folder} is being written by {_named(holder)}; "
                        "wait for that run to end, or stop it"
                    )
                    raise BusyError(message) from None
                time.sleep(_POLL_SECONDS)
            else:
                _sign(file, is_brief=is_brief)
                return file


def _sign(file: IO[str], *, is_brief: bool) -> None:
    file.seek(0)
    file.truncate()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    signed = {"pid": os.getpid(), "host": socket.gethostname(), "since": started}
    json.dump(signed | {"brief": is_brief}, file)
    file.flush()


def _holder(file: IO[str]) -> Mapping[str, object]:
    """Return what the holder signed, nothing where that cannot be read."""
    file.seek(0)
    with suppress(ValueError):
        signed = json.load(file)
        return signed if isinstance(signed, dict) else {}
    return {}


def _named(holder: Mapping[str, object]) -> str:
    if not holder.keys() >= {"pid", "host", "since"}:
        return "another process"
    return f"process {holder['pid']} on {holder['host']} since {holder['since']}"
