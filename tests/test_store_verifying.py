"""Tables verified: each broken promise is named, and what is not sound is not published."""

from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from codelake.schemas import CHUNKS
from resources.store import LanceStore
from tests.stored_rows import DIMENSION, batches, chunk, ledger_files, whole


def _twice(store: LanceStore) -> None:
    rows = lance.dataset(store.place.table("chunks"))
    rows.insert(rows.to_table())


def _vector(value: str) -> Callable[[LanceStore], None]:
    def harm(store: LanceStore) -> None:
        rows = lance.dataset(store.place.table("chunks"))
        name = next(field.name for field in rows.schema if field.name.startswith("vector"))
        numbers = pa.array([[float(value)] * DIMENSION] * 2, rows.schema.field(name).type)
        ids = rows.to_table(columns=["chunk_id"])["chunk_id"]
        rows.merge_insert("chunk_id").when_matched_update_all().execute(
            pa.table({"chunk_id": ids, name: numbers})
        )

    return harm


@pytest.mark.parametrize(
    ("harm", "table", "kind", "count"),
    [
        (lambda _: None, "", "", 0),
        (_twice, "chunks", "duplicate-id", 2),
        (_vector("0"), "chunks", "bad-vector", 2),
        (_vector("nan"), "chunks", "bad-vector", 2),
        (
            lambda s: s.replace_rows("files", delete_ids=[("shop", "a.py")]),
            "chunks",
            "stale-rows",
            1,
        ),
        (
            lambda s: s.replace_rows("files", batches=ledger_files("c.py", "d.py")),
            "chunks",
            "missing-rows",
            2,
        ),
        (
            lambda s: s.replace_rows("repositories", delete_repositories=["shop"]),
            "files",
            "unknown-repository",
            1,
        ),
        (
            lambda s: s.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "new")])),
            "chunks",
            "missing-vector",
            1,
        ),
    ],
    ids=["nothing", "twice", "zero", "nan", "stale", "lost", "unknown", "no-vector"],
)
def test_a_broken_promise_is_named(
    tmp_path: Path, harm: Callable[[LanceStore], None], table: str, kind: str, count: int
) -> None:
    store = whole(tmp_path, "a.py", "b.py")
    harm(store)
    found = [(p.table, p.kind, p.count) for p in store.verify()]
    assert found == ([(table, kind, count)] if kind else [])


@pytest.mark.parametrize("is_compacted", [False, True])
@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        (lambda _: None, ""),
        (_twice, "duplicate-id"),
        (_vector("0.0"), "bad-vector"),
        (lambda s: s.replace_rows("files", delete_ids=[("shop", "a.py")]), "stale-rows"),
        (lambda s: s.replace_rows("chunks", delete_repositories=["shop"]), "missing-rows"),
        (lambda s: s.replace_rows("repositories", delete_ids=["shop"]), "unknown-repository"),
    ],
    ids=["sound", "twice", "zero", "stale", "lost", "unlisted"],
)
def test_what_is_not_sound_is_not_published(
    tmp_path: Path, harm: Callable[[LanceStore], None], kind: str, *, is_compacted: bool
) -> None:
    store = whole(tmp_path, "a.py", "b.py")
    store.publish("monday")
    assert store.publish_sound("tuesday") == []
    harm(store)
    if is_compacted:
        for table in ("chunks", "files"):
            lance.dataset(str(tmp_path / f"{table}.lance")).optimize.compact_files()
    assert [problem.kind for problem in store.publish_sound("night")] == ([kind] if kind else [])
    names = [state.name for state in store.models().published]
    assert names == ["monday", "tuesday"] + ([] if kind else ["night"])


def test_an_embedding_that_stands_twice_is_found_by_what_was_written(tmp_path: Path) -> None:
    store = whole(tmp_path, "a.py", "b.py")
    store.publish("monday")
    kept = lance.dataset(str(tmp_path / "embeddings.lance"))
    kept.insert(kept.to_table().slice(0, 1))
    (problem,) = store.publish_sound("tuesday")
    assert (problem.table, problem.kind, problem.count) == ("embeddings", "duplicate-id", 1)
