"""One writer at a time, told by name, and no lock that outlives its holder."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from codelake.errors import StoreError
from codelake.schemas import CHUNKS
from resources.store import LanceStore
from tests.stored_rows import batches, chunk, stored

_ROOT = Path(__file__).parents[1]

_HOLD = """
import sys
from pathlib import Path
from resources.store import LanceStore
with LanceStore(Path(sys.argv[1])).writing({}):
    print("held", flush=True)
    sys.stdin.read()
"""


def _holder(folder: Path, how: str = "") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD.format(how), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.communicate()
    assert process.returncode is not None


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    process = _holder(tmp_path)
    store = LanceStore(tmp_path)
    with pytest.raises(StoreError, match=f"by process {process.pid} on .* since 2"):
        store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "1")]))
    assert store.summary()["chunks"] == 0, "reading needs no lock"
    _end(process)
    assert store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "1")])).written == 1


def test_a_writer_waits_for_one_that_is_brief(tmp_path: Path) -> None:
    process = _holder(tmp_path, "is_brief=True")
    with ThreadPoolExecutor(1) as pool:
        wanted = batches(CHUNKS, [chunk("a.py", "1")])
        written = pool.submit(LanceStore(tmp_path).replace_rows, "chunks", batches=wanted)
        assert not written.done()
        _end(process)
        assert written.result().written == 1


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    process = _holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    _end(process)
    stored(tmp_path, chunk("a.py", "1"))


def test_waiting_ends_when_the_holder_does(tmp_path: Path) -> None:
    process = _holder(tmp_path)
    ender = threading.Timer(0.3, _end, [process])
    ender.start()
    with LanceStore(tmp_path).writing(wait_seconds=60):
        pass
    ender.join()
    assert process.returncode == 0


def test_the_holder_may_take_it_again_from_any_thread(tmp_path: Path) -> None:
    store = stored(tmp_path)
    done: list[int] = []

    def write() -> None:
        rows = batches(CHUNKS, [chunk("a.py", "1")])
        done.append(store.replace_rows("chunks", batches=rows).written)

    with store.writing(), store.writing():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        with pytest.raises(StoreError, match=f"process {os.getpid()}"):
            LanceStore(tmp_path).optimize()
    assert done == [1]
    LanceStore(tmp_path).optimize()


def test_threads_that_write_the_same_rows_take_turns(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    rows = batches(CHUNKS, [chunk(f"{i}.py", "1") for i in range(20)])
    with store.writing(), ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(store.replace_rows, "chunks", batches=rows) for _ in range(8)]
        done = [future.result() for future in futures]
    assert sorted(one.deleted for one in done) == [0, *[20] * 7]
    assert store.summary()["chunks"] == 20


def test_threads_may_open_a_store_that_is_not_there_yet(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)

    def read(_: int) -> int:
        with store.writing():
            return int(store.read("files").num_rows)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [0] * 8


def test_what_a_lock_file_says_is_not_trusted(tmp_path: Path) -> None:
    process = _holder(tmp_path)
    (tmp_path / "writer.lock").write_text("[]")
    with pytest.raises(StoreError, match="by another process"):
        LanceStore(tmp_path).optimize()
    _end(process)
