"""Reproduction cases 26 (search part) and 27, from ../shared."""

import json
from pathlib import Path
from typing import Any

import pytest

from codelake.embedding import Embedder
from codelake.search import Answer, Filters, search
from codelake.search.grouping import is_overlapping
from codelake.settings import EmbeddingSettings
from resources.embedders import open_embedder
from resources.embedders.hashing import HashEmbedder
from resources.store import LanceTables
from tests.lake import chunk, fill, index_folder

CASES = Path(__file__).parents[2] / "shared" / "cases"
RANKING = CASES / "27-search-ranking"
PATHS = CASES / "26-quoted-path-predicates"

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="../shared/cases is not here")


def load(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text()) if file.is_file() else []  # type: ignore[no-any-return]


QUERIES = load(RANKING / "queries.json")


@pytest.fixture(scope="module", params=["minilm", "hash", "none"])
def corpus(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, LanceTables, Embedder | None]:
    embedders: dict[str, Embedder | None] = {"none": None, "hash": HashEmbedder(256)}
    if request.param == "minilm":
        embedders["minilm"] = open_embedder(EmbeddingSettings())
    embedder = embedders[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, index_folder(folder, RANKING / "corpus", embedder), embedder


def ask(corpus: tuple[str, LanceTables, Embedder | None], query: dict[str, Any]) -> Answer:
    _, tables, embedder = corpus
    wanted = query.get("filter", {})
    filters = Filters(
        languages=tuple(wanted[key] for key in ("language",) if key in wanted),
        paths=tuple(wanted[key] for key in ("path_prefix",) if key in wanted),
    )
    return search(query["q"], tables=tables, embedder=embedder, k=query["k"], filters=filters)


@pytest.mark.parametrize("number", range(len(QUERIES)), ids=lambda n: QUERIES[n]["q"])
def test_case_27_constraints_hold(
    corpus: tuple[str, LanceTables, Embedder | None], number: int
) -> None:
    query = QUERIES[number]
    hits = ask(corpus, query).hits
    paths = [hit.path for hit in hits]
    assert paths or "only_files" in query
    assert "top1_file_in" not in query or paths[0] in query["top1_file_in"]
    assert "top1_symbol" not in query or hits[0].name == query["top1_symbol"]
    assert "top3_file_in" not in query or set(paths[:3]) & set(query["top3_file_in"])
    assert "only_files" not in query or set(paths) <= set(query["only_files"])
    assert "top1_not_file_in" not in query or paths[0] not in query["top1_not_file_in"]
    if corpus[0] == "minilm" and "should_top1" in query:
        assert paths[0] == query["should_top1"]


def test_case_27_code_ranks_above_its_test_mock_and_bundle(
    corpus: tuple[str, LanceTables, Embedder | None],
) -> None:
    for text in ("retry policy", "RetryPolicy", "next delay of an attempt"):
        paths = [hit.path for hit in ask(corpus, {"q": text, "k": 10}).hits]
        first = paths.index("payments/retry_policy.py")
        lesser = ("payments/tests/", "payments/mocks/", "dist/")
        assert not any(path.startswith(lesser) for path in paths[:first])


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query["q"])
def test_case_27_answers_are_steady_and_do_not_overlap(
    corpus: tuple[str, LanceTables, Embedder | None], query: dict[str, Any]
) -> None:
    first = ask(corpus, query)
    assert all(ask(corpus, query) == first for _ in range(3))
    hits = first.hits
    assert not any(
        is_overlapping(one, other) for n, one in enumerate(hits) for other in hits[n + 1 :]
    )


def test_case_26_paths_are_data(tmp_path: Path) -> None:
    rows = load(PATHS / "rows.json")
    names = {row["path"]: row["id"] for row in rows}
    tables = fill(tmp_path, [chunk(row["path"], f"body {row['body']}") for row in rows])
    for operation in load(PATHS / "operations.json"):
        if operation["op"] == "search_path_prefix":
            glob = operation["arg"].replace("*", "[*]") + "**"
            answer = search(
                "body",
                tables=tables,
                embedder=None,
                mode="text",
                k=20,
                filters=Filters(paths=(glob,)),
            )
            assert sorted(names[hit.path] for hit in answer.hits) == operation["ids"]
