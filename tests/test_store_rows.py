"""Rows are replaced in one step, by their ids, in streams, or not at all."""

import threading
from collections.abc import Iterator
from pathlib import Path

import lancedb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codelake.errors import SchemaError, SourceError
from codelake.schemas import CHUNKS, TABLES
from resources.store import STORED, LanceStore, Replaced, given_spec
from tests.stored_rows import batches, by_key, chunk, ledger_files, ledger_repositories, stored


def _texts(store: LanceStore) -> dict[str, str]:
    rows = store.read("chunks", columns=["path", "text"])
    return dict(zip(rows["path"].to_pylist(), rows["text"].to_pylist(), strict=True))


def _chunks(*rows: dict[str, object]) -> list[pa.RecordBatch]:
    return batches(CHUNKS, rows)


def test_rows_come_back_as_they_were_given(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    rows = [chunk("a.py", "1", symbols=["f", "g"], is_test=True), chunk("b.py", "2", start_line=7)]
    assert store.replace_rows("chunks", batches=_chunks(*rows)) == Replaced(2, 0)
    given_back = store.read("chunks", columns=CHUNKS.schema.names)
    assert by_key(given_back, "path") == rows
    assert given_back.schema.equals(CHUNKS.schema)


def test_a_second_write_of_the_same_changes_nothing(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    rows = _chunks(chunk("a.py", "1"), chunk("b.py", "2"))
    store.replace_rows("chunks", batches=rows)
    before = by_key(store.read("chunks"), "chunk_id")
    assert store.replace_rows("chunks", batches=rows) == Replaced(2, 2)
    assert by_key(store.read("chunks"), "chunk_id") == before


def test_ids_are_deleted_and_rows_written_together(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    old = chunk("a.py", "old")
    store.replace_rows("chunks", batches=_chunks(old, chunk("b.py", "stays")))
    done = store.replace_rows(
        "chunks", delete_ids=[str(old["chunk_id"])], batches=_chunks(chunk("a.py", "new"))
    )
    assert done == Replaced(1, 1)
    assert _texts(store) == {"a.py": "new", "b.py": "stays"}


def test_unknown_ids_and_no_rows_write_no_version(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    before = [version for version in store.history() if version.table == "chunks"]
    assert store.replace_rows("chunks", delete_ids=["0" * 32]) == Replaced(0, 0)
    assert [version for version in store.history() if version.table == "chunks"] == before


def test_ledger_rows_are_told_apart_by_repository_and_path(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    store.replace_rows("files", batches=ledger_files("a", "b") + ledger_files("a", repository="o"))
    store.replace_rows("files", delete_ids=[("shop", "a"), ("o", "b")])
    rows = store.read("files", columns=["repository", "path"])
    assert by_key(rows, "repository") == [
        {"repository": "o", "path": "a"},
        {"repository": "shop", "path": "b"},
    ]


def test_a_repository_goes_with_all_its_rows(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    name = "it's' OR '1'='1"
    store.replace_rows("files", batches=ledger_files("a", repository=name) + ledger_files("a"))
    store.replace_rows("repositories", batches=ledger_repositories(name, "shop"))
    for table in ("files", "repositories"):
        assert store.replace_rows(table, delete_repositories=[name]).deleted == 1
        assert store.read(table, columns=["repository"])["repository"].to_pylist() == ["shop"]


def test_rows_can_be_read_by_repository_and_path(tmp_path: Path) -> None:
    store = stored(
        tmp_path, chunk("a.py", "1"), chunk("b.py", "2"), chunk("a.py", "3", repository="o")
    )
    only = store.read("chunks", columns=["text"], repositories=["shop"], paths=["a.py", "c.py"])
    assert only["text"].to_pylist() == ["1"]
    assert store.read("chunks", repositories=[]).num_rows == 0


def test_an_id_that_comes_twice_is_refused(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    with pytest.raises(SchemaError, match="came before"):
        store.replace_rows("chunks", batches=_chunks(chunk("b.py", "2"), chunk("b.py", "2")))
    assert _texts(store) == {"a.py": "1"}


def test_rows_of_another_shape_are_refused(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    with pytest.raises(SchemaError, match="wants columns"):
        store.replace_rows("chunks", batches=[pa.RecordBatch.from_pylist([{"a": 1}])])
    assert store.summary()["chunks"] == 0


@pytest.mark.parametrize("error", [SourceError("gone"), ValueError("wrong"), KeyboardInterrupt()])
def test_an_error_on_the_way_leaves_the_table_as_it_was(
    tmp_path: Path, error: BaseException
) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))

    def failing() -> Iterator[pa.RecordBatch]:
        yield from _chunks(chunk("b.py", "2"))
        raise error

    with pytest.raises(type(error)):
        store.replace_rows("chunks", batches=failing())
    assert _texts(store) == {"a.py": "1"}
    assert store.replace_rows("chunks", batches=_chunks(chunk("b.py", "2"))).written == 1


def test_open_tables_do_not_change_under_a_reader(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    tables = store.search_tables()
    before = chunk("a.py", "1")["chunk_id"]
    store.replace_rows("chunks", delete_ids=[str(before)], batches=_chunks(chunk("b.py", "2")))
    store.optimize()
    assert tables.rows("chunks", [str(before)])["path"].to_pylist() == ["a.py"]
    assert store.search_tables().rows("chunks", [str(before)]).num_rows == 0


def test_a_reader_never_sees_half_of_a_write(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    count = 40

    def state(number: int) -> list[pa.RecordBatch]:
        rows = [chunk(f"{i}.py", f"{number}", scope=str(number)) for i in range(count)]
        return _chunks(*rows)

    store.replace_rows("chunks", batches=state(0))
    seen: list[list[str]] = []
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            seen.append(LanceStore(tmp_path).read("chunks", columns=["text"])["text"].to_pylist())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 15):
        gone = store.read("chunks", columns=["chunk_id"])["chunk_id"].to_pylist()
        store.replace_rows("chunks", delete_ids=gone, batches=state(number))
    is_done.set()
    reader.join()
    assert seen
    assert all(len(rows) == count and len(set(rows)) == 1 for rows in seen)


def test_lancedb_opens_the_tables(tmp_path: Path) -> None:
    stored(tmp_path, chunk("a.py", "1"))
    database = lancedb.connect(tmp_path)
    assert sorted(database.list_tables().tables) == sorted(STORED)
    assert database.open_table("chunks").to_arrow()["text"].to_pylist() == ["1"]


def test_stored_tables_have_what_the_stages_make_but_for_bytes_and_run_states() -> None:
    left_out = {"files": {"status", "content"}}
    for name in STORED:
        made = set(TABLES[name].schema.names) - left_out.get(name, set())
        assert set(given_spec(name).schema.names) == made


_PATHS = st.sampled_from(["a.py", "it's.py", "b/%_\\.py", "\u0441.py"])
_WRITES = st.lists(
    st.tuples(st.sets(_PATHS), st.dictionaries(_PATHS, st.sampled_from("xyz"))), max_size=5
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_WRITES)
def test_any_writes_leave_what_a_dictionary_would(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[set[str], dict[str, str]]]
) -> None:
    store, model = LanceStore(tmp_path_factory.mktemp("store")), dict[str, str]()
    with store.writing():
        for deleted, written in writes:
            ids = [str(chunk(p, model[p])["chunk_id"]) for p in {*deleted, *written} if p in model]
            rows = [chunk(path, text) for path, text in written.items()]
            store.replace_rows("chunks", delete_ids=ids, batches=_chunks(*rows))
            model = {p: t for p, t in model.items() if p not in deleted} | written
            assert _texts(store) == model
