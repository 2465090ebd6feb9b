"""Nights whose runs and events are kept in PostgreSQL, in a server started for the test."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from nights import commit, night

from assets.indexed_repository import KEY, REPOSITORIES
from pipelines.instance import open_instance

pytest.importorskip("dagster_postgres", reason="the extra codelake[postgres] is not installed")

_DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
_INITDB = shutil.which("initdb") or (str(_DEBIAN[-1] / "initdb") if _DEBIAN else "")
_ONE = "def one():\n    return 1\n"

pytestmark = pytest.mark.skipif(
    not _INITDB, reason="no PostgreSQL server here: apt-get install postgresql"
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start a server that listens on a socket in a folder, not on the network; yield the folder."""
    # It refuses to run as root, and its socket's path may have no more than 107 bytes.
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="codelake-pg-", dir="/tmp"))
    if user:
        shutil.chown(folder, user)
    data, options = folder / "data", f"-k {folder} -h '' -c fsync=off"

    def run(program: str, *words: str) -> None:
        command = [str(Path(_INITDB).with_name(program)), "-D", str(data), *words]
        log = subprocess.DEVNULL  # a pipe would be held open by the server
        subprocess.run(command, user=user, cwd=folder, check=True, stdout=log, stderr=log)

    run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
    run("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield str(folder)
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)


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
