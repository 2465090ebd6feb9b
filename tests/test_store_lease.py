"""One writer of a bucket, and a lock that ends some time after a holder who cannot say so."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from bucket_server import BUCKET, Application, Start, bucket_server, keys, reached

from codelake.errors import StoreError
from codelake.schemas import CHUNKS
from resources.store import LanceStore
from resources.store.bucket import BucketPlace
from resources.store.lease import Lease
from resources.store.lock import LOCK_FILE
from tests.stored_rows import batches, chunk

pytestmark = pytest.mark.usefixtures("keys")
__all__ = ["keys"]

_ROOT = Path(__file__).parents[1]
_SHORT = 1.0  # seconds of a lease that a test waits for
_LONG = 3600.0

_HOLD = """
import json
import sys
from codelake.errors import StoreError
from codelake.bucket_settings import S3Settings
from resources.store import LanceStore
from resources.store.bucket import BucketPlace
place = BucketPlace(sys.argv[1], S3Settings.model_construct(**json.loads(sys.argv[2])))
store = LanceStore(place)
with store.writing():
    print("held", flush=True)
    sys.stdin.readline()
    try:
        store.replace_rows("repositories", delete_repositories=["shop"])
    except StoreError as error:
        print(error, flush=True)
"""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with bucket_server() as address:
        yield address


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"s3://{BUCKET}/{request.node.name}"


def _holder(url: str, address: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _HOLD,
            url,
            reached(address, lease_seconds=_SHORT).model_dump_json(),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def _write(store: LanceStore, *, wait_seconds: float = 0.0) -> None:
    with store.writing(wait_seconds=wait_seconds):
        store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "1")]))


def test_a_second_writer_is_told_who_writes(service: str, url: str) -> None:
    store = LanceStore(BucketPlace(url, reached(service, lease_seconds=_LONG)))
    other = LanceStore(BucketPlace(url, reached(service)))
    with store.writing():
        told = rf"by process {os.getpid()} on .* since 2.*the lock ends in \d+ s"
        with pytest.raises(StoreError, match=told):
            _write(other)
        assert other.summary()["chunks"] == 0, "reading needs no lock"
    _write(other)
    _write(store)


def test_the_lock_of_a_killed_holder_is_taken_over(service: str, url: str) -> None:
    process = _holder(url, service)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    store = LanceStore(BucketPlace(url, reached(service, lease_seconds=_SHORT)))
    with pytest.raises(StoreError, match=f"by process {process.pid} on "):
        LanceStore(BucketPlace(url, reached(service, lease_seconds=_LONG))).optimize()
    _write(store, wait_seconds=60)
    assert store.summary()["chunks"] == 1


def test_a_holder_that_stood_still_for_too_long_writes_nothing(service: str, url: str) -> None:
    process = _holder(url, service)
    process.send_signal(signal.SIGSTOP)
    _write(LanceStore(BucketPlace(url, reached(service, lease_seconds=_SHORT))), wait_seconds=60)
    process.send_signal(signal.SIGCONT)
    said, _ = process.communicate("\n")
    assert f"the right to write to {url} was lost" in said
    assert f"process {os.getpid()}" in said


def test_a_holder_that_works_for_longer_than_a_lease_keeps_it(service: str, url: str) -> None:
    place = BucketPlace(url, reached(service, lease_seconds=_SHORT))
    holding = Lease(place, _SHORT)
    assert holding.take(is_brief=False) is None
    first = place.read(LOCK_FILE)
    while place.read(LOCK_FILE) == first:
        pass
    assert Lease(place, _LONG).take(is_brief=False) is not None
    holding.check()
    holding.give_back()


def test_of_those_who_take_a_free_lock_at_once_one_gets_it(service: str, url: str) -> None:
    place = BucketPlace(url, reached(service))
    for _ in range(5):
        leases = [Lease(place, _LONG) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            holders = list(pool.map(lambda lease: lease.take(is_brief=False), leases))
        (winner,) = [lease for lease, holder in zip(leases, holders, strict=True) if not holder]
        winner.check()
        winner.give_back()


def test_a_lock_that_somebody_removed_is_no_lock_any_more(service: str, url: str) -> None:
    place = BucketPlace(url, reached(service))
    lease = Lease(place, _LONG)
    assert lease.take(is_brief=False) is None
    place._objects.delete(LOCK_FILE)
    lease.check()  # it was renewed just now
    lease._renewed = (0.0, 0.0)
    with pytest.raises(
        StoreError, match="was lost: its lock was not renewed in time and somebody removed it"
    ):
        lease.check()
    lease.give_back()


def test_a_renewal_whose_answer_was_lost_is_no_lost_lock(service: str, url: str) -> None:
    place = BucketPlace(url, reached(service))
    lease = Lease(place, _LONG)
    assert lease.take(is_brief=False) is None
    seen = place.read(LOCK_FILE)
    assert seen is not None
    place.exchange(LOCK_FILE, seen.data.replace(b'"renewals": 1', b'"renewals": 0'), seen)
    lease._renewed = (0.0, 0.0)
    lease.check()
    lease.give_back()
    assert Lease(place, _LONG).take(is_brief=False) is None


def test_a_holder_with_a_longer_lease_keeps_it(service: str, url: str) -> None:
    place = BucketPlace(url, reached(service))
    holding, other = Lease(place, _LONG), Lease(place, 0.0)
    assert holding.take(is_brief=False) is None
    clock = place.read(LOCK_FILE)
    while place.age(LOCK_FILE) <= 1:  # the second that a lease is stretched by
        pass
    assert other.take(is_brief=False) is not None
    assert place.read(LOCK_FILE) == clock
    holding.give_back()


def test_a_lost_answer_is_no_lost_lock(keys: None) -> None:
    del keys
    lost: list[str] = []

    def around(app: Application) -> Application:
        def asked(environment: dict[str, Any], start: Start) -> Iterable[bytes]:
            is_lock = environment["PATH_INFO"].endswith(LOCK_FILE)
            if environment["REQUEST_METHOD"] != "PUT" or not is_lock or len(lost) > 1:
                return app(environment, start)
            lost.append(environment["PATH_INFO"])
            list(app(environment, lambda *_: None))
            start("500 Internal Server Error", [("Content-Length", "0")])
            return [b""]

        return asked

    with bucket_server(around) as address:
        store = LanceStore(BucketPlace(f"s3://{BUCKET}", reached(address)))
        _write(store)
        assert len(lost) == 2
        _write(LanceStore(BucketPlace(f"s3://{BUCKET}", reached(address))))


@pytest.mark.parametrize("ignored", ["HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH"])
def test_a_service_that_ignores_conditions_is_refused(keys: None, ignored: str) -> None:
    del keys

    def around(app: Application) -> Application:
        def asked(environment: dict[str, Any], start: Start) -> Iterable[bytes]:
            return app({k: v for k, v in environment.items() if k != ignored}, start)

        return asked

    with bucket_server(around) as address:
        store = LanceStore(BucketPlace(f"s3://{BUCKET}/{ignored}", reached(address)))
        for _ in range(2):
            told = "two runs could write at once: use one that knows"
            with pytest.raises(StoreError, match=told):
                store.optimize()
        assert not store.is_there
