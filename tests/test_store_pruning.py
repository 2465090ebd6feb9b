"""Vectors that no row has any more are forgotten, but not at once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from codelake.schemas import CHUNKS
from resources.store import LanceStore
from resources.store.pruning import FILE
from tests.stored_rows import MODEL, batches, chunk, embed_all, whole

_KEEP = timedelta(days=30)
_START = datetime(2026, 1, 1, tzinfo=UTC)


def _after(store: LanceStore, days: float) -> int:
    return store.prune_vectors(_KEEP, now=_START + timedelta(days=days))


def _replace(store: LanceStore, text: str) -> None:
    gone = store.read("chunks", columns=["chunk_id"])["chunk_id"].to_pylist()
    new = batches(CHUNKS, [chunk("a.py", text)])
    store.replace_rows("chunks", delete_ids=gone, batches=new)


def test_a_vector_goes_when_no_row_had_its_text_for_so_long(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py", "b.py")
    assert _after(store, 0) == 0
    _replace(store, "text of a.py")
    assert [_after(store, days) for days in (1, 30, 31, 40)] == [0, 0, 1, 0]
    assert store.summary()["embeddings"] == 1
    assert store.verify()[0].kind == "missing-rows"  # of b.py, which the ledger still has
    assert store.pending_count(MODEL) == 0


def test_a_text_that_comes_back_in_time_is_not_embedded_again(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    _replace(store, "other")
    embed_all(store)
    assert _after(store, 0) == 0
    _replace(store, "text of a.py")
    assert _after(store, 20) == 0  # now the other one is unused, and the first is used again
    _replace(store, "other")
    assert [_after(store, days) for days in (29, 45)] == [0, 0]
    assert store.pending_count(MODEL) == 0
    assert _after(store, 60) == 1


def test_vectors_of_a_model_that_is_left_go_too(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py")
    embed_all(store, "other/4")
    store.complete_model("other/4")
    assert [_after(store, days) for days in (0, 30)] == [0, 1]
    assert store.verify() == []


@pytest.mark.parametrize("content", [b"", b"no table"])
def test_without_the_file_of_the_last_look_time_begins_anew(tmp_path: Path, content: bytes) -> None:
    store = whole(tmp_path, "a.py")
    _replace(store, "other")
    assert _after(store, 0) == 0
    (tmp_path / FILE).write_bytes(content)
    assert [_after(store, days) for days in (31, 60, 61)] == [0, 0, 1]
