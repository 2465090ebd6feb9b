"""Tables held in memory answer as tables that are read."""

from pathlib import Path

import numpy as np
import pytest

from codelake.search import Filters
from resources.embedders.hashing import HashEmbedder
from resources.store import LanceTables, search_tables
from tests.lake import chunk, fill, symbol

EMBEDDER = HashEmbedder(32)
FILTERS = [
    Filters(),
    Filters(repositories=("a",)),
    Filters(paths=("src/",), languages=("python",)),
    Filters(kinds=("nothing",)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store")
    rows = [
        chunk(f"{place}/f{n}.py", f"def f{n % 7}(x): return g{n % 5}(x)", repository=repository)
        for n in range(40)
        for place, repository in (("src", "a"), ("lib", "b"))
    ]
    symbols = [symbol(f"src/f{n}.py", f"f{n % 7}", f"def f(): {n}") for n in range(20)]
    fill(path, rows, symbols, EMBEDDER)
    return path


def tables(folder: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> LanceTables:
    from resources.store import LanceStore  # noqa: PLC0415 - beside its only use

    monkeypatch.setattr(search_tables, "RESIDENT_ROWS", rows)
    return LanceStore(folder).search_tables()


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_held_and_read_tables_agree(
    folder: Path, monkeypatch: pytest.MonkeyPatch, filters: Filters
) -> None:
    held, read = (tables(folder, monkeypatch, rows) for rows in (1000, 0))
    queries = EMBEDDER.embed_queries(["def f3 return", "g1"]).vectors
    for _ in range(3):  # the first answers are read, the later ones are held
        for table, column in (("chunks", "path"), ("symbols", "name")):
            one, other = (
                t.nearest(table, queries, model_id=EMBEDDER.model_id, k=9, filters=filters)
                for t in (held, read)
            )
            for mine, theirs in zip(one, other, strict=True):
                np.testing.assert_allclose(
                    mine["score"].to_numpy(), theirs["score"].to_numpy(), atol=1e-3
                )
            values = ["src/f3.py", "lib/f1.py", "f2", "nothing"]
            first, second = (
                t.equal(table, column, values, k=3, filters=filters) for t in (held, read)
            )
            assert first.equals(second)
            ids = [*first.column(0).to_pylist(), "nothing"]
            assert held.rows(table, ids).equals(read.rows(table, ids))
            assert np.array_equal(
                held.vectors(table, ids, model_id=EMBEDDER.model_id),
                read.vectors(table, ids, model_id=EMBEDDER.model_id),
            )
            assert held.coverage(table) == read.coverage(table)


def test_ties_are_told_by_id(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = tables(folder, monkeypatch, 1000)
    query = EMBEDDER.embed_queries(["def f3(x): return g3(x)"]).vectors
    (found,) = held.nearest("chunks", query, model_id=EMBEDDER.model_id, k=30, filters=Filters())
    rows = list(zip(found["score"].to_pylist(), found["chunk_id"].to_pylist(), strict=True))
    assert rows == sorted(rows, key=lambda row: (-row[0], row[1]))
    assert len(rows) == 30


def test_many_filters_do_not_pile_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = tables(folder, monkeypatch, 1000)
    query = EMBEDDER.embed_queries(["f3"]).vectors
    for n in range(70):
        only = Filters(paths=(f"src/f{n}.py",))
        (found,) = held.nearest("chunks", query, model_id=EMBEDDER.model_id, k=5, filters=only)
        assert found.num_rows == (n < 40)
