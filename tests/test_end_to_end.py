"""The whole job over real repositories, with the shipped model, Lance tables and Dagster."""

import shutil
from pathlib import Path

import pytest
from nights import commit, git, night, rows

from codelake.search import search
from codelake.settings import EmbeddingSettings
from resources.embedders import open_embedder
from resources.store import LanceStore

_RETRY = '''"""Payments."""


class RetryPolicy:
    """How long to wait before a payment is tried again."""

    def delay(self, attempt):
        """Seconds before the next attempt, doubled each time."""
        return min(60, 2**attempt)


def charge(card, amount):
    """Take money from a card."""
    return card.debit(amount)
'''
_SERVER = """package server

// Listen opens the port and serves requests until the context ends.
func Listen(port int) error {
\treturn serve(port)
}
"""
_GUIDE = "# Guide\n\nHow to deploy the service.\n\n## Install\n\n```sh\nmake install\n```\n"


@pytest.fixture
def organisation(tmp_path: Path) -> Path:
    folder = tmp_path / "organisation"
    commit(folder / "shop", {"pay/retry.py": _RETRY, "README.md": _GUIDE, "logo.png": "\0\0\1\2"})
    commit(folder / "gate", {"server.go": _SERVER, "copied/retry.py": _RETRY})
    return folder


def test_a_question_finds_the_code_that_answers_it(organisation: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    summary = night(store, organisation, embedding__embedder="minilm")
    assert (summary.repositories, summary.failed) == (2, [])
    assert summary.files == {"indexed": 4, "skipped": {"binary": 1}}
    for table in ("chunks", "symbols"):
        stored = rows(store, table)
        assert stored
        assert {row["model_id"] for row in stored} == {LanceStore(store).models().model_id}
    tables = LanceStore(store).search_tables()
    answer = search(
        "how long until the payment is attempted again",
        tables=tables,
        embedder=open_embedder(EmbeddingSettings()),
        k=3,
    )
    best = answer.hits[0]
    assert best.qualified_name in {"RetryPolicy", "RetryPolicy.delay"}
    places = {(place.repository, place.path) for place in best.also_at}
    places.add((best.repository, best.path))
    assert places == {("shop", "pay/retry.py"), ("gate", "copied/retry.py")}


def test_rows_of_many_nights_equal_those_of_one(organisation: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    night(store, organisation)
    shop, gate = organisation / "shop", organisation / "gate"
    git(shop, "mv", "pay/retry.py", "pay/policy.py")
    commit(shop, {"pay/new.py": "def refund(card):\n    return card.credit()\n"})
    commit(gate, {"server.go": _SERVER.replace("port int", "port int, host string")})
    night(store, organisation)
    git(gate, "rm", "-q", "copied/retry.py")
    commit(gate, {"server.go": "package server\n\n" + _SERVER.removeprefix("package server\n")})
    git(shop, "checkout", "-q", "-b", "side", "HEAD~1")
    night(store, organisation)
    fresh = tmp_path / "fresh"
    night(fresh, organisation)
    for table in ("chunks", "symbols", "files"):
        assert rows(store, table) == rows(fresh, table)


def test_a_night_without_changes_writes_nothing(organisation: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = night(store, organisation)
    before = rows(store, "chunks")
    second = night(store, organisation)
    assert second.chunks == {
        "added": 0, "modified": 0, "unchanged": first.chunks["added"], "deleted": 0,
    }  # fmt: skip
    assert second.texts == {"embedded": 0, "reused": 0}
    assert second.files == first.files
    assert rows(store, "chunks") == before


def test_a_repository_that_is_gone_takes_its_rows_along(organisation: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    night(store, organisation)
    shutil.rmtree(organisation / "gate")
    summary = night(store, organisation)
    assert summary.repositories == 1
    assert {row["repository"] for row in rows(store, "chunks")} == {"shop"}
    assert [row["repository"] for row in rows(store, "repositories")] == ["shop"]


def test_a_broken_repository_stops_no_other(organisation: Path, tmp_path: Path) -> None:
    (organisation / "shop" / ".git" / "HEAD").write_text("no head\n")
    store = tmp_path / "store"
    summary = night(store, organisation, tmp_path / "absent")
    assert summary.repositories == 1
    assert {failure["repository"] for failure in summary.failed} >= {"shop"}
    assert all(failure["reason"] for failure in summary.failed)
    assert {row["repository"] for row in rows(store, "chunks")} == {"gate"}


def test_a_dry_run_counts_and_stores_nothing(organisation: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    summary = night(store, organisation, is_dry=True)
    assert summary.chunks["added"] > 0
    assert not store.exists()
    assert summary.files == night(store, organisation).files
    (organisation / "shop" / "new.py").write_text("def new():\n    return 1\n")
    commit(organisation / "shop")
    foreseen, done = night(store, organisation, is_dry=True), night(store, organisation)
    assert (foreseen.files, foreseen.chunks) == (done.files, done.chunks)
    assert foreseen.symbols == done.symbols


def test_words_are_enough_where_no_embedder_is_wanted(organisation: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert night(store, organisation, embedding__embedder="none").failed == []
    answer = search("RetryPolicy", tables=LanceStore(store).search_tables(), embedder=None)
    assert answer.hits[0].qualified_name == "RetryPolicy"
