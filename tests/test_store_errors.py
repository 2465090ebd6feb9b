"""What goes wrong is named, says what to do, and takes nothing with it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codelake.errors import CodelakeError, StoreError
from codelake.schemas import CHUNKS, SYMBOLS
from codelake.search.tables import Filters
from resources.store import LanceStore
from tests.stored_rows import (
    DIMENSION,
    MODEL,
    batches,
    chunk,
    embed_all,
    ledger_files,
    ledger_repositories,
    stored,
    symbol,
)

_ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "read",
    [
        lambda s: s.summary(),
        lambda s: s.search_tables(),
        lambda s: s.read("chunks"),
        lambda s: s.verify(),
        lambda s: s.history(),
        lambda s: s.export("chunks", "jsonl", Path("x")),
        lambda s: list(s.pending("m")),
    ],
    ids=["summary", "search", "read", "verify", "history", "export", "pending"],
)
def test_a_folder_without_a_store_says_what_to_run(
    tmp_path: Path, read: Callable[[LanceStore], object]
) -> None:
    store = LanceStore(tmp_path / "none")
    assert not store.is_there
    with pytest.raises(StoreError, match=r"no index yet in .*: run `codelake index"):
        read(store)
    assert not (tmp_path / "none").exists()


def test_a_store_cannot_be_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("n" * 300)):
        with pytest.raises(StoreError, match=r"lock in .* no folder can be made there: name ano"):
            LanceStore(place).optimize()


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    record = json.loads((tmp_path / "codelake.json").read_text())
    record["tables"]["chunks"] += 1
    (tmp_path / "codelake.json").write_text(json.dumps(record))
    for use in (store.summary, store.optimize):
        with pytest.raises(StoreError, match=r"tables chunks in .* newer codelake: upgrade"):
            use()


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"tables": {}, "unheard": 1}', "[]", "[1,2]", "\udcff", "5", "{}", '{"tables": 5}'],
)
def test_a_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    (tmp_path / "codelake.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(StoreError) as raised:
        store.summary()
    assert str(raised.value) == (
        f"{tmp_path}/codelake.json is not a record this version understands; it was damaged or "
        "written by a newer codelake: upgrade, or restore the store from a back-up; a new store "
        "embeds every text again"
    )


def test_tables_without_a_record_are_not_written_over(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    (tmp_path / "codelake.json").unlink()
    with pytest.raises(StoreError, match=r"chunks.lance has 1 rows.*move the folder away"):
        store.optimize()


@pytest.fixture
def nobodys_folder() -> Iterator[Path]:
    """Return a folder that a user without rights can reach and read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


_WRITE = """
import os, sys
from pathlib import Path
from codelake.errors import StoreError
from codelake.search.tables import Filters
from resources.store import LanceStore
store = LanceStore(Path(sys.argv[1]))
store.search_tables().match("chunks", "load", k=1, filters=Filters())
if os.geteuid() == 0:  # whose writes no mode forbids
    os.setgid(65534)
    os.setuid(65534)
print(store.search_tables().match("chunks", "retry", k=5, filters=Filters()).num_rows)
try:
    store.optimize()
except StoreError as error:
    print(error)
"""


def test_a_store_that_cannot_be_written_can_be_read(nobodys_folder: Path) -> None:
    folder = nobodys_folder / "store"
    stored(folder, chunk("a.py", "retry"))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    result = subprocess.run(
        [sys.executable, "-c", _WRITE, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        cwd=_ROOT,
    )
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)
    count, error = result.stdout.splitlines()
    assert count == "1"
    assert "the folder cannot be written: check its rights" in error


_FILL = """
import resource, signal, sys
from pathlib import Path
from codelake.errors import StoreError
from codelake.schemas import CHUNKS, SYMBOLS
from resources.store import LanceStore
from tests.stored_rows import batches, chunk
store = LanceStore(Path(sys.argv[1]))
rows = batches(CHUNKS, [chunk(f"{i}.py", f"{i} {i * i} " * 99) for i in range(2000)])
with store.writing():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        store.replace_rows("chunks", batches=rows)
    except StoreError as error:
        print(error)
"""


def test_a_write_that_does_not_fit_leaves_the_table(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "retry"))
    result = subprocess.run(
        [sys.executable, "-c", _FILL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    assert "cannot write to table 'chunks'" in result.stdout
    assert store.read("chunks")["path"].to_pylist() == ["a.py"]
    assert store.verify() == [] or {p.kind for p in store.verify()} == {"stale-rows"}
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("b.py", "2")]))
    embed_all(store)
    assert store.coverage("chunks").keys() == {store.models().model_id}


@pytest.mark.parametrize("harm", ["missing", "cut", "overwritten"])
def test_a_damaged_table_is_named_with_what_to_do(tmp_path: Path, harm: str) -> None:
    stored(tmp_path, chunk("a.py", "retry"))
    for file in (tmp_path / "chunks.lance" / "data").iterdir():
        data = file.read_bytes()
        file.unlink()
        if harm != "missing":
            file.write_bytes(data[:40] if harm == "cut" else b"\0" * len(data))
    store = LanceStore(tmp_path)
    with pytest.raises(CodelakeError, match=r"table 'chunks' in .*codelake store verify"):
        store.read("chunks")
    with pytest.raises(CodelakeError, match="chunks"):
        store.search_tables().equal("chunks", "kind", ["function"], k=1, filters=Filters())
    (problem, *_) = store.verify()
    assert problem.table == "chunks"
    assert problem.kind == ("missing-file" if harm == "missing" else "unreadable")
    assert store.rebuild() == ["chunks"]
    assert store.verify() == []
    assert store.summary() | {"embeddings": 1} == store.summary()
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "retry")]))
    assert embed_all(store) == 0, "the vectors were kept"
    assert store.coverage("chunks") == {store.models().model_id: 1}


@pytest.mark.parametrize("damaged", ["chunks", "symbols"])
def test_rows_after_a_rebuild_of_one_table_get_the_kept_vectors(
    tmp_path: Path, damaged: str
) -> None:
    chunks, symbols = batches(CHUNKS, [chunk("a.py", "retry")]), batches(SYMBOLS, [symbol("name")])
    store = stored(tmp_path, chunk("a.py", "retry"))
    store.replace_rows("symbols", batches=symbols)
    assert embed_all(store) == 1
    for file in (tmp_path / f"{damaged}.lance" / "data").iterdir():
        os.truncate(file, 40)
    store = LanceStore(tmp_path)
    assert store.rebuild() == [damaged]
    assert store.dimension(MODEL) == DIMENSION
    store.replace_rows("chunks", batches=chunks)
    store.replace_rows("symbols", batches=symbols)
    assert embed_all(store) == 0
    assert store.coverage("chunks") == store.coverage("symbols") == {MODEL: 1}


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    stored(tmp_path, chunk("a.py", "retry"))
    (tmp_path / "symbols.lance").rename(tmp_path / "elsewhere")
    store = LanceStore(tmp_path)
    with pytest.raises(StoreError, match="cannot open table 'symbols'"):
        store.read("symbols")
    assert [(p.table, p.kind) for p in store.verify() if p.table == "symbols"] == [
        ("symbols", "unreadable")
    ]


def test_a_rebuild_forgets_rows_ledger_and_published_states(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "retry"))
    store.replace_rows("files", batches=ledger_files("a.py"))
    store.replace_rows("repositories", batches=ledger_repositories("shop"))
    store.publish("monday")
    (tmp_path / "embeddings.lance").rename(tmp_path / "elsewhere")
    assert LanceStore(tmp_path).rebuild() == ["embeddings"]
    assert set(store.summary().values()) == {0}
    assert store.verify() == []
    assert store.search_tables().match("chunks", "retry", k=5, filters=Filters()).num_rows == 0
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "retry")]))
    assert embed_all(store) == 1
