"""Selection: what has to be read, told by the listing, the rules and the stored state."""

import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codelake.schemas import FILES
from codelake.selection import (
    Entry,
    FileRow,
    PathRules,
    files_batch,
    select_files,
    with_content,
    with_size,
)
from codelake.settings import FileSettings

_RULES = PathRules(FileSettings(), {})
_NOTHING = FILES.table().drop_columns(["content"])


def _stored(entries: list[Entry], fingerprint: str = "f", rules: PathRules = _RULES) -> pa.Table:
    """Return the ledger after a run that read ``entries``; every content is code."""
    rows = select_files(entries, _NOTHING, rules, fingerprint)
    done = [
        with_content(row, b"x = 1\n", FileSettings()) if row.is_wanted else (row, b"")
        for row in rows
    ]
    return pa.Table.from_batches([files_batch("r", fingerprint, done)]).drop_columns(["content"])


def _statuses(rows: list[FileRow]) -> dict[str, str]:
    return {row.path: f"{row.status} {row.skip_reason}".strip() for row in rows}


def _entry(path: str, blob: str = "1", mode: str = "100644") -> Entry:
    return Entry(path, mode, blob)


def test_only_what_changed_is_wanted() -> None:
    stored = _stored([_entry("a.py"), _entry("b.py"), _entry("c.py")])
    rows = select_files([_entry("a.py"), _entry("b.py", "2"), _entry("d.py")], stored, _RULES, "f")
    assert _statuses(rows) == {
        "a.py": "unchanged",
        "b.py": "modified",
        "c.py": "deleted",
        "d.py": "added",
    }
    assert [row.path for row in rows if row.is_wanted] == ["b.py", "d.py"]


def test_an_unchanged_row_keeps_what_the_content_told() -> None:
    stored = _stored([_entry("tool")])
    stored = stored.set_column(4, FILES.schema.field("language"), pa.array(["python"]))
    (row,) = select_files([_entry("tool")], stored, _RULES, "f")
    assert (row.status, row.language) == ("unchanged", "python")


def test_other_settings_make_every_row_anew() -> None:
    stored = _stored([_entry("a.py")], "old")
    assert _statuses(select_files([_entry("a.py")], stored, _RULES, "new")) == {"a.py": "modified"}


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (_entry("a", mode="100644"), _entry("a", mode="120000"), "modified symlink"),
        (_entry("a", mode="120000"), _entry("a", mode="100644"), "modified"),
        (_entry("a", mode="120000"), _entry("a", mode="160000"), "modified submodule"),
        (_entry("a", mode="100644"), _entry("a", mode="100755"), "unchanged"),
        (_entry("a", mode="120000"), _entry("a", mode="120000"), "unchanged symlink"),
    ],
)
def test_a_change_of_kind_is_a_change(before: Entry, after: Entry, status: str) -> None:
    rows = select_files([after], _stored([before]), _RULES, "f")
    assert _statuses(rows) == {"a": status}


def test_a_new_ignore_rule_takes_rows_away_and_an_old_one_gives_them_back() -> None:
    entries = [_entry("src/a.py"), _entry("gen/b.py")]
    ignoring = PathRules(FileSettings(), {".codelakeignore": b"gen/\n"})
    away = select_files(entries, _stored(entries), ignoring, "f")
    back = select_files(entries, _stored(entries, rules=ignoring), _RULES, "f")
    assert _statuses(away)["gen/b.py"] == "modified excluded"
    assert _statuses(back)["gen/b.py"] == "modified"


def test_an_unreadable_file_is_tried_again() -> None:
    rows = [(with_size(FileRow("a.py", "1", "added"), None, 10), b"")]
    stored = pa.Table.from_batches([files_batch("r", "f", rows)]).drop_columns(["content"])
    (row,) = select_files([_entry("a.py")], stored, _RULES, "f")
    assert row.is_wanted


def test_content_that_vanished_between_two_looks_is_unreadable() -> None:
    row, content = with_content(FileRow("a.py", "1", "added"), None, FileSettings())
    assert (row.skip_reason, content) == ("unreadable", b"")


def test_a_skipped_file_carries_no_content() -> None:
    row, content = with_content(FileRow("a.py", "1", "added"), b" \n", FileSettings())
    assert (row.skip_reason, content) == ("empty", b"")


def test_include_and_exclude_are_gitignore_patterns() -> None:
    rules = PathRules(
        FileSettings(include=("src/", "*.md"), exclude=("*.gen.py", "!keep.gen.py")), {}
    )
    excluded = {
        path: rules.is_excluded(path)
        for path in ("src/a.py", "b.py", "docs/c.md", "src/d.gen.py", "src/keep.gen.py")
    }
    assert excluded == {
        "src/a.py": False,
        "b.py": True,
        "docs/c.md": False,
        "src/d.gen.py": True,
        "src/keep.gen.py": False,
    }


_PARTS = st.sampled_from(["a", "b", "ab", "x y", "[a]", "c*", "#d"])
_PATHS = st.lists(_PARTS, min_size=1, max_size=3).map("/".join)
_PATTERNS = st.sampled_from(
    [
        "a",
        "/a",
        "a/",
        "!a",
        "*",
        "!b/",
        "a/b",
        "**/b",
        "a/**",
        "!/ab",
        "?b",
        "[ab]",
        "\\#d",
        "#d",
        "x y",
        "c\\*",
        "",
    ]
)
_IGNORE_FILES = st.dictionaries(
    st.sampled_from(["", "a/", "b/", "a/b/", "[a]/", "c*/", "x y/"]),
    st.lists(_PATTERNS, max_size=3).map("\n".join),
    max_size=3,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_IGNORE_FILES, st.sets(_PATHS, min_size=1, max_size=6))
def test_ignore_files_mean_what_they_mean_to_git(
    tmp_path_factory: pytest.TempPathFactory, ignore_files: dict[str, str], paths: set[str]
) -> None:
    place = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "-q", place], check=True)
    for folder, text in ignore_files.items():
        (place / folder).mkdir(parents=True, exist_ok=True)
        (place / folder / ".gitignore").write_text(text)
    asked = subprocess.run(
        ["git", "-c", f"core.excludesFile={Path('/dev/null')}", "check-ignore", "--stdin", "-z"],
        input="\0".join(paths).encode(),
        capture_output=True,
        cwd=place,
        check=False,
    ).stdout.decode()
    rules = PathRules(
        FileSettings(),
        {f"{folder}.codelakeignore": text.encode() for folder, text in ignore_files.items()},
    )
    assert set(asked.split("\0")[:-1]) == {path for path in paths if rules.is_excluded(path)}
