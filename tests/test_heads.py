"""What HEAD points to, read from the files of an ordinary repository and asked of git elsewhere."""

from pathlib import Path

import pytest
from nights import commit, git

from codelake.settings import build_settings
from resources.git import GitError, read_head
from resources.repositories import discover

_PLAIN = {
    "loose": [],
    "packed": ["pack-refs", "--all"],
    "slash": ["checkout", "-q", "-b", "feature/x"],
}
_ASKED = {
    "detached": ["checkout", "-q", "--detach"],
    "extended": ["config", "extensions.worktreeConfig", "true"],
    "including": ["config", "include.path", "none"],
    "unborn": ["symbolic-ref", "HEAD", "refs/heads/none"],
    "outside": ["symbolic-ref", "HEAD", "refs/heads/../../other"],
}


def _repository(folder: Path, change: list[str]) -> Path:
    commit(folder / "app", {"a.py": "a = 1\n"})
    if change:
        git(folder / "app", *change)
    return folder / "app" / ".git"


@pytest.mark.parametrize("change", _PLAIN.values(), ids=_PLAIN)
def test_of_an_ordinary_repository_git_need_not_be_asked(
    tmp_path: Path, change: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _repository(tmp_path, change)
    git(tmp_path / "app", "config", "include.path", "none")
    asked = read_head(place)
    assert asked.commit == git(tmp_path / "app", "rev-parse", "HEAD").strip()
    git(tmp_path / "app", "config", "--unset", "include.path")
    config = (place / "config").read_text()
    (place / "config").write_text(config.replace("[include]\n", ""))
    monkeypatch.setenv("PATH", "")
    assert read_head(place) == asked
    found = discover([str(tmp_path / "app")], build_settings({"store": str(tmp_path / "store")}))
    assert [(r.commit, r.branch, r.status) for r in found] == [(asked.commit, asked.branch, "")]


@pytest.mark.parametrize("change", _ASKED.values(), ids=_ASKED)
def test_of_any_other_git_is_asked(
    tmp_path: Path, change: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _repository(tmp_path, [])
    commit_id = git(tmp_path / "app", "rev-parse", "HEAD").strip()
    if change[-1].startswith("refs/heads/.."):
        (place / "HEAD").write_text(f"ref: {change[-1]}\n")
    else:
        git(tmp_path / "app", *change)
        assert read_head(place).commit == commit_id
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitError, match="git is not installed"):
        read_head(place)


def test_a_clone_inside_a_checkout_is_seen(tmp_path: Path) -> None:
    _repository(tmp_path, [])
    commit(tmp_path / "app" / "deep" / "down" / "inner", {"b.py": "b = 1\n"})
    found = discover([str(tmp_path / "app")], build_settings({"store": str(tmp_path / "store")}))
    assert [(r.name, r.status) for r in found] == [
        ("app", ""),
        ("app/deep/down/inner", "skipped"),
    ]
