"""What was found, compared with what is stored: changed, unchanged, gone or kept."""

from dataclasses import replace

import pyarrow as pa
import pytest

from codelake.repositories import Repository, compare_repositories, hold_back
from codelake.schemas import REPOSITORIES


def _compare(found: list[Repository], stored: pa.Table, mark: str = "f") -> dict[str, str]:
    table = compare_repositories(found, stored, mark)
    REPOSITORIES.check(table)
    return dict(zip(table["repository"].to_pylist(), table["status"].to_pylist(), strict=True))


def test_a_repository_is_changed_by_commit_or_settings() -> None:
    app = Repository("app", "/org/app", "/org/app/.git", "c1", "main")
    stored = compare_repositories([app], REPOSITORIES.table(), "f")
    moved = Repository("app", "/org/app", "/org/app/.git", "c2", "main")
    assert stored["status"].to_pylist() == ["changed"]
    assert _compare([app], stored) == {"app": "unchanged"}
    assert _compare([moved], stored) == {"app": "changed"}
    assert _compare([app], stored, "other") == {"app": "changed"}
    assert _compare([], stored) == {"app": "removed"}


def test_a_folder_on_disk_is_always_looked_at() -> None:
    folder = Repository("folder", "/org/folder")
    stored = compare_repositories([folder], REPOSITORIES.table(), "f")
    assert _compare([folder], stored) == {"folder": "changed"}
    app = Repository("app", "/org/app", "/org/app/.git", "c1", "main")
    stored = compare_repositories([app], REPOSITORIES.table(), "f", is_live=True)
    again = compare_repositories([app], stored, "f", is_live=True)
    assert again["status"].to_pylist() == ["changed"]


def test_a_source_that_is_down_removes_nothing_however_long() -> None:
    app = Repository("app", "/org/app", "/org/app/.git", "c1", "main")
    stored = compare_repositories([app], REPOSITORIES.table(), "f")
    down = Repository("org", "/org", status="failed", reason="cannot read /org")
    for _ in range(3):
        stored = compare_repositories([down], stored, "f")
        assert [(r["repository"], r["status"], r["commit"]) for r in stored.to_pylist()] == [
            ("app", "failed", "c1"),
            ("org", "failed", ""),
        ]
    assert _compare([app], stored) == {"app": "unchanged", "org": "removed"}
    skipped = Repository("old", "/org/old", status="skipped", reason="left out")
    stored = compare_repositories([skipped], REPOSITORIES.table(), "f")
    assert _compare([down], stored) == {"old": "skipped", "org": "failed"}


def test_a_name_is_not_given_to_another_repository_while_its_own_stays() -> None:
    first = Repository("app", "/a/app", "/a/app/.git", "c1", "main")
    second = Repository("app", "/b/app", "/b/app/.git", "c2", "main")
    stored = compare_repositories([first], REPOSITORIES.table(), "f")
    marked = second.marked().name
    assert marked != "app"
    # the sources of this run say nothing of the first: it is neither judged nor overwritten
    later = compare_repositories([second], stored, "f", elsewhere=["app"])
    assert later["repository"].to_pylist() == [marked]
    # its source cannot be read tonight
    down = Repository("a", "/a", status="failed", reason="cannot read /a")
    assert _compare([down, second], stored) == {"a": "failed", "app": "failed", marked: "changed"}
    # it is gone for good, or was moved
    assert _compare([second], stored) == {"app": "changed"}


def test_a_repository_that_fails_keeps_its_stored_state() -> None:
    app = Repository("app", "/org/app", "/org/app/.git", "c1", "main")
    stored = compare_repositories([app], REPOSITORIES.table(), "f")
    broken = Repository("app", "/org/app", status="failed", reason="damaged")
    (row,) = compare_repositories([broken], stored, "g").to_pylist()
    assert (row["status"], row["commit"], row["fingerprint"]) == ("failed", "c1", "f")


def test_a_repository_that_is_left_out_now_loses_its_rows() -> None:
    app = Repository("app", "/org/app", "/org/app/.git", "c1", "main")
    stored = compare_repositories([app], REPOSITORIES.table(), "f")
    skipped = Repository("app", "/org/app", status="skipped", reason="lies inside")
    assert _compare([skipped], stored) == {"app": "removed"}
    assert _compare([skipped], REPOSITORIES.table()) == {"app": "skipped"}
    again = compare_repositories([skipped], REPOSITORIES.table(), "f")
    assert _compare([skipped], again) == {"app": "skipped"}


def test_a_row_gives_its_repository_back() -> None:
    app = Repository("app", "/org/app", "/org/app/.git", "c1", "main")
    (row,) = compare_repositories([app], REPOSITORIES.table(), "f").to_pylist()
    assert Repository.from_row(row) == app
    assert (app.work_tree, Repository("m", "https://h/m", "/store/m", "c").work_tree) == (
        "/org/app",
        "",
    )


def _listed(count: int) -> pa.Table:
    return compare_repositories(_found(count), REPOSITORIES.table(), "f")


def _found(count: int) -> list[Repository]:
    places = [(f"acme/{number}", f"https://forge/acme/{number}") for number in range(count)]
    return [Repository(name, source, f"/mirrors/{name}", "c") for name, source in places]


def _held(stored: pa.Table, left: int, most: float, root: str = "https://forge/acme") -> set[str]:
    table = hold_back(compare_repositories(_found(left), stored, "f"), [root], most)
    assert table.schema == REPOSITORIES.schema
    return set(table["status"].to_pylist())


@pytest.mark.parametrize(
    ("stored", "left", "most", "statuses"),
    [
        (100, 80, 0.2, {"unchanged", "removed"}),
        (100, 79, 0.2, {"unchanged", "failed"}),
        (100, 79, 1.0, {"unchanged", "removed"}),
        (11, 1, 0.2, {"unchanged", "removed"}),
        (11, 0, 0.2, {"failed"}),
        (50, 50, 0.0, {"unchanged"}),
    ],
    ids=["as-many-as-may", "one-more", "accepted", "few", "none-left", "none-gone"],
)
def test_a_list_that_got_much_shorter_removes_nothing(
    stored: int, left: int, most: float, statuses: set[str]
) -> None:
    assert _held(_listed(stored), left, most) == statuses


def test_what_a_person_left_out_is_not_held_back() -> None:
    stored = _listed(50)
    assert _held(stored, 0, 0.2, root="https://forge/other") == {"removed"}, "no source any more"
    found = [replace(one, status="skipped", reason="a rule") for one in _found(50)]
    table = compare_repositories(found, stored, "f")
    assert hold_back(table, ["https://forge/acme"], 0.2) == table


def test_what_was_held_back_says_why_and_comes_back_as_it_was() -> None:
    stored = _listed(50)
    table = hold_back(compare_repositories([], stored, "f"), ["https://forge/acme"], 0.2)
    (reason,) = set(table["reason"].to_pylist())
    assert "50 of 50 repositories" in reason
    assert "sources.most_forgotten = 1" in reason
    again = hold_back(compare_repositories([], table, "f"), ["https://forge/acme"], 0.2)
    assert again == table
    assert _held(table, 50, 0.2) == {"unchanged"}
