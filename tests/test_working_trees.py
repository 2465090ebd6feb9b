"""Checkouts as they lie there: what git says is ignored, is ignored, and nothing else."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nights import commit, git

from codelake.schemas import FILES
from codelake.settings import Settings, build_settings
from resources import working_trees
from resources.files import read_files
from resources.repositories import discover


@pytest.fixture
def live(tmp_path: Path) -> Settings:
    return build_settings({"store": str(tmp_path / "store"), "sources": {"untracked": True}})


def _paths(place: Path, chosen: Settings) -> list[str]:
    (repository,) = discover([str(place)], chosen)
    nothing = FILES.table().drop_columns(["content"])
    batches = read_files(repository, nothing, chosen, fingerprint="f")
    return [path for batch in batches for path in batch.column("path").to_pylist()]


def _write(place: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)


@pytest.mark.parametrize("named", [True, False])
def test_global_rules_of_the_user_count(
    tmp_path: Path, live: Settings, monkeypatch: pytest.MonkeyPatch, *, named: bool
) -> None:
    home = tmp_path / "home"
    _write(home, {".config/git/ignore": "*.swp\n", "own rules": "*.swp\n"})
    settings_ = f'[core]\n\texcludesFile = "{home / "own rules"}"\n' if named else "[core]\n"
    _write(home, {"config": settings_})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "config"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    working_trees._global_excludes.cache_clear()
    try:
        commit(tmp_path / "app", {"a.py": "x = 1\n"})
        _write(tmp_path / "app", {"b.py": "y = 2\n", ".b.py.swp": "noise\n"})
        assert _paths(tmp_path / "app", live) == ["a.py", "b.py"]
    finally:
        working_trees._global_excludes.cache_clear()


def test_rules_of_the_repository_count_in_a_second_checkout(tmp_path: Path, live: Settings) -> None:
    commit(tmp_path / "app", {"a.py": "x = 1\n", ".gitignore": "*.log\n"})
    git(tmp_path / "app", "worktree", "add", "-q", "-b", "feature", str(tmp_path / "second"))
    _write(tmp_path / "app", {".git/info/exclude": "notes.py\n"})
    _write(tmp_path / "second", {"b.py": "y = 2\n", "notes.py": "", "x.log": "", ".env": "X=1\n"})
    assert _paths(tmp_path / "second", live) == [".env", ".gitignore", "a.py", "b.py"]


def test_what_is_not_there_is_not_listed(tmp_path: Path, live: Settings) -> None:
    place = tmp_path / "app"
    commit(place, {"in/a.py": "x = 1\n", "out/b.py": "y = 2\n", "gone.py": "z = 3\n"})
    git(place, "sparse-checkout", "set", "--cone", "in")
    (place / "gone.py").unlink()
    _write(place, {"in/new.py": "w = 4\n", "in/.codelakeignore": "left.py\n", "in/left.py": ""})
    assert _paths(place, live) == ["in/.codelakeignore", "in/a.py", "in/left.py", "in/new.py"]
    plain = build_settings({"store": live.store})
    assert _paths(place, plain) == ["gone.py", "in/a.py", "out/b.py"]


_PARTS = st.sampled_from(["a", "b", "build", "x y", "é", "-d", "n\nl", "'q"])
_FILES = st.lists(st.lists(_PARTS, min_size=1, max_size=3).map("/".join), max_size=8, unique=True)
_RULES = st.lists(
    st.sampled_from(
        ["a", "/a", "build/", "!a", "*", "!b", "**/b", "a/*", "!build/", "\\!x", "x y"]
    ),
    max_size=3,
).map("\n".join)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_FILES, _FILES, _RULES, _RULES, _RULES)
def test_the_listing_is_what_git_lists(  # two sets of files, three of rules
    tmp_path_factory: pytest.TempPathFactory,
    tracked: list[str],
    untracked: list[str],
    top: str,
    inner: str,
    own: str,
) -> None:
    place = tmp_path_factory.mktemp("tree") / "app"
    git(place.parent, "init", "-q", "-b", "main", str(place))
    for number, name in enumerate([*tracked, ".gitignore", "a/.gitignore", *untracked]):
        text = {".gitignore": top, "a/.gitignore": inner}.get(name, f"{number}\n")
        try:
            _write(place, {name: text})
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue  # a folder stands where the file should
        if name in tracked:
            git(place, "add", "-f", "--", name)
    git(place, "commit", "-q", "--allow-empty", "-m", "one")
    _write(place, {".git/info/exclude": own})
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    expected = subprocess.run(listing, cwd=place, check=True, capture_output=True).stdout
    chosen = build_settings({"store": str(place.parent / "store"), "sources": {"untracked": True}})
    assert sorted(os.fsdecode(expected).split("\0")[:-1]) == _paths(place, chosen)
