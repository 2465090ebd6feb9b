"""Nights whose runs and events are kept in PostgreSQL, in a server started for the test."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from nights import commit, night
from postgres_server import INITDB, NO_SERVER, serving

from assets.indexed_repository import KEY, REPOSITORIES
from codelake.errors import StoreError
from pipelines.instance import open_instance, prepare_home

pytest.importorskip("dagster_postgres", reason="the extra codelake[postgres] is not installed")

_ONE = "def one():\n    return 1\n"

pytestmark = pytest.mark.skipif(not INITDB, reason=NO_SERVER)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as folder:
        yield folder


def test_without_its_database_a_night_says_so_and_goes_with_another_home(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, other, store = tmp_path / "home", tmp_path / "other", tmp_path / "store"
    home.mkdir()
    url = f"postgresql://postgres@/absent?host={server}"
    (home / "dagster.yaml").write_text(f"storage:\n  postgres:\n    postgres_url: {url}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    commit(tmp_path / "shop", {"a.py": _ONE})
    told = r'in .*home: .* database "absent" does not exist; .* name another folder in DAGSTER_HOME'
    with pytest.raises(StoreError, match=told):
        night(store, tmp_path / "shop")
    monkeypatch.setenv("DAGSTER_HOME", str(other))
    assert night(store, tmp_path / "shop").failed == []
    assert "telemetry:\n  enabled: false" in (other / "dagster.yaml").read_text()
    assert not (store / "dagster").exists()


def test_a_home_that_is_used_keeps_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "history").mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    assert prepare_home(tmp_path / "store") == tmp_path
    assert [place.name for place in tmp_path.iterdir()] == ["history"]


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
