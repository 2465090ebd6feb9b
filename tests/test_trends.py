"""What Dagster can plot over the nights: numbers, under the same keys every night."""

from pathlib import Path

import dagster as dg
from nights import commit, night

from assets import STAGES
from pipelines.instance import open_instance


def _numbers(instance: dg.DagsterInstance, asset: str) -> list[dict[str, float]]:
    """Return what an asset recorded in numbers, a night after another."""
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=9).records
    return [
        {
            name: value.value
            for name, value in record.asset_materialization.metadata.items()
            if isinstance(value.value, int | float) and not isinstance(value.value, bool)
        }
        for record in reversed(records)
        if record.asset_materialization
    ]


def test_every_stage_tells_numbers_under_steady_keys(tmp_path: Path) -> None:
    store, organisation = tmp_path / "store", tmp_path / "organisation"
    commit(organisation / "shop", {"a.py": "def one():\n    return 1\n", "yarn.lock": "a\n"})
    night(store, organisation)
    commit(organisation / "shop", {"c.py": "def two():\n    return 2\n"})
    night(store, organisation)
    with open_instance(store) as instance:
        told = {asset.key.path[-1]: _numbers(instance, asset.key.path[-1]) for asset in STAGES}
    for name, (first, second) in told.items():
        assert first.keys() == second.keys() != set(), name
    assert [n["skipped lock-file"] for n in told["files"]] == [1, 1]
    assert [n["chunks added"] for n in told["changes"]] == [1, 1]
    assert [n["added"] for n in told["files"]] == [2, 1]
    assert [n["unchanged"] for n in told["files"]] == [0, 2]
    assert [n["changed"] for n in told["repositories"]] == [1, 1]
    assert [n["embedded"] for n in told["embeddings"]] == [2, 2]
    assert [n["chunks rows"] for n in told["indexes"]] == [1, 2]
