"""The writer's lock of a store in a bucket: an object that its holder keeps renewing.

No process holds anything open in a bucket, so a dead holder is told from a live one by time: the
lock of one that has not renewed it for the time of its lease may be taken. Each step is a write on
condition that the object is the one that was seen, so of two that take it one does. How old the
lock is, is told by the service's clock alone, since those of two machines differ.
"""

import json
import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from codelake.errors import StoreError
from resources.store.lock import LOCK_FILE, Holder, signature
from resources.store.place import ChangedError, Content

if TYPE_CHECKING:
    from resources.store.bucket import BucketPlace

_RENEWED: Final = 4  # times in a lease; two may fail
_POLLED: Final = 10  # times in a lease, by who waits for it
_CERTAIN: Final = 0.6  # of a lease: after that the holder asks before it commits
_SECOND: Final = 1.0  # what the times of a service are rounded to
_GIVEN_BACK: Final = "given_back"
_HOLDING: Final = "holding"
_LEASE: Final = "lease_seconds"
_REPEATED: Final = 2  # times a lock is written that a lost answer left in another state
_NO_TAG: Final = '"00000000000000000000000000000000"'  # of no object
_UNCONDITIONAL: Final = (
    "the service behind {place} writes where it was told to write only on a condition "
    "(If-None-Match, If-Match), so that two runs could write at once: use one that knows them"
)


class Lease:
    """The right to write to a store in a bucket, which ends some time after its holder.

    Args:
        bucket: the store.
        seconds: how long a lock is good for that is not renewed.
    """

    def __init__(self, bucket: "BucketPlace", seconds: float) -> None:
        """Take nothing yet."""
        self.poll_seconds = seconds / _POLLED
        self._bucket = bucket
        self._seconds = seconds
        self._signed: dict[str, object] = {}
        self._renewals = 0
        self._renewed = (0.0, 0.0)
        self._seen: Content | None = None
        self._lost = ""
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._keeper = threading.Thread()

    def take(self, *, is_brief: bool) -> Holder | None:
        """Take the lock if nobody holds it any more, or return who does."""
        found = self._bucket.read(LOCK_FILE)
        told = _told(found)
        if found is not None and not told.get(_GIVEN_BACK):
            left = self._longest(told) + _SECOND - self._bucket.age(LOCK_FILE)
            if left > 0:
                other = Holder.read(found.data)
                ends = f" (if that was killed, the lock ends in {left:.0f} s)"
                return replace(other, name=other.name + ends)
        own = {_HOLDING: secrets.token_hex(8), _LEASE: self._seconds}
        self._signed = {**signature(is_brief=is_brief), **own}
        self._seen, self._lost = found, ""
        if not self._write():  # another was faster
            winner = self._bucket.read(LOCK_FILE)
            return Holder.read(winner.data if winner else b"")
        self._refuse_unconditional()
        self._ended.clear()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()
        return None

    def check(self) -> None:
        """Make sure that the lock is still held; ask where it was not renewed lately.

        Raises:
            StoreError: it is not, or nobody can tell.
        """
        with self._guard:
            clocks = zip(_clocks(), self._renewed, strict=True)
            if not self._lost and any(
                now - then > self._seconds * _CERTAIN for now, then in clocks
            ):
                self._renew()
            if self._lost:
                message = (
                    f"the right to write to {self._bucket} was lost: its lock was not renewed in "
                    f"time and {self._lost}; what is stored is whole, run again after that"
                )
                raise StoreError(message)

    def give_back(self) -> None:
        """Say in the lock that nobody holds it; if that fails, it ends by itself."""
        self._ended.set()
        self._keeper.join()
        with self._guard:
            self._signed[_GIVEN_BACK] = True
            if not self._lost:
                with suppress(OSError):
                    self._write()

    def _keep(self) -> None:
        while not self._ended.wait(self._seconds / _RENEWED):
            with self._guard:
                try:
                    self._renew()
                except OSError:
                    continue  # the next time, or never: who commits asks again
                if self._lost:
                    return

    def _renew(self) -> None:
        if not self._write():
            found = self._bucket.read(LOCK_FILE)
            self._lost = (
                f"{Holder.read(found.data).name} took it" if found else "somebody removed it"
            )

    def _longest(self, told: Mapping[str, object]) -> float:
        """Return the longer lease, of the holder's settings or of these: they may differ."""
        theirs = told.get(_LEASE)
        return max(self._seconds, theirs) if isinstance(theirs, int | float) else self._seconds

    def _write(self) -> bool:
        """Write the lock over the one that was seen, and tell whether it is ours."""
        for _ in range(_REPEATED):
            self._renewals += 1
            data = json.dumps({**self._signed, "renewals": self._renewals}).encode()
            before = _clocks()
            try:
                self._seen = self._bucket.exchange(LOCK_FILE, data, self._seen)
            except (ChangedError, FileNotFoundError):
                # Where an answer was lost, of this request or of one before, what is there is ours.
                found = self._bucket.read(LOCK_FILE)
                if found is None or _told(found).get(_HOLDING) != self._signed[_HOLDING]:
                    return False
                self._seen = found
            if self._seen.data == data:
                self._renewed = before
                return True
        return False

    def _refuse_unconditional(self) -> None:
        """Refuse a service that would let two writers in, each time: it may have been replaced."""
        data = json.dumps({**self._signed, _GIVEN_BACK: True}).encode()
        for other in (None, Content(b"", _NO_TAG)):
            with suppress(ChangedError):
                self._bucket.exchange(LOCK_FILE, data, other)
                raise StoreError(_UNCONDITIONAL.format(place=self._bucket))


def _clocks() -> tuple[float, float]:
    """Return two clocks: one stands still while a machine sleeps, the other may be set."""
    return time.monotonic(), time.time()


def _told(found: Content | None) -> Mapping[str, object]:
    """Return what a lock says; nothing where somebody else wrote it, of which time tells."""
    try:
        told = json.loads(found.data) if found else None
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
