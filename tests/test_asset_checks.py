"""The checks of a night on real tables: they pass, and see what is done to the tables."""

from pathlib import Path

import dagster as dg
import pytest
from nights import commit, configured, night

from assets.checks import rows_are_stored_as_made, sampled_files_are_covered
from codelake.schemas import TABLES
from pipelines.instance import open_instance
from resources.configuration import Configuration
from resources.places import work_folder
from resources.stages import Batches
from resources.store import LanceStore

_CODE = 'import os\n\n\ndef one():\n    return "é\u2003"\n\n\nclass Two:\n    three = 3\n'


@pytest.fixture
def indexed(tmp_path: Path) -> Configuration:
    commit(tmp_path / "shop", {"a.py": _CODE, "b.md": "# Title\n\ntext\n", "c.png": "\0\0\1\2"})
    assert night(tmp_path / "store", tmp_path / "shop", chunking__budget=16).failed == []
    return configured(tmp_path / "store", tmp_path / "shop", chunking__budget=16)


def _stage(configuration: Configuration, name: str) -> Batches:
    folder = work_folder(configuration.load()) / "stages"
    return Batches(folder / f"{name}.arrow", TABLES[name])


def _checked(configuration: Configuration) -> list[dg.AssetCheckResult]:
    return [
        sampled_files_are_covered(configuration, _stage(configuration, "syntax")),
        rows_are_stored_as_made(configuration, _stage(configuration, "changes")),
    ]


def test_after_a_night_every_check_has_passed(indexed: Configuration) -> None:
    assert all(result.passed for result in _checked(indexed))
    assert _checked(indexed)[0].metadata["files"].value == 2
    with open_instance(work_folder(indexed.load())) as instance:
        (run,) = instance.get_runs()
        told = [
            event.dagster_event.asset_check_evaluation_data
            for event in instance.all_logs(run.run_id, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
            if event.dagster_event
        ]
    assert {check.check_name for check in told if check.passed} == {
        "tables_are_sound",
        "sampled_files_are_covered",
        "rows_are_stored_as_made",
        "every_row_has_its_vector",
        "every_repository_was_read",
        "few_files_are_skipped",
    }


def test_a_chunk_that_was_lost_is_seen(indexed: Configuration, tmp_path: Path) -> None:
    store = LanceStore(tmp_path / "store")
    rows = store.read("chunks", columns=["chunk_id", "path"]).to_pylist()
    lost = next(row["chunk_id"] for row in rows if row["path"] == "a.py")
    store.replace_rows("chunks", delete_ids=[lost])
    covered, stored = _checked(indexed)
    assert "shop:a.py" in str(covered.metadata["problems"].value)
    assert f"{lost} of shop:a.py is added, but not stored" in str(stored.metadata["problems"].value)


def test_other_chunkers_may_lap_over(tmp_path: Path) -> None:
    commit(tmp_path / "shop", {"a.py": _CODE})
    changes = {"chunking__chunker": "fixed", "chunking__budget": 40, "chunking__overlap": 9}
    assert night(tmp_path / "store", tmp_path / "shop", **changes).failed == []
