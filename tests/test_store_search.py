"""What the tables answer: filters before the best, ties the same way every time, exact text."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codelake.errors import StoreError, UsageError
from codelake.schemas import CHUNKS, SYMBOLS
from codelake.search.tables import Filters, SearchTables
from resources.store import LanceStore
from resources.store.predicates import glob_expression
from tests.stored_rows import (
    DIMENSION,
    MODEL,
    batches,
    chunk,
    embed_all,
    embeddings,
    stored,
    symbol,
    unit,
)

ANY = Filters()


def _paths(store: LanceStore, hits: object, table: str = "chunks") -> list[str]:
    ids = hits["chunk_id"].to_pylist()  # type: ignore[index] # an arrow table has no type
    found: list[str] = store.search_tables().rows(table, ids)["path"].to_pylist()
    return found


def _indexed(store: LanceStore) -> LanceStore:
    store.optimize()
    return store


@pytest.fixture(params=["as written", "indexed"])
def shape(request: pytest.FixtureRequest) -> Callable[[LanceStore], LanceStore]:
    """Return what to do to a store: nothing, or upkeep, which changes no answer."""
    return _indexed if request.param == "indexed" else lambda store: store


def test_the_tables_are_what_a_search_needs(tmp_path: Path) -> None:
    tables: SearchTables = stored(tmp_path).search_tables()
    assert tables.coverage("chunks") == {}


# vectors ----------------------------------------------------------------------------------------


def test_nearest_orders_by_cosine(
    tmp_path: Path, shape: Callable[[LanceStore], LanceStore]
) -> None:
    store = LanceStore(tmp_path)
    rows = [chunk(f"{i}.py", str(i)) for i in range(20)]
    angles = np.linspace(0, 3, 20)
    store.replace_rows("chunks", batches=batches(CHUNKS, rows))
    store.use_model(MODEL, DIMENSION)
    vectors = [unit(np.cos(a), np.sin(a), 0, 0) for a in angles]
    store.append_embeddings(embeddings([str(r["text_hash"]) for r in rows], vectors))
    store.fill_vectors("chunks", MODEL)
    tables = shape(store).search_tables()
    queries = np.array([vectors[3], vectors[15]])
    first, second = tables.nearest("chunks", queries, model_id=MODEL, k=3, filters=ANY)
    assert _paths(store, first)[0] == "3.py"
    assert set(_paths(store, first)) == {"2.py", "3.py", "4.py"}
    assert _paths(store, second)[0] == "15.py"
    expected = [1, np.cos(angles[1]), np.cos(angles[1])]
    np.testing.assert_allclose(first["score"].to_numpy(), expected, atol=2e-3)


def test_rows_without_a_vector_are_not_near(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("b.py", "2")]))
    query = np.array([unit(1, 1, 1, 1)])
    (found,) = store.search_tables().nearest("chunks", query, model_id=MODEL, k=9, filters=ANY)
    assert _paths(store, found) == ["a.py"]


def test_nothing_is_near_where_no_model_is(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "1")]))
    tables = store.search_tables()
    query = np.array([unit(1, 0, 0, 0)])
    (found,) = tables.nearest("chunks", query, model_id=MODEL, k=9, filters=ANY)
    assert found.num_rows == 0
    assert found.schema.names == ["chunk_id", "score"]


def test_a_question_of_another_space_is_refused(tmp_path: Path) -> None:
    tables = stored(tmp_path, chunk("a.py", "1")).search_tables()
    with pytest.raises(StoreError, match="search with that embedder"):
        tables.nearest("chunks", np.ones((1, 4), np.float32), model_id="x", k=1, filters=ANY)
    with pytest.raises(StoreError, match="have 4 numbers, not 3"):
        tables.nearest("chunks", np.ones((1, 3), np.float32), model_id=MODEL, k=1, filters=ANY)


def test_filters_come_before_the_best(
    tmp_path: Path, shape: Callable[[LanceStore], LanceStore]
) -> None:
    texts = {f"src/{i}.py": f"retry {'retry ' * i}" for i in range(30)}
    store = stored(tmp_path, *[chunk(path, text) for path, text in texts.items()])
    more = [chunk("docs/a.md", "retry", language="markdown", kind="section")]
    store.replace_rows("chunks", batches=batches(CHUNKS, more))
    embed_all(store)
    tables = shape(store).search_tables()
    query = np.array([unit(1, 0, 0, 0)])
    for filters in (
        Filters(languages=("markdown",)),
        Filters(kinds=("section",)),
        Filters(paths=("docs/",)),
        Filters(repositories=("shop",), paths=("*/*.md", "nowhere/**")),
    ):
        (near,) = tables.nearest("chunks", query, model_id=MODEL, k=1, filters=filters)
        words = tables.match("chunks", "retry", k=1, filters=filters)
        assert _paths(store, near) == _paths(store, words) == ["docs/a.md"]


def test_tests_can_be_asked_for_or_left_out(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "retry"), chunk("b.py", "retry once", is_test=True))
    tables = store.search_tables()
    for is_test, paths in ((True, ["b.py"]), (False, ["a.py"]), (None, ["a.py", "b.py"])):
        hits = tables.match("chunks", "retry", k=5, filters=Filters(is_test=is_test))
        assert sorted(_paths(store, hits)) == paths


def test_ties_are_broken_by_id(tmp_path: Path, shape: Callable[[LanceStore], LanceStore]) -> None:
    rows = [chunk(f"{i}.py", "the same words") for i in range(60)]
    store = LanceStore(tmp_path)
    for start in range(0, 60, 20):  # in several fragments, in another order than the ids
        part = batches(CHUNKS, rows[start : start + 20])
        store.replace_rows("chunks", batches=part)
    embed_all(store)
    tables = shape(store).search_tables()
    expected = sorted(str(row["chunk_id"]) for row in rows)[:5]
    words = tables.match("chunks", "words", k=5, filters=Filters(paths=("*.py",)))
    query = np.array([unit(1, 0, 0, 0)])
    (near,) = tables.nearest("chunks", query, model_id=MODEL, k=5, filters=ANY)
    assert words["chunk_id"].to_pylist() == expected
    assert near["chunk_id"].to_pylist() == expected


# words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    ["http response", "getHTTPResponse", "get_http", "HTTP", "gethttpresponse", "responses"],
)
def test_identifiers_are_found_by_their_words(
    tmp_path: Path, shape: Callable[[LanceStore], LanceStore], question: str
) -> None:
    store = stored(
        tmp_path, chunk("a.py", "x = getHTTPResponse(url)"), chunk("b.py", "close(socket)")
    )
    hits = shape(store).search_tables().match("chunks", question, k=5, filters=ANY)
    assert _paths(store, hits) == ["a.py"]


def test_a_row_no_index_covers_yet_is_found(tmp_path: Path) -> None:
    store = _indexed(stored(tmp_path, chunk("a.py", "retry policy")))
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("b.py", "retry budget")]))
    embed_all(store)
    tables = store.search_tables()
    assert sorted(_paths(store, tables.match("chunks", "retry", k=5, filters=ANY))) == [
        "a.py",
        "b.py",
    ]
    query = np.array([unit(1, 0, 0, 0)])
    (near,) = tables.nearest("chunks", query, model_id=MODEL, k=5, filters=ANY)
    assert near.num_rows == 2


def test_a_path_is_found_by_its_words(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("net/webdav_lock.go", "x"), chunk("b.py", "y"))
    hits = store.search_tables().match("chunks", "webdav", k=5, filters=ANY)
    assert _paths(store, hits) == ["net/webdav_lock.go"]


@pytest.mark.parametrize(
    "question", ["", "  ", "?!", "the of", "'\"; --", "a" * 10_000, "\0", "é世"]
)
def test_any_question_is_answered(tmp_path: Path, question: str) -> None:
    store = stored(tmp_path, chunk("a.py", "retry policy"))
    store.replace_rows("symbols", batches=batches(SYMBOLS, [symbol("retry")]))
    for table in ("chunks", "symbols"):
        assert store.search_tables().match(table, question, k=5, filters=ANY).num_rows == 0


def test_symbols_are_found_by_name_and_body(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    rows = [symbol("Client.sendAll", body="def sendAll(messages): ..."), symbol("other")]
    store.replace_rows("symbols", batches=batches(SYMBOLS, rows))
    for question in ("send", "Client", "messages"):
        hits = store.search_tables().match("symbols", question, k=5, filters=ANY)
        assert hits["symbol_id"].to_pylist() == [rows[0]["symbol_id"]]


# rows -------------------------------------------------------------------------------------------


def test_rows_come_in_the_order_asked(tmp_path: Path) -> None:
    rows = [chunk(f"{i}.py", str(i)) for i in range(5)]
    store = stored(tmp_path, *rows)
    ids = [str(rows[i]["chunk_id"]) for i in (3, 1, 4)]
    tables = store.search_tables()
    found = tables.rows("chunks", [ids[0], "unknown", *ids[1:]])
    assert found["path"].to_pylist() == ["3.py", "1.py", "4.py"]
    assert not [name for name in found.schema.names if name.startswith("vector")]
    assert tables.rows("chunks", ids, columns=["path"]).schema.names == ["path"]
    assert tables.rows("chunks", []).num_rows == 0
    assert tables.vectors("chunks", ["unknown"], model_id=MODEL).tolist() == [[0.0] * DIMENSION]


def test_equal_means_equal(tmp_path: Path) -> None:
    names = ["get", "Get", "ge_", "get%", "it's"]
    store = LanceStore(tmp_path)
    store.replace_rows("symbols", batches=batches(SYMBOLS, [symbol(name) for name in names]))
    tables = store.search_tables()
    for name in names:
        found = tables.equal("symbols", "name", [name], k=5, filters=ANY)
        assert found["name"].to_pylist() == [name]
    assert tables.equal("symbols", "name", ["nothing"], k=5, filters=ANY).num_rows == 0
    assert tables.equal("symbols", "name", [], k=5, filters=ANY).num_rows == 0


def test_the_first_rows_are_the_first_by_key(tmp_path: Path) -> None:
    rows = [chunk(f"{i:02}.py", "raise Retry()", name="f") for i in reversed(range(12))]
    store = stored(tmp_path, *rows)
    tables = store.search_tables()
    expected = ["00.py", "01.py", "02.py"]
    assert tables.equal("chunks", "name", ["f"], k=3, filters=ANY)["path"].to_pylist() == expected
    found = tables.matches_pattern("chunks", r"Retry\(\)", k=3, filters=ANY)
    assert found["path"].to_pylist() == expected


def test_a_pattern_sees_case_lines_and_quotes(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "it's\nRaise"), chunk("b.py", "raise"))
    tables = store.search_tables()
    for pattern, paths in (
        (r"^it's\nR", ["a.py"]),
        (r"(?i)raise", ["a.py", "b.py"]),
        (r"(?m)^raise$", ["b.py"]),
        (r"r\w+e", ["b.py"]),
        ("'; --", []),
    ):
        found = tables.matches_pattern("chunks", pattern, k=5, filters=ANY)
        assert found["path"].to_pylist() == paths


def test_a_pattern_that_hangs_other_engines_is_answered(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "a" * 50_000 + "!"))
    for pattern in (r"(a+)+$", r"(a|aa)+b", r"(.*)*x"):
        found = store.search_tables().matches_pattern("chunks", pattern, k=5, filters=ANY)
        assert found.num_rows == 0


@pytest.mark.parametrize("pattern", ["(", "[a", "a{1", r"(?<=a)b", r"\1", "a{1000000}", "*"])
def test_a_pattern_that_is_none_is_named(tmp_path: Path, pattern: str) -> None:
    tables = stored(tmp_path, chunk("a.py", "1")).search_tables()
    with pytest.raises(UsageError, match=re.escape(repr(pattern))):
        tables.matches_pattern("chunks", pattern, k=5, filters=ANY)


# paths ------------------------------------------------------------------------------------------

_NAMES = [
    "a.py",
    "A.py",
    "src",
    "src/a.py",
    "src/a_b.py",
    "src/axb.py",
    "src/deep/er/a.py",
    "src2/a.py",
    "100%/it's.py",
    "back\\slash.py",
    "new\nline.py",
    "[x]?.py",
    "(a|b)+.py",
    "é/\u0441.py",
    "x-y~z#&.py",
]


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*", [n for n in _NAMES if "/" not in n]),
        ("**", _NAMES),
        ("src/", ["src/a.py", "src/a_b.py", "src/axb.py", "src/deep/er/a.py"]),
        ("src/*", ["src/a.py", "src/a_b.py", "src/axb.py"]),
        ("src/**/a.py", ["src/a.py", "src/deep/er/a.py"]),
        ("**/a.py", ["a.py", "src/a.py", "src/deep/er/a.py", "src2/a.py"]),
        ("src/a_*", ["src/a_b.py"]),
        ("*/*er/*", []),
        ("100%/*", ["100%/it's.py"]),
        ("back\\*", ["back\\slash.py"]),
        ("new\n*", ["new\nline.py"]),
        ("[x]?.py", ["[x]?.py"]),
        ("[x]*", ["[x]?.py"]),
        ("(a|b)+*", ["(a|b)+.py"]),
        ("x-y~z#&*", ["x-y~z#&.py"]),
        ("é/\u0441*", ["é/\u0441.py"]),
        ("é/c*", []),
        ("A*", ["A.py"]),
        ("src", ["src"]),
        ("", []),
    ],
)
def test_globs(tmp_path_factory: pytest.TempPathFactory, glob: str, paths: list[str]) -> None:
    assert _matching(_named_store(tmp_path_factory), glob) == sorted(paths)


_STORES: dict[str, LanceStore] = {}


def _named_store(folders: pytest.TempPathFactory) -> LanceStore:
    if "names" not in _STORES:
        store = LanceStore(folders.mktemp("names"))
        rows = [chunk(name, "x") for name in _NAMES]
        store.replace_rows("chunks", batches=batches(CHUNKS, rows))
        _STORES["names"] = store
    return _STORES["names"]


def _matching(store: LanceStore, glob: str) -> list[str]:
    found = store.search_tables().equal(
        "chunks", "kind", ["function"], k=99, filters=Filters(paths=(glob,))
    )
    return sorted(found["path"].to_pylist())


_ODD = st.text(st.sampled_from("ab/*'\"\\%_.[]{}()?+^$|-~#& \n\t\u0441\U0010ff41"), max_size=8)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_ODD)
def test_any_glob_means_what_its_expression_says(
    tmp_path_factory: pytest.TempPathFactory, glob: str
) -> None:
    meant = glob + "**" if glob.endswith("/") else glob
    expression = re.compile(glob_expression(meant), re.DOTALL)
    expected = sorted(name for name in _NAMES if expression.fullmatch(name))
    assert _matching(_named_store(tmp_path_factory), glob) == expected


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=6), min_size=1, max_size=3))
def test_any_text_is_only_data(
    tmp_path_factory: pytest.TempPathFactory, values: Sequence[str]
) -> None:
    store = _named_store(tmp_path_factory)
    filters = Filters(repositories=tuple(values), languages=tuple(values), kinds=tuple(values))
    found = store.search_tables().equal("chunks", "path", values, k=99, filters=filters)
    assert found.num_rows == 0
