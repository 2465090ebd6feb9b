"""Repositories: found once, named the same every night, read without running anything of theirs."""

import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from codelake.repositories import Repository, compare_repositories
from codelake.schemas import FILES, REPOSITORIES
from codelake.settings import Settings, build_settings
from codelake.source_settings import SourceSettings
from resources.files import read_files
from resources.git import GitError, read_head, run_git
from resources.repositories import discover
from resources.sources.words import source_places


def _git(place: Path, *arguments: str) -> str:
    command = ["git", "-C", str(place), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _make(place: Path, *, files: dict[str, str] | None = None, form: str = "sha1") -> Path:
    subprocess.run(["git", "init", "-qb", "main", f"--object-format={form}", place], check=True)
    for name, text in (files or {"a.py": "x = 1\n"}).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    _git(place, "add", "-A")
    _git(place, "commit", "-qm", "one")
    return place


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return build_settings({"store": str(tmp_path / "store")})


def _with(settings: Settings, **sources: object) -> Settings:
    return build_settings({**settings.model_dump(), "sources": sources})


def _read(repository: Repository, settings: Settings) -> dict[str, dict[str, object]]:
    nothing = FILES.table().drop_columns(["content"])
    batches = read_files(repository, nothing, settings, fingerprint="f")
    return {row["path"]: row for batch in batches for row in batch.to_pylist()}


def _reason(source: Path | str, settings: Settings) -> str:
    (repository,) = discover([str(source)], settings)
    assert repository.status == "failed"
    return repository.reason


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
    repo = _make(tmp_path / "repo", files={"a.py": "x = 1\n", ".gitattributes": "* filter=trap\n"})
    blob = _git(repo, "rev-parse", "HEAD:a.py")
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()  # a lazy fetch would get it
    mark = _set_traps(repo, tmp_path)
    settings = _with(settings, untracked=untracked, nested=True)
    (repository,) = discover([str(repo)], settings)
    rows = _read(repository, settings)
    assert rows["a.py"]["skip_reason"] == ("" if untracked else "unreadable")
    assert "must_not_be_read" not in str(rows)
    assert not mark.exists()
    subprocess.run(["git", "-C", repo, "status"], check=False, capture_output=True)
    assert mark.exists(), "the trap does not work, so the test shows nothing"


def test_variables_of_the_shell_do_not_lead_git_elsewhere(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, other = _make(tmp_path / "repo"), _make(tmp_path / "other", files={"b.py": "y = 2\n"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    (repository,) = discover([str(repo)], settings)
    assert list(_read(repository, settings)) == ["a.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_read(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "repo")
    for place in (repo, repo / ".git"):
        os.chown(place, 12345, 12345)
    (repository,) = discover([str(repo)], settings)
    assert list(_read(repository, settings)) == ["a.py"]


def test_a_replaced_object_is_read_as_it_was_committed(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "repo")
    other = _git(repo, "hash-object", "-w", "--stdin", "-t", "blob", "--path", "a.py", "/dev/null")
    _git(repo, "replace", _git(repo, "rev-parse", "HEAD:a.py"), other.splitlines()[0])
    (repository,) = discover([str(repo)], settings)
    assert _read(repository, settings)["a.py"]["content"] == b"x = 1\n"


@pytest.mark.parametrize("untracked", [False, True])
def test_a_sha256_repository_is_read(
    tmp_path: Path, settings: Settings, *, untracked: bool
) -> None:
    repo = _make(tmp_path / "repo", form="sha256")
    settings = _with(settings, untracked=untracked)
    (repository,) = discover([str(repo)], settings)
    row = _read(repository, settings)["a.py"]
    assert row["blob_id"] == _git(repo, "rev-parse", "HEAD:a.py")
    assert row["content"] == b"x = 1\n"


def test_a_branch_is_read_whatever_is_checked_out(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "org" / "team" / "app")
    _git(repo, "checkout", "-qb", "develop")
    (repo / "b.py").write_text("y = 2\n")
    _git(repo, "add", "-A")
    _git(repo, "commit", "-qm", "two")
    _git(repo, "checkout", "-q", "main")
    clone = tmp_path / "org" / "team" / "clone"
    _git(tmp_path, "clone", "-q", str(repo), str(clone))
    org = str(tmp_path / "org")
    chosen = _with(settings, branches={"team/*": "develop"})
    found = discover([org], chosen)
    assert [(r.branch, sorted(_read(r, chosen))) for r in found] == [
        ("develop", ["a.py", "b.py"])
    ] * 2
    live = _with(settings, branches={"team/app": "develop"}, untracked=True)
    app, _ = discover([org], live)
    assert "main is checked out, not 'develop'" in app.reason
    gone = _with(settings, branches={"team/app": "gone"})
    assert "no branch 'gone'; mend sources.branches" in discover([org], gone)[0].reason


def test_rules_hold_for_folders_by_name(tmp_path: Path, settings: Settings) -> None:
    for name in ("team/app", "team/old", "site"):
        _make(tmp_path / "org" / name)
    subprocess.run(["git", "init", "-q", tmp_path / "org" / "none"], check=True)
    rules = {"exclude": ["*/old"], "empty": False, "topics": ["web"], "archived": False}
    found = discover([str(tmp_path / "org")], _with(settings, rules=rules))
    assert {r.name: r.status for r in found} == {
        "none": "skipped",
        "site": "",
        "team/app": "",
        "team/old": "skipped",
    }
    assert all("sources.rules" in r.reason for r in found if r.status)


def test_a_shallow_clone_is_read(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "repo")
    _git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    shallow = tmp_path / "shallow"
    _git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", str(shallow))
    (repository,) = discover([str(shallow)], settings)
    assert list(_read(repository, settings)) == ["a.py"]


def test_a_sparse_checkout_is_read_whole_from_its_commit(
    tmp_path: Path, settings: Settings
) -> None:
    repo = _make(tmp_path / "repo", files={"in/a.py": "x = 1\n", "out/b.py": "y = 2\n"})
    _git(repo, "sparse-checkout", "set", "in")
    (repository,) = discover([str(repo)], settings)
    assert list(_read(repository, settings)) == ["in/a.py", "out/b.py"]
    live = _with(settings, untracked=True)
    assert list(_read(repository, live)) == ["in/a.py"]


def test_a_detached_head_has_no_branch(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "repo")
    _git(repo, "checkout", "-q", "--detach")
    (repository,) = discover([str(repo)], settings)
    assert (repository.branch, repository.commit) == ("", _git(repo, "rev-parse", "HEAD"))


def test_a_head_that_names_no_branch_means_the_only_one(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "repo")
    _git(repo, "symbolic-ref", "HEAD", "refs/heads/gone")
    (repository,) = discover([str(repo)], settings)
    assert (repository.branch, bool(repository.commit)) == ("main", True)
    _git(repo, "branch", "second", "main")
    assert "symbolic-ref" in _reason(repo, settings)


def test_a_repository_that_lost_its_commits_loses_its_rows(
    tmp_path: Path, settings: Settings
) -> None:
    repo = _make(tmp_path / "repo")
    (repository,) = discover([str(repo)], settings)
    stored = FILES.table(list(_read(repository, settings).values())).drop_columns(["content"])
    _git(repo, "update-ref", "-d", "HEAD")
    (empty,) = discover([str(repo)], settings)
    batches = list(read_files(empty, stored, settings, fingerprint="f"))
    assert [batch.column("status").to_pylist() for batch in batches] == [["deleted"]]


def test_files_travel_in_bounded_batches_in_one_order(tmp_path: Path) -> None:
    repo = _make(tmp_path / "repo", files={f"{n}.py": f"x = {n}\n" for n in range(5)})
    settings = build_settings({"store": str(tmp_path / "store"), "run": {"batch_files": 2}})
    (repository,) = discover([str(repo)], settings)
    nothing = FILES.table().drop_columns(["content"])
    batches = list(read_files(repository, nothing, settings, fingerprint="f"))
    paths = [batch.column("path").to_pylist() for batch in batches]
    assert paths == [["0.py", "1.py"], ["2.py", "3.py"], ["4.py"]]
    assert all(batch.schema == FILES.schema for batch in batches)


def test_a_damaged_object_costs_its_own_file(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "repo", files={f"{n}.py": f"x = {n}\n" for n in range(5)})
    blob = _git(repo, "rev-parse", "HEAD:2.py")
    loose = repo / ".git" / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(loose.read_bytes()[:-6])
    (repository,) = discover([str(repo)], settings)
    reasons = {path: row["skip_reason"] for path, row in _read(repository, settings).items()}
    assert reasons == {f"{n}.py": "unreadable" if n == 2 else "" for n in range(5)}


def test_files_swapped_for_links_are_not_followed(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "repo", files={"in/a.py": "x = 1\n", "b.py": "y = 2\n"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("private = 1\n")
    (repo / "in" / "a.py").unlink()
    (repo / "in").rmdir()
    (repo / "in").symlink_to(outside)
    os.mkfifo(repo / "pipe.py")
    live = _with(settings, untracked=True)
    (repository,) = discover([str(repo)], live)
    rows = _read(repository, live)
    assert "private" not in str(rows)
    assert [path for path, row in rows.items() if not row["skip_reason"]] == ["b.py"]


def test_a_working_tree_is_read_as_it_lies_there(tmp_path: Path) -> None:
    repo = _make(tmp_path / "repo", files={"a.py": "x = 1\n", "gone.py": "y = 2\n"})
    (repo / "a.py").write_text("x = 2\n")
    (repo / "new.py").write_text("z = 3\n")
    (repo / "gone.py").unlink()
    (repo / "own-store").mkdir()
    (repo / "own-store" / "table").write_text("rows")
    live = build_settings({"store": str(repo / "own-store"), "sources": {"untracked": True}})
    (repository,) = discover([str(repo)], live)
    contents = {path: row["content"] for path, row in _read(repository, live).items()}
    assert contents == {"a.py": b"x = 2\n", "new.py": b"z = 3\n"}
    assert _read(repository, live)["a.py"]["blob_id"] == _git(repo, "hash-object", "a.py")


def test_a_plain_folder_is_indexed_if_asked_for(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "b.log").write_text("noise\n")
    assert "sources.folders = true" in _reason(folder, settings)
    settings = _with(settings, folders=True)
    (repository,) = discover([str(folder)], settings)
    assert sorted(_read(repository, settings)) == [".gitignore", "a.py"]


def test_a_source_that_gives_nothing_says_what_to_do(tmp_path: Path, settings: Settings) -> None:
    repo = _make(tmp_path / "repo", files={"src/a.py": "x = 1\n"})
    assert "check the path" in _reason(tmp_path / "nowhere", settings)
    assert "give that one" in _reason(repo / "src", settings)
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    assert "not a git repository" in _reason(tmp_path / "broken", settings)


def test_one_broken_repository_stops_no_other(tmp_path: Path, settings: Settings) -> None:
    _make(tmp_path / "org" / "good")
    (tmp_path / "org" / "bad" / ".git").mkdir(parents=True)
    found = discover([str(tmp_path / "org"), str(tmp_path / "nowhere")], settings)
    assert [(r.name, r.status) for r in found] == [
        ("bad", "failed"),
        ("good", ""),
        ("nowhere", "failed"),
    ]


def test_links_and_foreign_folders_are_not_walked(tmp_path: Path, settings: Settings) -> None:
    org = tmp_path / "org"
    _make(org / "team" / "app")
    _make(org / "team" / "node_modules" / "package")
    _make(tmp_path / "outside")
    (org / "loop").symlink_to(org)
    (org / "elsewhere").symlink_to(tmp_path / "outside")
    assert [r.name for r in discover([str(org)], settings)] == ["team/app"]


def test_the_store_is_no_source(tmp_path: Path) -> None:
    org = tmp_path / "org"
    _make(org / "app")
    _make(org / "store" / "mirrors" / "copy")
    settings = build_settings({"store": str(org / "store")})
    assert [r.name for r in discover([str(org)], settings)] == ["app"]


def test_names_do_not_depend_on_other_sources(tmp_path: Path, settings: Settings) -> None:
    for place in ("one/team/app", "two/app", "three/team/app"):
        _make(tmp_path / place)
    one, two, three = (str(tmp_path / name) for name in ("one", "two", "three"))
    alone = [r.name for r in discover([one], settings)]
    assert alone == ["team/app"]
    assert [r.name for r in discover([two, one], settings)] == ["app", "team/app"]
    names = [r.name for r in discover([one, two, three], settings)]
    assert len(set(names)) == 3
    assert names[:2] == ["app", "team/app"]
    assert names[2].startswith("team/app~")
    assert names[2] in [r.name for r in discover([one, three], settings)]


def test_a_repository_under_two_sources_is_one(tmp_path: Path, settings: Settings) -> None:
    _make(tmp_path / "org" / "team" / "app")
    sources = [
        str(tmp_path / "org"),
        str(tmp_path / "org" / "team"),
        f"file://{tmp_path}/org/team/app",
    ]
    assert [r.name for r in discover(sources, settings)] == ["team/app"]


def test_a_file_can_list_sources(tmp_path: Path, settings: Settings) -> None:
    _make(tmp_path / "one")
    _make(tmp_path / "two")
    listing = tmp_path / "sources.txt"
    listing.write_text(f"# ours\n{tmp_path / 'one'}\n\n{tmp_path / 'two'}\n")
    assert [r.name for r in discover([str(listing)], settings)] == ["one", "two"]


def test_a_reason_can_be_stored_whatever_the_name(tmp_path: Path, settings: Settings) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    (odd / ".git").mkdir(parents=True)
    for found in (discover([str(odd)], settings), discover([str(odd / "gone")], settings)):
        table = compare_repositories(found, REPOSITORIES.table(), "f")
        assert "caf\\xe9" in table["reason"][0].as_py()


def test_a_folder_name_of_any_bytes_is_a_name(tmp_path: Path, settings: Settings) -> None:
    _make(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 'x'\n")))
    (repository,) = discover([str(tmp_path)], settings)
    assert repository.name.encode().decode() == repository.name
    assert list(_read(repository, settings)) == ["a.py"]


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


def test_git_that_hangs_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")
    command = ["config", "--file", str(tmp_path / "config"), "--list"]
    with pytest.raises(GitError, match="no answer within"):
        run_git(command, seconds=0.2)


def test_a_name_that_looks_like_an_option_is_a_name(tmp_path: Path) -> None:
    with pytest.raises(GitError):
        read_head(tmp_path / "--upload-pack=touch x")


@pytest.mark.parametrize("source", ["~no-such-user/x", "circle", "a\0b", "x" * 5000])
def test_a_source_that_cannot_be_a_place_stops_no_other(tmp_path: Path, source: str) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    _make(tmp_path / "shop")
    place = str(tmp_path / source) if source == "circle" else source
    found = discover([place, str(tmp_path / "shop")], Settings())
    assert sorted((r.status, bool(r.reason)) for r in found) == [("", False), ("failed", True)]
    assert str(Path.home() / "x") in source_places(SourceSettings(paths=("~/x",)))
