"""Nights whose runs and events are kept in PostgreSQL, in a server started for the test."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from nights import commit, night
from postgres_server import INITDB, NO_SERVER, serving

from assets.indexed_repository import KEY, REPOSITORIES
from pipelines.instance import open_instance

pytest.importorskip("dagster_postgres", reason="the extra codelake[postgres] is not installed")

_ONE = "def one():\n    return 1\n"

pytestmark = pytest.mark.skipif(not INITDB, reason=NO_SERVER)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as folder:
        yield folder


def test_a_night_is_kept_in_postgresql(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, store = tmp_path / "home", tmp_path / "store"
    home.mkdir()
    url = f"postgresql://postgres@/postgres?host={server}"
    (home / "dagster.yaml").write_text(
        f"telemetry:\n  enabled: false\nstorage:\n  postgres:\n    postgres_url: {url}\n"
    )
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    commit(tmp_path / "organisation" / "shop", {"a.py": _ONE})
    commit(tmp_path / "organisation" / "gate", {"a.py": _ONE})
    assert night(store, tmp_path / "organisation").failed == []
    (tmp_path / "organisation" / "shop" / ".git" / "HEAD").write_text("no head\n")
    assert [f["repository"] for f in night(store, tmp_path / "organisation").failed] == ["shop"]
    with open_instance(store) as instance:
        assert len(instance.get_runs()) == 2
        states = instance.get_status_by_partition(KEY, ["gate", "shop"], REPOSITORIES)
        assert states is not None
        assert {n: s.name for n, s in states.items() if s} == {
            "gate": "MATERIALIZED",
            "shop": "FAILED",
        }
        (record,) = instance.fetch_materializations(
            dg.AssetRecordsFilter(KEY, asset_partitions=["gate"]), limit=9
        ).records
        assert record.partition_key == "gate"
    assert not (store / "dagster").exists()
