"""Field bugs of nights: cases 22 to 24, run through the real job."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from nights import night, rows

from codelake import versions

_CASES = Path(__file__).parents[2] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not _CASES.is_dir(), reason="../shared/cases is not there")


def _case(name: str) -> dict[str, Any]:
    text = (_CASES / name / "expected.md").read_text(encoding="utf-8")
    checks: dict[str, Any] = json.loads(text.rpartition("```json")[2].partition("```")[0])
    return checks


def _build(name: str, folder: Path, *step: str) -> None:
    subprocess.run(["bash", str(_CASES / name / "build.sh"), str(folder), *step], check=True)


def _comparable(store: Path) -> list[list[dict[str, Any]]]:
    return [rows(store, table) for table in ("chunks", "symbols", "files")]


def test_case_22_every_step_equals_a_fresh_run_and_embeds_what_is_new(tmp_path: Path) -> None:
    name = "22-rename-delete-touch"
    case, store = _case(name), tmp_path / "store"
    for number, step in enumerate(case["steps"]):
        _build(name, tmp_path, step)
        summary = night(store, tmp_path / "repo", chunking__chunker="symbol")
        assert summary.failed == []
        assert summary.texts["embedded"] == case["embed_calls"][number], step
        stored = rows(store, "chunks")
        assert len(stored) == case["rows"][number], step
        paths = sorted({row["path"] for row in stored})
        assert paths == case["paths_after"].get(step, paths), step
        fresh = tmp_path / f"fresh-{step}"
        night(fresh, tmp_path / "repo", chunking__chunker="symbol")
        assert _comparable(store) == _comparable(fresh), step
    again = night(store, tmp_path / "repo", chunking__chunker="symbol")
    assert again.texts == {"embedded": 0, "reused": 0}


def test_case_22_a_skipped_night_is_caught_up(tmp_path: Path) -> None:
    name, store, fresh = "22-rename-delete-touch", tmp_path / "store", tmp_path / "fresh"
    _build(name, tmp_path, "c1")
    night(store, tmp_path / "repo", chunking__chunker="symbol")
    for step in ("touch", "edit1", "rename", "delete"):
        _build(name, tmp_path, step)
    night(store, tmp_path / "repo", chunking__chunker="symbol")
    night(fresh, tmp_path / "repo", chunking__chunker="symbol")
    assert _comparable(store) == _comparable(fresh)


def test_case_23_the_same_function_in_four_files_is_embedded_once(tmp_path: Path) -> None:
    name = "23-identical-chunks"
    case, store = _case(name), tmp_path / "store"
    wanted = case["rows_for"]["slugify"]
    for step in ("c1", "drop", "dropall"):
        _build(name, tmp_path, step)
        summary = night(store, tmp_path / "org", chunking__chunker="symbol")
        found = [row for row in rows(store, "chunks") if row["name"] == "slugify"]
        assert len(found) == wanted[step]
        assert len({row["chunk_id"] for row in found}) == len(found)
        # slugify, the import, and only_shop and only_blog: four texts, each of them once.
        assert summary.texts["embedded"] == (4 if step == "c1" else 0)


def test_case_24_a_changed_setting_makes_every_row_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _build("24-chunker-config-change", tmp_path)
    store, repository = tmp_path / "store", tmp_path / "repo"
    first = night(store, repository, chunking__budget=400)
    same = night(store, repository, chunking__budget=400)
    assert (same.texts["embedded"], same.chunks["added"], same.chunks["modified"]) == (0, 0, 0)
    smaller = night(store, repository, chunking__budget=200)
    assert smaller.chunks["added"] + smaller.chunks["modified"] > first.chunks["added"]
    assert max(row["nws"] for row in rows(store, "chunks")) <= 200
    monkeypatch.setattr(versions, "CHUNKER_VERSION", versions.CHUNKER_VERSION + 1)
    bumped = night(store, repository, chunking__budget=200)
    assert bumped.texts["embedded"] == 0
    assert {row["fingerprint"] for row in rows(store, "files")} != set()
    settings = {"chunking__budget": 200, "files__languages": {".sls": "python"}}
    night(store, repository, **settings)
    symbols = [row for row in rows(store, "symbols") if row["path"] == "rules.sls"]
    assert [(s["qualified_name"], s["start_line"], s["end_line"]) for s in symbols] == [
        ("run", 3, 4)
    ]
    night(store, repository, embedding__dimensions=32, **settings)
    assert {row["model_id"] for row in rows(store, "chunks")} == {"hash2-32"}
    back = night(store, repository, **settings)
    assert back.texts["embedded"] == 0
    assert {row["model_id"] for row in rows(store, "chunks")} == {"hash2-64"}
