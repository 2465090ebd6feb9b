"""Regular, hybrid, symbol and pattern search over a real store."""

import doctest
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from codelake.embedding import Embedded
from codelake.errors import EmbeddingError, UsageError
from codelake.search import Answer, Filters, find_similar, search, show
from codelake.settings import SearchSettings, Settings, merge_settings
from resources.embedders.hashing import HashEmbedder
from resources.store import LanceStore, LanceTables
from tests.lake import chunk, embed, fill, symbol

EMBEDDER = HashEmbedder(64)

POLICY = "class RetryPolicy:\n    def next_delay(self, attempt):\n        return 2 ** attempt"
DELAY = "    def next_delay(self, attempt):\n        return 2 ** attempt"
HTTP = "def parseHTTPRetryAfter(header):\n    return int(header)"
USES = "def charge(card):\n    wait(parseHTTPRetryAfter(card.header))\n    raise Declined(card)"
ERROR = "def open_store(path):\n    raise StoreError(f'no index yet in {path}: run the indexer')"
TEST = "def test_retry_policy():\n    assert RetryPolicy().next_delay(1) == 2"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> LanceTables:
    chunks = [
        chunk("pay/retry.py", f"{POLICY}\n\n{HTTP}"),
        chunk("pay/charge.py", USES),
        chunk("store/open.py", ERROR),
        chunk("tests/test_retry.py", TEST, is_test=True),
        chunk("docs/retry.md", "The retry policy decides the delay.", is_documentation=True),
    ]
    symbols = [
        symbol("pay/retry.py", "RetryPolicy", POLICY, kind="class", doc="When to try again."),
        symbol("pay/retry.py", "RetryPolicy.next_delay", DELAY, 2, kind="method"),
        symbol("pay/retry.py", "parseHTTPRetryAfter", HTTP, 5),
        symbol("pay/charge.py", "charge", USES),
        symbol("store/open.py", "open_store", ERROR),
        symbol("tests/test_retry.py", "test_retry_policy", TEST, is_test=True),
    ]
    return fill(tmp_path_factory.mktemp("store"), chunks, symbols, EMBEDDER)


class Certain(HashEmbedder):
    """An embedder that leaves nothing to words."""

    dense_weight: float = 1.0


def ask(tables: LanceTables, query: str, **options: object) -> Answer:
    return search(query, tables=tables, embedder=EMBEDDER, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("parseHTTPRetryAfter", "parseHTTPRetryAfter"),
        ("where is parseHTTPRetryAfter defined", "parseHTTPRetryAfter"),
        ("parse_http_retry_after", "parseHTTPRetryAfter"),
        ("parse http retry after", "parseHTTPRetryAfter"),
        ("`charge`", "charge"),
        ("definition of charge", "charge"),
        ("RetryPolicy.next_delay", "next_delay"),
        ("RetryPolicy::next_delay()", "next_delay"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "text"])
def test_names_find_their_definition_first(
    tables: LanceTables, query: str, name: str, mode: str
) -> None:
    assert name == ask(tables, query, mode=mode).hits[0].name


@pytest.mark.parametrize("mode", ["hybrid", "text"])
def test_quotes_and_messages_find_where_they_stand(tables: LanceTables, mode: str) -> None:
    for query in ("StoreError: no index yet in /tmp/x: run the indexer", '"no index yet in"'):
        assert ask(tables, query, mode=mode).hits[0].path == "store/open.py"


def test_words_of_an_identifier_find_it(tables: LanceTables) -> None:
    for query in ("http retry", "get http after header"):
        assert "pay/retry.py" in [h.path for h in ask(tables, query, mode="text").hits[:2]]


def test_a_name_nothing_defines_is_found_where_it_is_used(tables: LanceTables) -> None:
    assert ask(tables, "Declined").hits[0].path == "pay/charge.py"


def test_tests_and_documentation_rank_below_code_unless_asked_for(tables: LanceTables) -> None:
    assert ask(tables, "retry policy delay").hits[0].path == "pay/retry.py"
    assert ask(tables, "tests for the retry policy").hits[0].is_test
    assert not ask(tables, "latest retry policy").hits[0].is_test
    weights = {h.path: h.scores.get("weight", 1.0) for h in ask(tables, "docs of retry").hits}
    assert weights["docs/retry.md"] == 1.0
    assert weights["tests/test_retry.py"] == 0.6


def test_chunk_and_symbol_of_one_place_are_one_hit(tables: LanceTables) -> None:
    hits = ask(tables, "charge a card").hits
    assert [h.path for h in hits].count("pay/charge.py") == 1
    assert next(h for h in hits if h.path == "pay/charge.py").scores["agreement"] > 0


def test_vector_mode_knows_no_words_and_symbol_mode_only_symbols(tables: LanceTables) -> None:
    assert all(
        set(h.scores) <= {"dense", "weight", "agreement", "file"}
        for h in ask(tables, "retry policy", mode="vector").hits
    )
    assert {"symbols"} == {h.table for h in ask(tables, "retry policy", mode="symbol").hits}


def test_patterns_find_lines_code_before_tests(tables: LanceTables) -> None:
    answer = ask(tables, r"next_\w+\(", mode="regex")
    assert [(h.path, h.lines) for h in answer.hits] == [
        ("pay/retry.py", (2,)),
        ("tests/test_retry.py", (2,)),
    ]
    with pytest.raises(UsageError, match="regular expression"):
        ask(tables, "(", mode="regex")


def test_filters_come_before_the_cut(tables: LanceTables) -> None:
    everything = ask(tables, "retry policy", k=50).hits
    tests = ask(tables, "retry policy", k=1, filters=Filters(is_test=True)).hits
    assert [h.path for h in tests] == ["tests/test_retry.py"]
    below = ask(tables, "retry policy", k=50, filters=Filters(paths=("pay/",))).hits
    assert {h.path for h in below} == {"pay/retry.py", "pay/charge.py"}
    assert {h.path for h in everything} > {h.path for h in below}
    assert not ask(tables, "retry", filters=Filters(languages=("cobol",))).hits


def test_the_same_question_has_the_same_answer(tables: LanceTables) -> None:
    first = ask(tables, "retry policy delay")
    assert all(first == ask(tables, "retry policy delay") for _ in range(20))


def test_several_questions_are_one_answer_that_says_which_found_what(tables: LanceTables) -> None:
    queries = ["parseHTTPRetryAfter", "open_store", "parse http retry after"]
    hits = search(queries, tables=tables, embedder=EMBEDDER).hits
    assert [h.name for h in hits[:2]] == ["parseHTTPRetryAfter", "open_store"]
    assert {"parseHTTPRetryAfter", "parse http retry after"} <= set(hits[0].matched_queries)
    assert len({(h.repository, h.path, h.start_line, h.end_line) for h in hits}) == len(hits)
    alone = ask(tables, "charge").hits
    assert all(h.matched_queries == ("charge",) for h in alone)


@pytest.mark.parametrize(
    ("queries", "mode", "k", "message"),
    [
        ([], "hybrid", 10, "needs a question"),
        (["  "], "hybrid", 10, "needs a question"),
        (["x"], "hybird", 10, "did you mean 'hybrid'"),
        (["x"], "zzz", 10, "choose from hybrid"),
        (["x"], "hybrid", 0, "at least one hit"),
    ],
)
def test_wrong_requests_are_refused(
    tables: LanceTables, queries: list[str], mode: str, k: int, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        search(queries, tables=tables, embedder=EMBEDDER, mode=mode, k=k)
    with pytest.raises(UsageError, match="needs an embedder"):
        search("x", tables=tables, embedder=None, mode="vector")


def test_copies_are_one_hit_that_lists_the_places(tmp_path: Path) -> None:
    rows = [chunk(f"fork{n}.py", USES, repository=f"fork{n}") for n in range(70)]
    rows += [chunk("other.py", "def refund(card):\n    return charge(-card)", repository="fork0")]
    tables = fill(tmp_path, rows, [], EMBEDDER)
    hits = ask(tables, "charge card", k=2).hits
    assert [h.path for h in hits if not h.also_at] == ["other.py"]
    copied = next(h for h in hits if h.also_at)
    assert len(copied.also_at) == 69
    only = Filters(repositories=("fork1", "fork2"))
    (hit,) = ask(tables, "charge card", filters=only).hits
    assert [hit.repository, *(p.repository for p in hit.also_at)] == ["fork1", "fork2"]


def test_copies_do_not_crowd_out_what_else_there_is(tmp_path: Path) -> None:
    rows = [chunk(f"fork{n}.py", USES, repository=f"fork{n}") for n in range(120)]
    rows += [chunk("other.py", "def unlike(anything):\n    charge()")]
    tables = fill(tmp_path, rows, [], EMBEDDER)
    hits = ask(tables, USES, k=2).hits
    assert sorted(len(h.also_at) for h in hits) == [0, 119]


class _BrokenEmbedder(HashEmbedder):
    """Fails for every question, or for the one that says so."""

    is_down = False

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        if self.is_down:
            message = "no answer from the server"
            raise EmbeddingError(message)
        embedded = super().embed_queries(texts)
        failures = {n: "too odd" for n, text in enumerate(texts) if "odd" in text}
        return Embedded(embedded.vectors, failures)


def test_questions_without_a_vector_are_answered_by_words(tables: LanceTables) -> None:
    embedder = _BrokenEmbedder(64)
    answer = search(["odd charge", "retry policy"], tables=tables, embedder=embedder)
    assert {h.path for h in answer.hits} >= {"pay/charge.py", "pay/retry.py"}
    assert "'odd charge' has no vector (too odd)" in answer.notices[0]
    with pytest.raises(EmbeddingError, match="too odd"):
        search("odd", tables=tables, embedder=embedder, mode="vector")
    embedder.is_down = True
    answer = search("charge", tables=tables, embedder=embedder)
    assert answer.hits[0].name == "charge"
    assert "no answer from the server" in answer.notices[0]
    with pytest.raises(EmbeddingError, match="no answer"):
        search("charge", tables=tables, embedder=embedder, mode="vector")


def test_a_pattern_re2_cannot_read_still_finds(tables: LanceTables) -> None:
    (hit,) = ask(tables, r"(?x)D eclined", mode="regex").hits
    assert (hit.path, hit.lines) == ("pay/charge.py", ())


def test_no_pattern_takes_for_ever(tmp_path: Path) -> None:
    text = f"def run():\n    x = '{'a' * 60}'\n\n    return x\n"
    tables = fill(tmp_path, [chunk("a.py", text, start=10)])
    (hit,) = ask(tables, r"(a+)+b|\n\s+return|def", mode="regex").hits
    assert hit.lines == (10, 11, 12, 13)


def test_a_file_that_is_named_comes_first(tables: LanceTables) -> None:
    assert ask(tables, "open in store/open.py").hits[0].path == "store/open.py"


def test_a_file_leaves_room_for_others_and_fills_what_is_left(tmp_path: Path) -> None:
    rows = [chunk("a.py", f"def parse_{n}(text):\n    parse(text)", 10 * n) for n in range(1, 9)]
    rows += [chunk(f"b{n}.py", f"def read_{n}(text):\n    parse(page)", 5) for n in range(3)]
    tables = fill(tmp_path, rows, [], EMBEDDER)
    hits = ask(tables, "parse text", k=8, mode="text").hits
    assert [h.path for h in hits[:7]].count("a.py") == 4
    assert len(hits) == 8
    assert sorted((h.score for h in hits), reverse=True) == [h.score for h in hits]


def test_words_answer_while_there_are_no_vectors(tmp_path: Path) -> None:
    tables = fill(tmp_path, [chunk("a.py", POLICY), chunk("b.py", USES)])
    answer = ask(tables, "retry policy")
    assert answer.hits[0].path == "a.py"
    assert "no vectors yet" in answer.notices[0]


def test_rows_without_a_vector_do_not_lose_while_vectors_fill_in(tmp_path: Path) -> None:
    rows = [chunk(f"{n}.py", f"def f{n}(x):\n    return shuffle(x, {n})") for n in range(20)]
    rows.append(chunk("policy.py", POLICY))
    fill(tmp_path, rows)
    store = LanceStore(tmp_path)
    embed(store, EMBEDDER, most=2)
    answer = ask(store.search_tables(), "retry policy next delay")
    assert answer.hits[0].path == "policy.py"
    assert answer.notices == ("Vectors are there for 2 of 21 rows so far.",)


def test_another_model_than_the_stored_one_is_named(tmp_path: Path) -> None:
    tables = fill(tmp_path, [chunk("a.py", POLICY)], [], EMBEDDER)
    other = HashEmbedder(32)
    answer = search("retry policy", tables=tables, embedder=other)
    assert answer.hits[0].path == "a.py"
    assert answer.notices == (
        "Answered by words alone: the index has vectors of hash2-64, not of hash2-32.",
    )


def test_an_empty_store_has_no_hits(tmp_path: Path) -> None:
    assert fill(tmp_path) is not None
    assert ask(LanceStore(tmp_path).search_tables(), "anything").hits == ()


def test_odd_file_names_are_data_in_every_filter(tmp_path: Path) -> None:
    names = ["src/don't.py", "src/100%_done.py", "src/100Xydone.py", "x' OR '1'='1", "SRC/a.py"]
    tables = fill(tmp_path, [chunk(name, f"def f{n}(): pass") for n, name in enumerate(names)])
    for name in names:
        hits = ask(tables, "pass", mode="text", filters=Filters(paths=(name,))).hits
        assert [name] == [h.path for h in hits]
    hits = ask(tables, "pass", mode="text", filters=Filters(paths=("src/",))).hits
    assert set(names[:3]) == {h.path for h in hits}


def test_showing_a_row_gives_its_class_neighbours_and_file(tables: LanceTables) -> None:
    delay = ask(tables, "next_delay", mode="symbol").hits[0]
    shown = show(delay.id, tables=tables)
    assert shown.hit.text == DELAY
    assert [o.qualified_name for o in shown.enclosing] == ["RetryPolicy"]
    assert [o.qualified_name for o in shown.file] == [
        "RetryPolicy",
        "RetryPolicy.next_delay",
        "parseHTTPRetryAfter",
    ]
    whole = ask(tables, "retry policy").hits[0]
    assert show(whole.id, tables=tables).as_json()["hit"]["id"] == whole.id  # type: ignore[index]
    aside = next(h for h in ask(tables, "delay docs").hits if h.table == "chunks")
    assert show(aside.id, tables=tables).hit.text == aside.text
    policy = show(shown.file[0].id, tables=tables)
    assert policy.before is None
    assert policy.after == shown.file[2]
    with pytest.raises(UsageError, match="no chunk or symbol"):
        show("nothing", tables=tables)
    with pytest.raises(UsageError, match="no chunk or symbol"):
        show(delay.id, tables=tables, filters=Filters(repositories=("other",)))


def test_a_capped_body_is_shown_whole(tmp_path: Path) -> None:
    body = "def long():\n" + "\n".join(f"    step({n})" for n in range(50))
    head, tail = body.split("\n    step(20)")
    rows = [chunk("a.py", head), chunk("a.py", f"    step(20){tail}", 22)]
    capped = symbol("a.py", "long", body, body="def long():\n    step(0)")
    tables = fill(tmp_path, rows, [capped])
    assert body == show(str(capped["symbol_id"]), tables=tables).hit.text


def test_similar_code_is_found_from_a_line(tables: LanceTables) -> None:
    answer = find_similar("pay/retry.py", 2, repository="shop", tables=tables, k=3)
    assert answer.hits
    assert all(h.path != "pay/retry.py" or h.start_line > 3 for h in answer.hits)
    with pytest.raises(UsageError, match="nothing is indexed"):
        find_similar("pay/retry.py", 400, repository="shop", tables=tables)


def test_similar_code_needs_a_vector(tmp_path: Path) -> None:
    tables = fill(tmp_path, [chunk("a.py", POLICY)])
    with pytest.raises(UsageError, match="no vector yet"):
        find_similar("a.py", 1, repository="shop", tables=tables)


def test_weights_are_settings(tables: LanceTables) -> None:
    ranking = SearchSettings().ranking.model_copy(update={"test_weight": 1.0})
    settings = SearchSettings().model_copy(update={"ranking": ranking})
    plain = {h.id: h for h in ask(tables, "retry policy", k=50).hits}
    lifted = {h.id: h for h in ask(tables, "retry policy", k=50, settings=settings).hits}
    tests = [i for i, h in plain.items() if h.is_test]
    assert tests
    assert all(lifted[i].score > plain[i].score for i in tests)


def test_the_example_of_the_documentation_is_true(tables: LanceTables) -> None:
    (example,) = doctest.DocTestFinder().find(search, "search", globs={"tables": tables})
    example.globs["search"] = search
    assert doctest.DocTestRunner().run(example) == (0, 3)


def test_the_answer_has_the_keys_programs_rely_on(tables: LanceTables) -> None:
    answer = ask(tables, "retry policy")
    assert {"mode", "hits", "stopped", "notices"} == set(answer.as_json())
    wanted = (
        "id repository path start_line end_line kind name qualified_name language score text "
        "matched_queries also_at hop"
    )
    (first, *_) = replace(answer).as_json()["hits"]  # type: ignore[misc]
    assert set(wanted.split()) <= set(first)


def test_an_embedder_may_have_a_weight_of_its_own_that_settings_overrule(
    tables: LanceTables,
) -> None:
    def scores(embedder: HashEmbedder, settings: SearchSettings) -> list[float]:
        asked = "when is a card declined"
        hits = search(asked, tables=tables, embedder=embedder, settings=settings).hits
        return [hit.score for hit in hits]

    own = scores(Certain(64), SearchSettings())
    assert own == scores(EMBEDDER, SearchSettings(dense_weight=1.0))
    changed = merge_settings(Settings(), {"store": "x", "search.results": 10}).search
    assert own == scores(Certain(64), changed), "a change sets nothing else"
    default = scores(EMBEDDER, SearchSettings())
    assert own != default
    assert default == scores(Certain(64), SearchSettings(dense_weight=0.5))
