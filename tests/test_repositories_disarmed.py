"""Repositories are read without running anything of theirs, whatever their settings say."""

import os
import subprocess
from pathlib import Path

import pytest
from clones import git, make_clone, read_rows, with_sources

from codelake.settings import Settings, build_settings
from resources.repositories import discover


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return build_settings({"store": str(tmp_path / "store")})


# What a configuration file can make git run: each touches a file if it does.
_TRAPS = """
[core]
    fsmonitor = "touch {mark}; false"
    hooksPath = {hooks}
    pager = touch {mark}
    editor = touch {mark}
    sshCommand = touch {mark}
    gitProxy = touch {mark}
    askPass = touch {mark}
    alternateRefsCommand = touch {mark}
    attributesFile = {attributes}
    worktree = {outside}
[alias]
    rev-parse = !touch {mark}
    ls-files = !touch {mark}
    cat-file = !touch {mark}
    ls-tree = !touch {mark}
[filter "trap"]
    clean = touch {mark}
    smudge = touch {mark}
    process = touch {mark}
    required = true
[diff]
    external = touch {mark}
[diff "trap"]
    textconv = touch {mark}
    command = touch {mark}
[credential]
    helper = "!touch {mark}"
[uploadpack]
    packObjectsHook = touch {mark}
[gpg]
    program = touch {mark}
[extensions]
    partialClone = origin
[remote "origin"]
    url = ext::sh -c "touch {mark}"
    promisor = true
    uploadpack = touch {mark}
[protocol "ext"]
    allow = always
[include]
    path = {included}
"""


def _set_traps(repo: Path, place: Path) -> Path:
    mark, hooks, outside = place / "tricked", place / "hooks", place / "outside"
    hooks.mkdir()
    outside.mkdir()
    (outside / "private.py").write_text("must_not_be_read = 1\n")
    for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
        (repo / ".git" / "hooks").mkdir(exist_ok=True)
        (repo / ".git" / "hooks" / name).symlink_to(hooks / name)
    (place / "attributes").write_text("* filter=trap diff=trap\n")
    (place / "included").write_text(f"[core]\n\tfsmonitor = touch {mark}\n")
    text = _TRAPS.format(
        mark=mark,
        hooks=hooks,
        outside=outside,
        attributes=place / "attributes",
        included=place / "included",
    )
    (repo / ".git" / "config").write_text(f"{(repo / '.git/config').read_text()}{text}")
    return mark


@pytest.mark.parametrize("untracked", [False, True])
def test_no_setting_of_a_repository_runs_a_program(
    tmp_path: Path, settings: Settings, *, untracked: bool
) -> None:
    repo = make_clone(
        tmp_path / "repo", files={"a.py": "x = 1\n", ".gitattributes": "* filter=trap\n"}
    )
    blob = git(repo, "rev-parse", "HEAD:a.py")
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()  # a lazy fetch would get it
    mark = _set_traps(repo, tmp_path)
    settings = with_sources(settings, untracked=untracked, nested=True)
    (repository,) = discover([str(repo)], settings)
    rows = read_rows(repository, settings)
    assert rows["a.py"]["skip_reason"] == ("" if untracked else "unreadable")
    assert "must_not_be_read" not in str(rows)
    assert not mark.exists()
    subprocess.run(["git", "-C", repo, "status"], check=False, capture_output=True)
    assert mark.exists(), "the trap does not work, so the test shows nothing"


def test_variables_of_the_shell_do_not_lead_git_elsewhere(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, other = (
        make_clone(tmp_path / "repo"),
        make_clone(tmp_path / "other", files={"b.py": "y = 2\n"}),
    )
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    (repository,) = discover([str(repo)], settings)
    assert list(read_rows(repository, settings)) == ["a.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_read(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "repo")
    for place in (repo, repo / ".git"):
        os.chown(place, 12345, 12345)
    (repository,) = discover([str(repo)], settings)
    assert list(read_rows(repository, settings)) == ["a.py"]
