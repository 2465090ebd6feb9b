"""Tables published, rolled back, exported, asked in SQL, migrated and kept small."""

import io
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import lance
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from codelake.errors import StoreError, UsageError
from codelake.schemas import CHUNKS, SYMBOLS
from codelake.search.tables import Filters
from resources.store import STORED, LanceStore
from resources.store.folder import StoreFolder
from resources.store.place import FolderPlace
from resources.store.specs import vector_column
from tests.stored_rows import (
    MODEL,
    batches,
    chunk,
    embed_all,
    embeddings,
    ledger_files,
    stored,
    symbol,
    vector_of,
    whole,
)


def _found(store: LanceStore, words: str = "text") -> list[str]:
    tables = store.search_tables()
    ids = tables.match("chunks", words, k=9, filters=Filters())["chunk_id"].to_pylist()
    return sorted(tables.rows("chunks", ids)["path"].to_pylist())


# published states -------------------------------------------------------------------------------


def test_searches_see_every_write_until_a_state_is_published(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    assert _found(store) == ["a.py"]
    store.publish("monday")
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("b.py", "text")]))
    assert _found(store) == ["a.py"]
    assert store.summary()["chunks"] == 2
    store.publish("tuesday")
    assert _found(store) == ["a.py", "b.py"]


def test_upkeep_keeps_what_is_published(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    store.publish("monday")
    gone = store.read("chunks", columns=["chunk_id"])["chunk_id"].to_pylist()
    store.replace_rows("chunks", delete_ids=gone)
    store.optimize(retention=timedelta(0))
    assert _found(store) == ["a.py"]
    store.publish("tuesday", keep=1)
    assert store.optimize(retention=timedelta(0)) > 0
    assert _found(store) == []
    assert {name for version in store.history() for name in version.names} == {"tuesday"}


def test_a_published_state_keeps_its_model(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    store.publish("monday")
    embed_all(store, "other/4")
    assert store.complete_model("other/4")
    assert store.search_tables().model_id == MODEL
    store.publish("tuesday")
    assert store.search_tables().model_id == "other/4"


def test_rollback_brings_back_rows_ledger_and_model(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    store.publish("monday")
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("b.py", "text")]))
    store.replace_rows("files", batches=ledger_files("b.py"))
    embed_all(store, "other/4")
    store.complete_model("other/4")
    store.publish("tuesday")
    store.rollback("monday")
    assert _found(store) == ["a.py"]
    assert store.read("files")["path"].to_pylist() == ["a.py"]
    assert store.models().model_id == store.search_tables().model_id == MODEL
    assert store.verify() == []
    with pytest.raises(UsageError, match="no published state 'friday'; there are: tuesday, monday"):
        store.rollback("friday")


def test_rollback_keeps_vectors_that_were_paid_for(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    store.publish("monday")
    later = batches(CHUNKS, [chunk("b.py", "text of b.py")])
    store.replace_rows("chunks", batches=later)
    assert embed_all(store) == 1
    store.rollback("monday")
    store.replace_rows("chunks", batches=later)
    assert store.pending_count(MODEL) == 0


def test_a_symbol_that_is_embedded_as_a_chunk_lacks_no_vector(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    rows = batches(SYMBOLS, [symbol("name", embedded_text="", text_hash="")])
    store.replace_rows("symbols", batches=rows)
    assert store.verify() == []


@pytest.mark.parametrize(("begun", "paths"), [("rollback monday", ["a.py"]), ("rebuild", [])])
def test_what_was_begun_on_all_tables_is_ended_by_the_next_writer(
    tmp_path: Path, begun: str, paths: list[str]
) -> None:
    store = whole(tmp_path, "a.py")
    store.publish("monday")
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("b.py", "text")]))
    folder = StoreFolder(FolderPlace(tmp_path))
    folder.update(replace(folder.manifest(), unfinished=begun))
    with LanceStore(tmp_path).writing():
        assert store.read("chunks")["path"].to_pylist() == paths
        assert store.read("files")["path"].to_pylist() == paths
    assert folder.manifest().unfinished == ""
    assert store.verify() == []


def test_a_state_published_again_under_its_name_was_never_without_hold(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    for number in range(3):
        store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("b.py", f"text {number}")]))
        store.publish("night")
        tags = lance.dataset(str(tmp_path / "chunks.lance")).tags.list()
        (state,) = store.models().published
        assert {tag: value["version"] for tag, value in tags.items()} == {
            state.tag: state.tables["chunks"]
        }


def test_history_counts_rows(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py", "b.py")
    store.publish("monday")
    last = [version for version in store.history() if version.table == "chunks"][-1]
    assert (last.row_count, last.names) == (2, ("monday",))
    assert last.written.tzinfo is not None


# upkeep -----------------------------------------------------------------------------------------


def test_upkeep_where_nothing_changed_writes_nothing(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    store.optimize(retention=timedelta(0))
    before = store.history()
    assert store.optimize(retention=timedelta(0)) == 0
    assert store.history() == before


def test_many_small_writes_end_up_small(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    with store.writing():
        for number in range(40):
            rows = [chunk(f"{i}.py", f"{number % 3}") for i in range(8)]
            gone = store.read("chunks", columns=["chunk_id"])["chunk_id"].to_pylist()
            store.replace_rows("chunks", delete_ids=gone, batches=batches(CHUNKS, rows))
    embed_all(store)
    before = _size(tmp_path)
    store.optimize(retention=timedelta(0))
    fresh = stored(tmp_path / "fresh", *rows)
    fresh.optimize(retention=timedelta(0))
    assert _size(tmp_path / "chunks.lance") < 1.2 * _size(tmp_path / "fresh" / "chunks.lance")
    assert _size(tmp_path) < before
    assert store.coverage("chunks") == {MODEL: 8}


def test_parts_of_an_index_stay_few(tmp_path: Path) -> None:
    store = whole(tmp_path, *[f"{i}.py" for i in range(20)])
    store.optimize()
    for letter in "abcdefghijkl":
        words = letter * 5
        store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", words)]))
        store.index_new_rows()
        assert _found(store, words) == ["a.py"]
    present = lance.dataset(str(tmp_path / "chunks.lance")).describe_indices()
    assert max(len(index.segments) for index in present) <= 8
    assert len(_found(store, "text of")) == 9


def test_a_vector_index_answers_like_the_exact_search(tmp_path: Path) -> None:
    model_id, dimension = "wide/64", 64
    store = LanceStore(tmp_path)
    rows = [chunk(f"{i}.py", str(i)) for i in range(900)]
    store.replace_rows("chunks", batches=batches(CHUNKS, rows))
    store.use_model(model_id, dimension)
    hashes = [str(row["text_hash"]) for row in rows]
    vectors = [vector_of(text_hash, dimension) for text_hash in hashes]
    store.append_embeddings(embeddings(hashes, vectors, model_id))
    store.fill_vectors("chunks", model_id)
    more = [chunk(f"new{i}.py", f"new{i}") for i in range(9)]
    queries = np.array(vectors[:10])
    column_name = vector_column(model_id)

    def nearest(filters: Filters) -> list[set[str]]:
        tables = store.search_tables(resident_rows=0)
        hits = tables.nearest("chunks", queries, model_id=model_id, k=10, filters=filters)
        return [set(found["chunk_id"].to_pylist()) for found in hits]

    asked = (Filters(), Filters(paths=("1**",)))
    exact = [nearest(filters) for filters in asked]
    store.optimize(vector_rows=800)
    present = lance.dataset(str(tmp_path / "chunks.lance")).describe_indices()
    assert column_name in [index.name for index in present]
    store.replace_rows("chunks", batches=batches(CHUNKS, more))
    store.optimize(vector_rows=800)
    before = store.history()
    store.optimize(vector_rows=800)
    assert store.history() == before, "rows without a vector do not make work again and again"
    for expected, found in zip(exact, [nearest(filters) for filters in asked], strict=True):
        shared = sum(len(a & b) for a, b in zip(expected, found, strict=True))
        assert shared >= 95


def test_vectors_no_index_takes_are_searched_exactly(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py", "b.py")
    store.optimize(vector_rows=1)
    indexes = lance.dataset(str(tmp_path / "chunks.lance")).describe_indices()
    assert not [index.name for index in indexes if index.name.startswith("vector")]
    assert len(_found(store)) == 2


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# export and SQL ---------------------------------------------------------------------------------


def test_exports_are_sorted_and_whole(tmp_path: Path) -> None:
    store = whole(tmp_path / "store", *[f"{i}.py" for i in (3, 1, 2)])
    target = tmp_path / "chunks.parquet"
    store.export("chunks", "parquet", target)
    table = pq.read_table(target)
    assert table["path"].to_pylist() == ["1.py", "2.py", "3.py"]
    assert table.schema.names == STORED["chunks"].schema.names
    assert set(table["model_id"].to_pylist()) == {MODEL}
    stream = io.BytesIO()
    store.export("chunks", "jsonl", stream)
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == table.to_pylist()


def test_an_empty_table_is_exported_too(tmp_path: Path) -> None:
    store = stored(tmp_path / "store")
    store.export("symbols", "parquet", tmp_path / "symbols.parquet")
    assert pl.read_parquet(tmp_path / "symbols.parquet").height == 0


def test_an_export_that_fails_leaves_no_half_file(tmp_path: Path) -> None:
    store = whole(tmp_path / "store", "a.py")
    for file in (tmp_path / "store" / "chunks.lance" / "data").iterdir():
        file.write_bytes(b"\0" * file.stat().st_size)
    with pytest.raises(StoreError, match="cannot read table 'chunks'"):
        LanceStore(store.place).export("chunks", "jsonl", tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    with pytest.raises(UsageError, match="unknown table 'chunk'; choose from repositories"):
        store.export("chunk", "jsonl", tmp_path / "x")
    with pytest.raises(UsageError, match="unknown format 'csv'; choose from jsonl, parquet"):
        store.export("chunks", "csv", tmp_path / "x")


def test_an_export_goes_through_links_pipes_and_devices(tmp_path: Path) -> None:
    store = whole(tmp_path / "store", "a.py")
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe"
    link.symlink_to("real.jsonl")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for target in (link, pipe):
        store.export("chunks", "jsonl", target)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == (tmp_path / "real.jsonl").read_bytes() != b""
    assert link.is_symlink()
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("place", "reason"),
    [("", "Is a directory"), ("none/x", "No such file"), ("n" * 300, "name too long")],
)
def test_an_export_that_has_no_place_says_so(tmp_path: Path, place: str, reason: str) -> None:
    store = whole(tmp_path / "store", "a.py")
    with pytest.raises(StoreError, match=f"cannot write .*{reason}.*; name a file in a folder"):
        store.export("chunks", "jsonl", tmp_path / place)


def test_sql_reads_the_tables_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    store = whole(tmp_path, "a.py", "it's.py")
    joined = store.sql(
        "select c.path, f.skip_reason from chunks c join files f using (repository, path) "
        "where c.path like 'it''s%' and c.model_id <> ''"
    )
    assert joined.to_pylist() == [{"path": "it's.py", "skip_reason": ""}]
    assert store.sql("select * from chunks").schema.names == STORED["chunks"].schema.names
    for statement in (
        "select * from nothing",
        f"from read_csv('{tmp_path}/codelake.json')",
        f"copy chunks to '{tmp_path}/x.csv'",
        "delete from chunks",
        "set enable_external_access = true",
        "create table copied as select path from chunks",
        "select 1; select 2",
        "",
    ):
        with pytest.raises(UsageError, match="the query cannot be answered"):
            store.sql(statement)
    assert not (tmp_path / "x.csv").exists()
    assert store.summary()["chunks"] == 2


def test_columns_of_one_name_are_all_in_the_answer_of_sql(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    found = whole(tmp_path, "a.py").sql("select 1 as a, 2 as a_1, 3 as a")
    assert found.to_pylist() == [{"a": 1, "a_1": 2, "a_2": 3}]
