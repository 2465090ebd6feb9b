"""What Dagster is told of each repository, and what it starts by itself."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from forge import Forge
from nights import commit, configured, git, night, rows

from assets.indexed_repository import KEY, REPOSITORIES
from pipelines.definitions import defs
from pipelines.instance import open_instance
from pipelines.watching import look_at_sources
from resources.stages import StageIOManager

_ONE = "def one():\n    return 1\n"
_TWO = "def two():\n    return 2\n"
_ENDS = {"start": "mill", "end": "shop"}  # of the partitions a backfill of neighbours asks for


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge(tmp_path / "served") as started:
        yield started


def _partitions(store: Path) -> dict[str, str]:
    """Return the state of each repository's partition: MATERIALIZED or FAILED."""
    with open_instance(store) as instance:
        names = instance.get_dynamic_partitions("repositories")
        states = instance.get_status_by_partition(KEY, names, REPOSITORIES)
        return {name: state.name for name, state in (states or {}).items() if state}


def _recorded(store: Path) -> list[tuple[str, str]]:
    """Return partition and commit of each materialization of the ledger, oldest first."""
    with open_instance(store) as instance:
        found = instance.fetch_materializations(KEY, limit=100)
        events = [record.asset_materialization for record in found.records]
        return [(e.partition, e.metadata["commit"].value) for e in reversed(events) if e]


def test_a_repository_that_fails_turns_its_own_partition_red(tmp_path: Path) -> None:
    store, organisation = tmp_path / "store", tmp_path / "organisation"
    for name in ("gate", "shop"):
        commit(organisation / name, {"a.py": _ONE})
    assert night(store, organisation).failed == []
    assert _partitions(store) == {"gate": "MATERIALIZED", "shop": "MATERIALIZED"}
    heads = [(n, git(organisation / n, "rev-parse", "HEAD").strip()) for n in ("gate", "shop")]
    assert _recorded(store) == heads
    head = organisation / "shop" / ".git" / "HEAD"
    kept = head.read_text()
    head.write_text("no head\n")
    (failure,) = night(store, organisation).failed
    assert failure["repository"] == "shop"
    assert _partitions(store) == {"gate": "MATERIALIZED", "shop": "FAILED"}
    head.write_text(kept)
    assert night(store, organisation).failed == []
    assert _partitions(store) == {"gate": "MATERIALIZED", "shop": "MATERIALIZED"}
    assert _recorded(store) == [*heads, heads[1]]
    shutil.rmtree(organisation / "shop")
    assert night(store, organisation).failed == []
    assert _partitions(store) == {"gate": "MATERIALIZED"}
    assert _recorded(store) == [*heads, heads[1]]


def test_one_repository_is_indexed_anew_by_its_partition(tmp_path: Path) -> None:
    store, organisation = tmp_path / "store", tmp_path / "organisation"
    for name in ("gate", "shop"):
        commit(organisation / name, {"a.py": _ONE})
    night(store, organisation)
    for name in ("gate", "shop"):
        commit(organisation / name, {"a.py": _TWO})
    configuration = configured(store, organisation)
    with open_instance(store) as instance:
        result = defs.resolve_job_def("reindex").execute_in_process(
            instance=instance,
            partition_key="shop",
            resources={
                "configuration": configuration,
                "stages": StageIOManager(folder=str(store / "stages")),
            },
        )
    assert result.success
    texts = {row["repository"]: row["text"].strip() for row in rows(store, "chunks")}
    assert texts == {"gate": _ONE.strip(), "shop": _TWO.strip()}
    assert [name for name, _ in _recorded(store)] == ["gate", "shop", "shop"]


def test_neighbouring_partitions_are_indexed_anew_in_one_run(tmp_path: Path) -> None:
    store, organisation = tmp_path / "store", tmp_path / "organisation"
    names = ("gate", "mill", "shop", "till")
    for name in names:
        commit(organisation / name, {"a.py": _ONE})
    night(store, organisation)
    for name in names:
        commit(organisation / name, {"a.py": _TWO})
    job = defs.resolve_job_def("reindex")
    assert job.backfill_policy == dg.BackfillPolicy.single_run()
    ends = {f"dagster/asset_partition_range_{end}": name for end, name in _ENDS.items()}
    with open_instance(store) as instance:
        result = job.execute_in_process(
            instance=instance,
            tags=ends,
            resources={
                "configuration": configured(store, organisation),
                "stages": StageIOManager(folder=str(store / "stages")),
            },
        )
    assert result.success
    texts = {row["repository"]: row["text"].strip() for row in rows(store, "chunks")}
    assert [name for name in names if texts[name] == _TWO.strip()] == ["mill", "shop"]
    assert [name for name, _ in _recorded(store)] == [*names, "mill", "shop"]


def test_the_sensor_starts_a_night_when_the_list_of_repositories_changes(tmp_path: Path) -> None:
    organisation, cursor = tmp_path / "organisation", None
    commit(organisation / "shop", {"a.py": _ONE})
    settings = configured(tmp_path / "store", organisation).load()

    def look() -> int:
        nonlocal cursor
        told = look_at_sources(settings, cursor)
        if isinstance(told, dg.SkipReason):
            return -1
        cursor = told.cursor
        return len(told.run_requests or [])

    assert [look(), look()] == [0, 0]  # the first look only remembers
    commit(organisation / "gate", {"a.py": _ONE})
    commit(organisation / "shop", {"a.py": _TWO})
    assert [look(), look()] == [1, 0]
    shutil.rmtree(organisation / "shop")
    assert [look(), look()] == [1, 0]
    organisation.rename(tmp_path / "away")
    assert look() == -1
    (tmp_path / "away").rename(organisation)
    assert look() == 0


def test_sources_are_looked_at_again_when_not_one_can_be_reached(
    forge: Forge, tmp_path: Path
) -> None:
    forge.add("acme/a", {"m.py": _ONE})
    forge.script = [lambda handler: handler.reply({"message": "blocked"}, 403)]
    summary = night(
        tmp_path / "store",
        f"github://{forge.host}/acme",
        sources__api={forge.host: f"http://{forge.host}/api/v3"},
        run__retries=1,
        run__retry_seconds=0,
    )
    assert (summary.failed, summary.repositories) == ([], 1)
