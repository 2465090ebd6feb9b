"""Case 26: paths with quotes and wildcards, through deletes and searches."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from codelake.schemas import CHUNKS
from codelake.search.tables import Filters
from resources.store import LanceStore
from tests.stored_rows import batches, chunk, embed_all, ledger_files

_CASE = Path(__file__).parents[2] / "shared" / "cases" / "26-quoted-path-predicates"

if not _CASE.exists():
    pytest.skip("../shared with the cases is not here", allow_module_level=True)

_ROWS = json.loads((_CASE / "rows.json").read_text("utf-8"))
_OPERATIONS = json.loads((_CASE / "operations.json").read_text("utf-8"))


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    store = LanceStore(tmp_path)
    rows = [chunk(row["path"], row["body"] + " word", start_line=row["id"]) for row in _ROWS]
    store.replace_rows("chunks", batches=batches(CHUNKS, rows))
    files = [row["path"] for row in _ROWS]
    store.replace_rows("files", batches=ledger_files(*files))
    embed_all(store)
    return store


def _ids(rows: pa.Table) -> list[int]:
    return sorted(rows["start_line"].to_pylist())


def _operations(name: str) -> list[object]:
    chosen = [operation for operation in _OPERATIONS if operation["op"] == name]
    assert chosen
    return [pytest.param(operation, id=repr(operation["arg"])) for operation in chosen]


def test_every_operation_is_known() -> None:
    assert {o["op"] for o in _OPERATIONS} == {"delete_exact_path", "search_path_prefix"}


@pytest.mark.parametrize("operation", _operations("delete_exact_path"))
def test_a_path_that_is_deleted_is_data(store: LanceStore, operation: dict[str, object]) -> None:
    path = str(operation["arg"])
    gone = store.read("chunks", columns=["chunk_id", "start_line"], paths=[path])
    assert _ids(gone) == operation["removed_ids"]
    store.replace_rows("chunks", delete_ids=gone["chunk_id"].combine_chunks())
    rest = sorted({row["id"] for row in _ROWS} - set(_ids(gone)))
    assert _ids(store.read("chunks", columns=["start_line"])) == rest
    store.replace_rows("files", delete_ids=[("shop", path)])
    left = [row["path"] for row in _ROWS if row["path"] != path]
    assert sorted(store.read("files")["path"].to_pylist()) == sorted(left)


@pytest.mark.parametrize("is_indexed", [False, True], ids=["as-written", "indexed"])
@pytest.mark.parametrize("operation", _operations("search_path_prefix"))
def test_a_path_that_is_searched_is_data(
    store: LanceStore,
    operation: dict[str, object],
    is_indexed: bool,  # noqa: FBT001 - parametrised
) -> None:
    if is_indexed:
        store.optimize()
    prefix = str(operation["arg"])
    filters = Filters(paths=(prefix if prefix.endswith("/") else prefix + "**",))
    tables = store.search_tables()
    some = store.read("chunks", columns=["chunk_id"])["chunk_id"].to_pylist()[:1]
    query = tables.vectors("chunks", some, model_id=tables.model_id)
    (near,) = tables.nearest("chunks", query, model_id=tables.model_id, k=20, filters=filters)
    words = tables.match("chunks", "word", k=20, filters=filters)
    pattern = tables.matches_pattern("chunks", "word$", k=20, filters=filters)
    for hits in (near, words, pattern):
        found = tables.rows("chunks", hits["chunk_id"].to_pylist())
        assert _ids(found) == operation["ids"]
