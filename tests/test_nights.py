"""Nights on which something moves, fails or stops between two stages of the job."""

from pathlib import Path

import dagster as dg
import pytest
from nights import commit, configured, git, night, rows

from assets import ASSETS
from assets.repository_table import settle
from codelake.repositories import Repository, compare_repositories
from codelake.schemas import FILES, REPOSITORIES
from codelake.settings import build_settings
from resources.contents import read_contents
from resources.files import read_files
from resources.repositories import discover
from resources.stages import StageIOManager
from resources.store import LanceStore

_ONE = "def one():\n    return 1\n"
_TWO = "def two():\n    return 2\n"
_UP_TO_THE_ROWS = dg.AssetSelection.assets("symbol_table").upstream()


def _paths(store: Path) -> set[tuple[str, str]]:
    return {(row["repository"], row["path"]) for row in rows(store, "chunks")}


def test_a_folder_that_cannot_be_read_for_many_nights_keeps_its_rows(tmp_path: Path) -> None:
    store, organisation = tmp_path / "store", tmp_path / "organisation"
    commit(organisation / "shop", {"a.py": _ONE})
    night(store, organisation)
    before = rows(store, "chunks")
    organisation.rename(tmp_path / "away")
    for _ in range(2):
        failed = {failure["repository"] for failure in night(store, organisation).failed}
        assert failed == {"organisation", "shop"}
        assert rows(store, "chunks") == before
    (tmp_path / "away").rename(organisation)
    assert night(store, organisation).chunks["unchanged"] == len(before)


def test_two_repositories_of_one_name_do_not_take_each_others_place(tmp_path: Path) -> None:
    store = tmp_path / "store"
    commit(tmp_path / "a" / "shop", {"one.py": _ONE})
    commit(tmp_path / "b" / "shop", {"two.py": _TWO})
    for place in ("a", "b", "a"):
        night(store, tmp_path / place / "shop", sources__prune=False)
    (mark,) = {row["repository"] for row in rows(store, "chunks")} - {"shop"}
    assert mark.startswith("shop~")
    assert _paths(store) == {("shop", "one.py"), (mark, "two.py")}


def test_however_a_source_is_spelled_its_repositories_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "clones")
    for name in ("shop", "gate"):
        commit(tmp_path / "clones" / name, {"a.py": _ONE})
    store, spelling = tmp_path / "store", "x/../link"
    night(store, spelling, sources__prune=False)
    (tmp_path / "clones" / "gate").rename(tmp_path / "gate")
    night(store, spelling, sources__prune=False)
    assert _paths(store) == {("shop", "a.py")}
    (tmp_path / "clones").rename(tmp_path / "away")
    night(store, spelling)
    assert _paths(store) == {("shop", "a.py")}


def _materialize(store: Path, source: Path) -> dg.ExecuteInProcessResult:
    """Run the stages up to the stored rows, as the user interface does."""
    return dg.materialize(
        ASSETS,
        selection=_UP_TO_THE_ROWS,
        resources={
            "configuration": configured(store, source),
            "stages": StageIOManager(folder=str(store / "stages")),
        },
        raise_on_error=False,
    )


def test_a_run_that_dagster_starts_makes_the_store_and_is_the_only_one(tmp_path: Path) -> None:
    store = tmp_path / "store"
    commit(tmp_path / "shop", {"a.py": _ONE})
    other = LanceStore(store)
    with other.writing():
        assert not _materialize(store, tmp_path / "shop").success
    assert rows(store, "chunks") == []
    assert _materialize(store, tmp_path / "shop").success
    assert _paths(store) == {("shop", "a.py")}


def test_a_night_without_sources_fails_and_forgets_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    commit(tmp_path / "shop", {"a.py": _ONE})
    night(store, tmp_path / "shop")
    before = rows(store, "chunks")
    (failure,) = night(store).failed
    assert "sources.paths" in failure["reason"]
    assert rows(store, "chunks") == before


def test_what_a_stopped_night_stored_is_looked_at_again(tmp_path: Path) -> None:
    store, shop = tmp_path / "store", tmp_path / "shop"
    commit(shop, {"a.py": _ONE, "gone.py": _TWO})
    night(store, shop)
    before = rows(store, "chunks")
    git(shop, "rm", "-q", "gone.py")
    commit(shop, {"a.py": _TWO, "new.py": _ONE})
    # It ends after the rows and before the ledger, and by the next night all is as it was.
    assert _materialize(store, shop).success
    assert _paths(store) == {("shop", "a.py"), ("shop", "new.py")}
    git(shop, "reset", "-q", "--hard", "HEAD~1")
    night(store, shop)
    assert rows(store, "chunks") == before
    assert LanceStore(store).verify() == []


@pytest.mark.parametrize(("is_live", "later"), [(True, "changed"), (False, "unchanged")])
def test_a_commit_stands_for_the_rows_unless_they_were_read_from_disk(
    *, is_live: bool, later: str
) -> None:
    found = [Repository("app", "/org/app", "/org/app/.git", "c1", "main")]
    table = compare_repositories(found, REPOSITORIES.table(), "f", is_live=is_live)
    stored = settle(table, FILES.table(), is_live=is_live)
    assert compare_repositories(found, stored, "f")["status"].to_pylist() == [later]


def test_a_credential_in_a_source_is_written_nowhere(tmp_path: Path) -> None:
    secret = "t0ken4u"  # noqa: S105 # made up for the test
    summary = night(tmp_path / "store", f"https://me:{secret}@127.0.0.1:9/team/app.git")
    assert [failure["repository"] for failure in summary.failed] == ["team/app"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if secret.encode() in path.read_bytes()] == []


def test_without_an_embedder_no_text_is_said_to_be_reused(tmp_path: Path) -> None:
    commit(tmp_path / "shop", {"a.py": _ONE})
    summary = night(tmp_path / "store", tmp_path / "shop", embedding__embedder="none")
    assert summary.chunks["added"] == 1
    assert summary.texts == {"embedded": 0, "reused": 0}
    later = night(tmp_path / "store", tmp_path / "shop")
    assert later.texts == {"embedded": 2, "reused": 0}


def test_a_file_that_is_saved_while_it_is_read_is_read_again_the_next_night(
    tmp_path: Path,
) -> None:
    commit(tmp_path / "shop", {"a.py": _ONE, "b.py": _ONE})
    settings = build_settings({"sources": {"untracked": True}, "store": str(tmp_path / "store")})
    found = discover([str(tmp_path / "shop")], settings)
    table = compare_repositories(found, REPOSITORIES.table(), "f", is_live=True)
    listed = list(read_files(found[0], FILES.table(), settings, fingerprint="f"))
    (tmp_path / "shop" / "a.py").write_text(_TWO)
    (batch,) = read_contents(table, listed, settings)
    a, b = batch.to_pylist()
    assert (a["content"].decode(), b["content"].decode()) == (_TWO, _ONE)
    assert (a["blob_id"], b["blob_id"]) == ("-", listed[0].column("blob_id")[1].as_py())


def test_a_night_on_tables_that_are_not_sound_is_not_green(tmp_path: Path) -> None:
    store = tmp_path / "store"
    commit(tmp_path / "shop", {"a.py": _ONE})
    assert night(store, tmp_path / "shop").failed == []
    commit(tmp_path / "shop", {"b.py": _TWO})
    assert night(store, tmp_path / "shop", embedding__embedder="none").failed == []
    LanceStore(store).replace_rows("chunks", delete_repositories=["shop"])
    (failure,) = night(store, tmp_path / "shop").failed
    assert "missing-rows" in failure["reason"]


def test_a_mistyped_source_is_forgotten_by_the_next_night(tmp_path: Path) -> None:
    store, shop = tmp_path / "store", tmp_path / "shop"
    commit(shop, {"a.py": _ONE})
    assert len(night(store, shop, tmp_path / "shpo", sources__prune=False).failed) == 1
    assert night(store, shop, sources__prune=False).failed == []
    assert [row["repository"] for row in rows(store, "repositories")] == ["shop"]


def test_a_dry_run_leaves_nothing_where_there_was_no_store(tmp_path: Path) -> None:
    store = tmp_path / "deep" / "store"
    commit(tmp_path / "shop", {"a.py": _ONE})
    summary = night(store, tmp_path / "shop", is_dry=True)
    assert (summary.chunks["added"], summary.failed, summary.store) == (1, [], str(store))
    assert not (tmp_path / "deep").exists()
