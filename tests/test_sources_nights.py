"""Nights over sources that are more than a folder: what they change, and what they must not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from forge import Forge
from nights import night, rows

from pipelines.summary import Summary


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge(tmp_path / "served") as started:
        yield started


def _names(store: Path) -> set[str]:
    return {row["repository"] for row in rows(store, "chunks")}


def test_an_account_is_followed_night_by_night(forge: Forge, tmp_path: Path) -> None:
    store, source = tmp_path / "store", f"github://{forge.host}/acme"

    def run(*sources: str, **changes: object) -> Summary:
        api = {forge.host: f"http://{forge.host}/api/v3"}
        return night(store, *(sources or [source]), sources__api=api, **changes)

    for name in ("acme/a", "acme/b", "other/c"):
        forge.add(name, {"m.py": f"def {name[-1]}_fn():\n    return 1\n"})
    assert run(f"{source[:-4]}other").failed == []
    # the sources of this run say nothing of the first account: it stays
    first = run(source, sources__prune=False)
    assert (first.failed, first.repositories) == ([], 2)
    assert _names(store) == {"acme/a", "acme/b", "other/c"}
    # a list that cannot be had removes nothing
    before = rows(store, "chunks")
    forge.script = [lambda handler: handler.reply({"message": "blocked"}, 403)]
    failed = run(source, sources__prune=False)
    assert {f["repository"] for f in failed.failed} == {"acme/a", "acme/b", source}
    assert rows(store, "chunks") == before
    # one repository is gone, one is new, one is left out by a rule
    forge.repositories.pop("acme/b")
    forge.add("acme/d", {"m.py": "def d_fn():\n    return 1\n"})
    forge.repositories["acme/a"]["archived"] = True
    last = run(source, sources__prune=False, sources__rules__archived=False, upkeep__mirrors_days=0)
    assert last.failed == []
    mirrors = {place.name.rpartition("-")[0] for place in (store / "mirrors").glob("*.git")}
    assert mirrors == {"acme-d", "other-c"}
    assert _names(store) == {"acme/d", "other/c"}
