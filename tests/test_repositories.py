"""Repositories: found once, named the same every night, and read as git would."""

import os
import subprocess
from pathlib import Path

import pytest
from clones import git, make_clone, read_rows, with_sources

from codelake.repositories import compare_repositories
from codelake.schemas import FILES, REPOSITORIES
from codelake.settings import Settings, build_settings
from codelake.source_settings import SourceSettings
from resources.files import read_files
from resources.git import GitError, read_head, run_git
from resources.repositories import discover
from resources.sources.words import source_places


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return build_settings({"store": str(tmp_path / "store")})


def _reason(source: Path | str, settings: Settings) -> str:
    (repository,) = discover([str(source)], settings)
    assert repository.status == "failed"
    return repository.reason


def test_a_source_that_is_gone_is_told_to_who_wants_a_place_in_it(
    tmp_path: Path, settings: Settings
) -> None:
    gone, here = tmp_path / "gone", make_clone(tmp_path / "here")
    sources = [str(gone), str(here)]
    (failed,) = discover(sources, settings, places=[str(gone / "app")])
    assert (failed.source, failed.status) == (str(gone), "failed")
    (found,) = discover(sources, settings, places=[str(here)])
    assert (found.source, found.status) == (str(here), "")


def test_a_replaced_object_is_read_as_it_was_committed(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "repo")
    other = git(repo, "hash-object", "-w", "--stdin", "-t", "blob", "--path", "a.py", "/dev/null")
    git(repo, "replace", git(repo, "rev-parse", "HEAD:a.py"), other.splitlines()[0])
    (repository,) = discover([str(repo)], settings)
    assert read_rows(repository, settings)["a.py"]["content"] == b"x = 1\n"


@pytest.mark.parametrize("untracked", [False, True])
def test_a_sha256_repository_is_read(
    tmp_path: Path, settings: Settings, *, untracked: bool
) -> None:
    repo = make_clone(tmp_path / "repo", form="sha256")
    settings = with_sources(settings, untracked=untracked)
    (repository,) = discover([str(repo)], settings)
    row = read_rows(repository, settings)["a.py"]
    assert row["blob_id"] == git(repo, "rev-parse", "HEAD:a.py")
    assert row["content"] == b"x = 1\n"


def test_a_branch_is_read_whatever_is_checked_out(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "org" / "team" / "app")
    git(repo, "checkout", "-qb", "develop")
    (repo / "b.py").write_text("y = 2\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "two")
    git(repo, "checkout", "-q", "main")
    clone = tmp_path / "org" / "team" / "clone"
    git(tmp_path, "clone", "-q", str(repo), str(clone))
    org = str(tmp_path / "org")
    chosen = with_sources(settings, branches={"team/*": "develop"})
    found = discover([org], chosen)
    assert [(r.branch, sorted(read_rows(r, chosen))) for r in found] == [
        ("develop", ["a.py", "b.py"])
    ] * 2
    live = with_sources(settings, branches={"team/app": "develop"}, untracked=True)
    app, _ = discover([org], live)
    assert "main is checked out, not 'develop'" in app.reason
    gone = with_sources(settings, branches={"team/app": "gone"})
    assert "no branch 'gone'; mend sources.branches" in discover([org], gone)[0].reason


def test_rules_hold_for_folders_by_name(tmp_path: Path, settings: Settings) -> None:
    for name in ("team/app", "team/old", "site"):
        make_clone(tmp_path / "org" / name)
    subprocess.run(["git", "init", "-q", tmp_path / "org" / "none"], check=True)
    rules = {"exclude": ["*/old"], "empty": False, "topics": ["web"], "archived": False}
    found = discover([str(tmp_path / "org")], with_sources(settings, rules=rules))
    assert {r.name: r.status for r in found} == {
        "none": "skipped",
        "site": "",
        "team/app": "",
        "team/old": "skipped",
    }
    assert all("sources.rules" in r.reason for r in found if r.status)


def test_a_shallow_clone_is_read(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "repo")
    git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", str(shallow))
    (repository,) = discover([str(shallow)], settings)
    assert list(read_rows(repository, settings)) == ["a.py"]


def test_a_sparse_checkout_is_read_whole_from_its_commit(
    tmp_path: Path, settings: Settings
) -> None:
    repo = make_clone(tmp_path / "repo", files={"in/a.py": "x = 1\n", "out/b.py": "y = 2\n"})
    git(repo, "sparse-checkout", "set", "in")
    (repository,) = discover([str(repo)], settings)
    assert list(read_rows(repository, settings)) == ["in/a.py", "out/b.py"]
    live = with_sources(settings, untracked=True)
    assert list(read_rows(repository, live)) == ["in/a.py"]


def test_a_detached_head_has_no_branch(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "repo")
    git(repo, "checkout", "-q", "--detach")
    (repository,) = discover([str(repo)], settings)
    assert (repository.branch, repository.commit) == ("", git(repo, "rev-parse", "HEAD"))


def test_a_head_that_names_no_branch_means_the_only_one(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "repo")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/gone")
    (repository,) = discover([str(repo)], settings)
    assert (repository.branch, bool(repository.commit)) == ("main", True)
    git(repo, "branch", "second", "main")
    assert "symbolic-ref" in _reason(repo, settings)


def test_a_repository_that_lost_its_commits_loses_its_rows(
    tmp_path: Path, settings: Settings
) -> None:
    repo = make_clone(tmp_path / "repo")
    (repository,) = discover([str(repo)], settings)
    stored = FILES.table(list(read_rows(repository, settings).values())).drop_columns(["content"])
    git(repo, "update-ref", "-d", "HEAD")
    (empty,) = discover([str(repo)], settings)
    batches = list(read_files(empty, stored, settings, fingerprint="f"))
    assert [batch.column("status").to_pylist() for batch in batches] == [["deleted"]]


def test_files_travel_in_bounded_batches_in_one_order(tmp_path: Path) -> None:
    repo = make_clone(tmp_path / "repo", files={f"{n}.py": f"x = {n}\n" for n in range(5)})
    settings = build_settings({"store": str(tmp_path / "store"), "run": {"batch_files": 2}})
    (repository,) = discover([str(repo)], settings)
    nothing = FILES.table().drop_columns(["content"])
    batches = list(read_files(repository, nothing, settings, fingerprint="f"))
    paths = [batch.column("path").to_pylist() for batch in batches]
    assert paths == [["0.py", "1.py"], ["2.py", "3.py"], ["4.py"]]
    assert all(batch.schema == FILES.schema for batch in batches)


def test_a_damaged_object_costs_its_own_file(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "repo", files={f"{n}.py": f"x = {n}\n" for n in range(5)})
    blob = git(repo, "rev-parse", "HEAD:2.py")
    loose = repo / ".git" / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(loose.read_bytes()[:-6])
    (repository,) = discover([str(repo)], settings)
    reasons = {path: row["skip_reason"] for path, row in read_rows(repository, settings).items()}
    assert reasons == {f"{n}.py": "unreadable" if n == 2 else "" for n in range(5)}


def test_files_swapped_for_links_are_not_followed(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "repo", files={"in/a.py": "x = 1\n", "b.py": "y = 2\n"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("private = 1\n")
    (repo / "in" / "a.py").unlink()
    (repo / "in").rmdir()
    (repo / "in").symlink_to(outside)
    os.mkfifo(repo / "pipe.py")
    live = with_sources(settings, untracked=True)
    (repository,) = discover([str(repo)], live)
    rows = read_rows(repository, live)
    assert "private" not in str(rows)
    assert [path for path, row in rows.items() if not row["skip_reason"]] == ["b.py"]


def test_a_working_tree_is_read_as_it_lies_there(tmp_path: Path) -> None:
    repo = make_clone(tmp_path / "repo", files={"a.py": "x = 1\n", "gone.py": "y = 2\n"})
    (repo / "a.py").write_text("x = 2\n")
    (repo / "new.py").write_text("z = 3\n")
    (repo / "gone.py").unlink()
    (repo / "own-store").mkdir()
    (repo / "own-store" / "table").write_text("rows")
    live = build_settings({"store": str(repo / "own-store"), "sources": {"untracked": True}})
    (repository,) = discover([str(repo)], live)
    contents = {path: row["content"] for path, row in read_rows(repository, live).items()}
    assert contents == {"a.py": b"x = 2\n", "new.py": b"z = 3\n"}
    assert read_rows(repository, live)["a.py"]["blob_id"] == git(repo, "hash-object", "a.py")


def test_a_plain_folder_is_indexed_if_asked_for(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "b.log").write_text("noise\n")
    assert "sources.folders = true" in _reason(folder, settings)
    settings = with_sources(settings, folders=True)
    (repository,) = discover([str(folder)], settings)
    assert sorted(read_rows(repository, settings)) == [".gitignore", "a.py"]


def test_a_source_that_gives_nothing_says_what_to_do(tmp_path: Path, settings: Settings) -> None:
    repo = make_clone(tmp_path / "repo", files={"src/a.py": "x = 1\n"})
    assert "check the path" in _reason(tmp_path / "nowhere", settings)
    assert "give that one" in _reason(repo / "src", settings)
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    assert "not a git repository" in _reason(tmp_path / "broken", settings)


def test_one_broken_repository_stops_no_other(tmp_path: Path, settings: Settings) -> None:
    make_clone(tmp_path / "org" / "good")
    (tmp_path / "org" / "bad" / ".git").mkdir(parents=True)
    found = discover([str(tmp_path / "org"), str(tmp_path / "nowhere")], settings)
    assert [(r.name, r.status) for r in found] == [
        ("bad", "failed"),
        ("good", ""),
        ("nowhere", "failed"),
    ]


def test_links_and_foreign_folders_are_not_walked(tmp_path: Path, settings: Settings) -> None:
    org = tmp_path / "org"
    make_clone(org / "team" / "app")
    make_clone(org / "team" / "node_modules" / "package")
    make_clone(tmp_path / "outside")
    (org / "loop").symlink_to(org)
    (org / "elsewhere").symlink_to(tmp_path / "outside")
    assert [r.name for r in discover([str(org)], settings)] == ["team/app"]


def test_the_store_is_no_source(tmp_path: Path) -> None:
    org = tmp_path / "org"
    make_clone(org / "app")
    make_clone(org / "store" / "mirrors" / "copy")
    settings = build_settings({"store": str(org / "store")})
    assert [r.name for r in discover([str(org)], settings)] == ["app"]


def test_names_do_not_depend_on_other_sources(tmp_path: Path, settings: Settings) -> None:
    for place in ("one/team/app", "two/app", "three/team/app"):
        make_clone(tmp_path / place)
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
    make_clone(tmp_path / "org" / "team" / "app")
    sources = [
        str(tmp_path / "org"),
        str(tmp_path / "org" / "team"),
        f"file://{tmp_path}/org/team/app",
    ]
    assert [r.name for r in discover(sources, settings)] == ["team/app"]


def test_a_file_can_list_sources(tmp_path: Path, settings: Settings) -> None:
    make_clone(tmp_path / "one")
    make_clone(tmp_path / "two")
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
    make_clone(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 'x'\n")))
    (repository,) = discover([str(tmp_path)], settings)
    assert repository.name.encode().decode() == repository.name
    assert list(read_rows(repository, settings)) == ["a.py"]


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
    make_clone(tmp_path / "shop")
    place = str(tmp_path / source) if source == "circle" else source
    found = discover([place, str(tmp_path / "shop")], Settings())
    assert sorted((r.status, bool(r.reason)) for r in found) == [("", False), ("failed", True)]
    assert str(Path.home() / "x") in source_places(SourceSettings(paths=("~/x",)))
