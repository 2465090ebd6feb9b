"""Older states are found by what a person knows of them, and what a search names must be there."""

from pathlib import Path

import pytest

from codelake.errors import UsageError
from codelake.schemas import CHUNKS
from codelake.search import Filters, search
from pipelines.opening import check_filters
from resources.store import STORED, LanceStore
from tests.stored_rows import batches, chunk, row

FIRST, SECOND = "1111111aaaaaaa", "2222222bbbbbbb"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LanceStore:
    """Return two nights of two repositories of one owner and one of nobody's."""
    made = LanceStore(tmp_path_factory.mktemp("store"))
    for night, commit, text in (("night-1", FIRST, "old retry"), ("night-2", SECOND, "new retry")):
        spec = STORED["repositories"]
        ledger = [
            row(spec, repository=name, commit=commit if name == "acme/shop" else "9" * 40)
            for name in ("acme/shop", "acme/team/till", "tool")
        ]
        rows = [
            chunk("a.py", f"{text} {name}", repository=name)
            for name in ("acme/shop", "acme/team/till", "tool")
        ]
        with made.writing():
            made.replace_rows("repositories", batches=batches(spec, ledger))
            made.replace_rows(
                "chunks",
                delete_repositories=("acme/shop", "acme/team/till", "tool"),
                batches=batches(CHUNKS, rows),
            )
            made.publish(night)
    return made


def texts(store: LanceStore, filters: Filters = Filters(), as_of: str = "") -> list[str]:  # noqa: B008 - frozen
    found = store.find_state(as_of) if as_of else None
    tables = store.search_tables(state=found.state if found else None)
    checked = check_filters(filters, store, tables, found)
    answer = search("retry", tables=tables, embedder=None, mode="text", filters=checked)
    return sorted(hit.text for hit in answer.hits)


def test_an_owner_is_what_stands_before_a_name(store: LanceStore) -> None:
    assert texts(store, Filters(owners=("acme",))) == [
        "new retry acme/shop",
        "new retry acme/team/till",
    ]
    assert texts(store, Filters(owners=("acme/team",))) == ["new retry acme/team/till"]
    both = Filters(owners=("acme",), repositories=("tool",))
    assert texts(store, both) == []


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("night-1", "old retry"),
        ("night-2", "new retry"),
        ("2999-01-01", "new retry"),
        ("2999-01-01T10:00+02:00", "new retry"),
        (FIRST, "old retry"),
        (SECOND[:8], "new retry"),
        ("", "new retry"),
    ],
)
def test_a_state_is_found_by_name_moment_or_commit(
    store: LanceStore, as_of: str, expected: str
) -> None:
    assert texts(store, as_of=as_of)[0] == f"{expected} acme/shop"


def test_a_commit_is_searched_where_it_was(store: LanceStore) -> None:
    assert texts(store, as_of=FIRST) == ["old retry acme/shop"]
    assert texts(store, Filters(repositories=("acme/shop", "tool")), FIRST) == [
        "old retry acme/shop"
    ]
    with pytest.raises(UsageError, match="that commit is one of acme/shop"):
        texts(store, Filters(repositories=("tool",)), FIRST)


@pytest.mark.parametrize("as_of", ["night-", "night-3", "1999-01-01", "abcdef0123", "yesterday"])
def test_what_means_no_state_is_told_with_those_there_are(store: LanceStore, as_of: str) -> None:
    with pytest.raises(UsageError, match=rf"no published state is meant by '{as_of}'.*night-2 \("):
        store.find_state(as_of)


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (Filters(repositories=("acme/shopp",)), "no repository 'acme/shopp' .* acme/shop"),
        (Filters(owners=("acne",)), "no owner 'acne' in the index; did you mean acme"),
        (Filters(kinds=("functoin",)), "no kind 'functoin' in the index; did you mean function"),
        (Filters(kinds=("zzz",)), "no kind 'zzz' in the index; there are function"),
        (Filters(paths=("src/**", "")), "a path pattern is an empty text"),
        (Filters(languages=("pyhton",)), "unknown language 'pyhton', did you mean python"),
    ],
)
def test_an_unknown_name_is_no_empty_answer(
    store: LanceStore, filters: Filters, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        texts(store, filters)


def test_a_store_without_published_states_says_so(tmp_path: Path) -> None:
    made = LanceStore(tmp_path)
    with made.writing():
        pass
    with pytest.raises(UsageError, match="there are: none"):
        made.find_state("night-1")
