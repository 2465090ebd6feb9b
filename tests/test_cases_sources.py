"""The reproduction cases about discovery, files and safety, with git as the judge."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from codelake.paths import path_from_bytes, path_to_bytes
from codelake.repositories import Repository
from codelake.schemas import FILES
from codelake.settings import Settings, build_settings
from codelake.syntax import syntax_batch
from resources.files import read_files
from resources.repositories import discover

_CASES = Path(__file__).parents[2] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not _CASES.is_dir(), reason="../shared/cases is not there")


def _case(name: str) -> Path:
    return next(_CASES.glob(f"{name}-*"))


def _expected(name: str) -> dict[str, object]:
    text = (_case(name) / "expected.md").read_text("utf-8")
    return dict(json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[-1]))


def _build(name: str, place: Path) -> Path:
    subprocess.run(["bash", _case(name) / "build.sh", place], check=True, capture_output=True)
    return place


def _git(place: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(place), "-c", "core.fsmonitor=false", *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


def _settings(place: Path, **sources: bool) -> Settings:
    return build_settings({"store": str(place / "store"), "sources": sources})


def _read(
    repository: Repository, settings: Settings, stored: pa.Table | None = None
) -> dict[str, dict[str, object]]:
    ledger = FILES.table().drop_columns(["content"]) if stored is None else stored
    batches = read_files(repository, ledger, settings, fingerprint="f")
    return {row["path"]: row for batch in batches for row in batch.to_pylist()}


def _ledger(rows: dict[str, dict[str, object]]) -> pa.Table:
    kept = [{**row, "content": b""} for row in rows.values() if row["status"] != "deleted"]
    return FILES.table(kept).drop_columns(["content"])


def _indexed(rows: dict[str, dict[str, object]]) -> set[str]:
    return {path for path, row in rows.items() if not row["skip_reason"]}


def _only(place: Path, settings: Settings) -> Repository:
    (repository,) = discover([str(place)], settings)
    return repository


def test_case_17_files_are_what_git_says(tmp_path: Path) -> None:
    repo = _build("17", tmp_path) / "repo"
    expected = _expected("17")
    commit = _indexed(_read(_only(repo, _settings(tmp_path)), _settings(tmp_path)))
    code = {path for path in commit if path.endswith(".py")}
    assert code == set(expected["indexed_commit_paths"])  # type: ignore[call-overload]
    live = _settings(tmp_path, untracked=True)
    tree = _indexed(_read(_only(repo, live), live))
    assert sorted(tree - commit) == expected["indexed_worktree_extra"]
    assert tree.isdisjoint(expected["never"])  # type: ignore[arg-type]


def test_case_17_a_rule_added_later_takes_nothing_that_is_tracked(tmp_path: Path) -> None:
    repo, settings = _build("17", tmp_path) / "repo", _settings(tmp_path)
    stored = _ledger(_read(_only(repo, settings), settings))
    with (repo / ".gitignore").open("a") as file:
        file.write("src/\n")
    _git(repo, "commit", "-qam", "two")
    rows = _read(_only(repo, settings), settings, stored)
    assert {p for p, row in rows.items() if row["status"] != "unchanged"} == {".gitignore"}
    _git(repo, "rm", "-q", "--cached", "src/app.py")
    _git(repo, "commit", "-qm", "three")
    rows = _read(_only(repo, settings), settings, _ledger(rows))
    changed = {p: row["status"] for p, row in rows.items() if row["status"] != "unchanged"}
    assert changed == {"src/app.py": "deleted"}


def _tracked(repo: Path) -> set[bytes]:
    return set(_git(repo, "ls-files", "-z").split(b"\0")[:-1])


@pytest.mark.parametrize("untracked", [False, True])
def test_case_18_names_are_the_bytes_that_git_has(tmp_path: Path, *, untracked: bool) -> None:
    repo = _build("18", tmp_path) / "repo"
    settings = _settings(tmp_path, untracked=untracked)
    rows = _read(_only(repo, settings), settings)
    assert {path_to_bytes(path) for path in rows} == _tracked(repo)
    assert len(rows) == _expected("18")["file_count"]
    names = {
        re.findall(rb"name_case_\d\d", bytes(row["content"]))[0].decode() for row in rows.values()
    }  # type: ignore[call-overload]
    assert sorted(names) == _expected("18")["symbols_by_name"]


def test_case_18_one_deleted_file_is_one_deleted_row(tmp_path: Path) -> None:
    repo, settings = _build("18", tmp_path) / "repo", _settings(tmp_path)
    rows = _read(_only(repo, settings), settings)
    for name in sorted(_tracked(repo)):
        _git(repo, "--literal-pathspecs", "rm", "-q", "--", name.decode("utf-8", "surrogateescape"))
        _git(repo, "commit", "-qm", "less")
        rows = _read(_only(repo, settings), settings, _ledger(rows))
        gone = [path for path, row in rows.items() if row["status"] == "deleted"]
        assert gone == [path_from_bytes(name)]
    assert _ledger(rows).num_rows == 0


@pytest.mark.parametrize("untracked", [False, True])
def test_case_19_links_are_listed_and_not_followed(tmp_path: Path, *, untracked: bool) -> None:
    repo = _build("19", tmp_path) / "repo"
    settings = _settings(tmp_path, untracked=untracked)
    rows = _read(_only(repo, settings), settings)
    assert _indexed(rows) == {"src/pkg/real.py"}
    assert {row["skip_reason"] for row in rows.values()} == {"", "symlink"}
    assert len(rows) == 9
    for word in _expected("19")["forbidden_in_any_body"]:  # type: ignore[attr-defined]
        assert word not in str(rows)


def test_case_19_a_file_that_becomes_a_link_loses_its_content(tmp_path: Path) -> None:
    repo, settings = _build("19", tmp_path) / "repo", _settings(tmp_path)
    stored = _ledger(_read(_only(repo, settings), settings))
    (repo / "src/pkg/real.py").unlink()
    (repo / "src/pkg/real.py").symlink_to("../../../outside/private.py")
    _git(repo, "commit", "-qam", "typechange")
    row = _read(_only(repo, settings), settings, stored)["src/pkg/real.py"]
    assert (row["status"], row["skip_reason"], row["content"]) == ("modified", "symlink", b"")


@pytest.fixture
def organisation(tmp_path: Path) -> Path:
    return _build("20", tmp_path) / "org"


def test_case_20_every_repository_is_found_once(organisation: Path) -> None:
    settings = _settings(organisation.parent)
    found = discover([str(organisation)], settings)
    assert {r.name: r.status or "read" for r in found} == {
        "app": "read",
        "app/vendor/tool": "skipped",
        "broken-repo": "failed",
        "empty-repo": "read",
        "mirror.git": "read",
    }
    assert all(
        r.reason for r in found if r.name in {"app/vendor/tool", "broken-repo", "empty-repo"}
    )
    assert found == discover([str(organisation)], settings)
    empty = next(r for r in found if r.name == "empty-repo")
    assert (empty.reason, _read(empty, settings)) == ("no commits", {})


def test_case_20_the_submodule_is_a_row_and_no_file(organisation: Path) -> None:
    settings = _settings(organisation.parent)
    app = next(r for r in discover([str(organisation)], settings) if r.name == "app")
    rows = _read(app, settings)
    assert rows["libs/common"]["skip_reason"] == "submodule"
    assert sorted(_indexed(rows)) == [".gitignore", ".gitmodules", "main.py"]


def test_case_20_nested_repositories_are_read_if_asked_for(organisation: Path) -> None:
    settings = _settings(organisation.parent, nested=True)
    found = [r for r in discover([str(organisation)], settings) if r.status != "failed"]
    assert [r.name for r in found] == [
        "app",
        "app/libs/common",
        "app/vendor/tool",
        "empty-repo",
        "mirror.git",
    ]
    text = b"".join(bytes(row["content"]) for r in found for row in _read(r, settings).values())  # type: ignore[call-overload]
    assert {
        name: text.count(name.encode()) for name in ("app_main", "common_fn", "feature_only")
    } == {
        "app_main": 1,
        "common_fn": 1,
        "feature_only": 0,
    }


def test_case_20_a_second_checkout_alone_is_a_repository(organisation: Path) -> None:
    settings = _settings(organisation.parent)
    feature = _only(organisation / "app" / ".worktrees" / "feature", settings)
    assert "feature.py" in _read(feature, settings)
    both = [str(organisation / "app" / ".worktrees" / "feature"), str(organisation / "app")]
    names = [r.name for r in discover(both, settings) if not r.status]
    assert names == ["app"]


def _reasons(folder: Path, tmp_path: Path) -> dict[str, str]:
    """Return what is left out of a plain folder, by the ledger and by parsing."""
    settings = _settings(tmp_path, folders=True)
    rows = _read(_only(folder, settings), settings)
    wanted = FILES.table([row for row in rows.values() if not row["skip_reason"]])
    parsed = [syntax_batch(batch, settings) for batch in wanted.combine_chunks().to_batches()]
    later = {row["path"]: row["skip_reason"] for batch in parsed for row in batch.to_pylist()}
    return {path: str(later.get(path) or row["skip_reason"]) for path, row in rows.items()}


def test_case_21_pointers_and_binaries_are_told_by_content(tmp_path: Path) -> None:
    reasons = _reasons(_case("21"), tmp_path)
    expected = _expected("21")["skip_reasons"]
    assert {path: reasons[path] for path in expected} == expected  # type: ignore[attr-defined]
    assert reasons["about_lfs.md"] == reasons["cyclekey.ts"] == ""


def _make_input(name: str, place: Path) -> Path:
    subprocess.run([sys.executable, _case(name) / "make_input.py", place], check=True)
    return place


def test_case_10_and_16_generated_files_are_labelled(tmp_path: Path) -> None:
    settings = _settings(tmp_path, folders=True)
    for name in ("10", "16"):
        rows = _read(_only(_make_input(name, tmp_path / name), settings), settings)
        labelled = {path for path, row in rows.items() if row["is_generated"]}
        assert labelled == set(_expected(name)["label_generated"])  # type: ignore[call-overload]
    assert rows["package-lock.json"]["skip_reason"] == "lock-file"
    assert {"locales.json", "oneline.json", "values.yaml", "app.toml"} <= _indexed(rows)


def test_case_16_a_skipped_file_is_not_read_again(tmp_path: Path) -> None:
    settings = build_settings(
        {
            "store": str(tmp_path / "store"),
            "sources": {"folders": True},
            "files": {"max_bytes": 1000},
        }
    )
    repository = _only(_make_input("16", tmp_path / "16"), settings)
    rows = _read(repository, settings)
    assert rows["values.yaml"]["skip_reason"] == "too-large"
    again = _read(repository, settings, _ledger(rows))
    assert {row["status"] for row in again.values()} == {"unchanged"}


@pytest.mark.parametrize("untracked", [False, True])
def test_case_28_nothing_of_the_repository_runs(tmp_path: Path, *, untracked: bool) -> None:
    repo, trap = _build("28", tmp_path) / "repo", tmp_path / "indexer_was_tricked"
    settings = _settings(tmp_path, untracked=untracked, nested=True)
    rows = _read(_only(repo, settings), settings)
    assert {path: row["skip_reason"] for path, row in rows.items() if row["skip_reason"]} == {
        ".env": "secret-file",
        "config/deploy_key.pem": "secret-file",
    }
    batch = FILES.table(list(rows.values())).combine_chunks().to_batches()[0]
    texts = [row["text"].decode() for row in syntax_batch(batch, settings).to_pylist()]
    for pattern in _expected("28")["forbidden_regex_anywhere"]:  # type: ignore[attr-defined]
        leaks = [
            t
            for t, row in zip(texts, rows.values(), strict=True)
            if not row["skip_reason"] and re.search(pattern, t)
        ]
        assert not leaks
    assert not trap.exists()
    subprocess.run(["git", "-C", repo, "status"], check=False, capture_output=True)
    assert trap.exists(), "the trap does not work, so the test shows nothing"
