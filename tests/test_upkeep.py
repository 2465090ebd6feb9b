"""What nobody needs any more goes, after a time, and what comes back meanwhile stays."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from codelake.settings import build_settings
from resources.store import STORED, LanceStore
from resources.upkeep import prune_mirrors, tidy_up
from tests.stored_rows import batches, row

_NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
_DAY = timedelta(days=1)


def _mirrors(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def _left(folder: Path) -> set[str]:
    return {place.name for place in folder.iterdir() if place.is_dir()}


def test_a_mirror_goes_some_days_after_its_repository(tmp_path: Path) -> None:
    folder = _mirrors(tmp_path, "a.git", "b.git", "c.git", ".fetching-x")
    for day, used, gone, left in (
        (0, {"a.git", "b.git"}, 0, {"a.git", "b.git", "c.git"}),
        (1, {"a.git"}, 0, {"a.git", "b.git", "c.git"}),
        (2, {"a.git", "b.git"}, 1, {"a.git", "b.git"}),
        (3, {"a.git"}, 0, {"a.git", "b.git"}),
        (5, {"a.git"}, 1, {"a.git"}),
        (9, {"a.git"}, 0, {"a.git"}),
    ):
        assert prune_mirrors(folder, used, 2 * _DAY, _NOW + day * _DAY) == gone, day
        assert _left(folder) == left | {".fetching-x"}, day


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a.git": 5}', '{"a.git": "x"}'])
def test_where_it_is_not_known_since_when_it_is_since_now(tmp_path: Path, text: str) -> None:
    folder = _mirrors(tmp_path, "a.git")
    (folder / "unused.json").write_text(text)
    assert prune_mirrors(folder, (), _DAY, _NOW) == 0
    assert prune_mirrors(folder, (), _DAY, _NOW + _DAY) == 1


def test_a_folder_without_mirrors_is_left_alone(tmp_path: Path) -> None:
    assert prune_mirrors(tmp_path / "none", (), _DAY, _NOW) == 0
    assert not (tmp_path / "none").exists()


def test_upkeep_keeps_what_stored_repositories_are_read_from(tmp_path: Path) -> None:
    store, spec = LanceStore(tmp_path), STORED["repositories"]
    mirrors = _mirrors(tmp_path / "mirrors", "used.git", "gone.git")
    stored = row(spec, repository="a", git_directory="/moved/since/mirrors/used.git")
    store.replace_rows("repositories", batches=batches(spec, [stored]))
    lists = tmp_path / "listings"
    lists.mkdir()
    for name, days in (("old", 40), ("new", 0)):
        (lists / f"{name}.json").write_text("{}")
        written = datetime.now(UTC).timestamp() - days * _DAY.total_seconds()
        os.utime(lists / f"{name}.json", (written, written))
    settings = build_settings({"store": str(tmp_path)})
    assert tidy_up(store, settings).mirrors_pruned == 0
    assert [place.name for place in lists.iterdir()] == ["new.json"]
    at_once = build_settings({"store": str(tmp_path), "upkeep": {"mirrors_days": 0}})
    assert tidy_up(store, at_once).mirrors_pruned == 1
    assert _left(mirrors) == {"used.git"}
