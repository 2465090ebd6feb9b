"""The outcome of a night, told repository by repository."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
from dagster._core.events import AssetMaterializationPlannedData, DagsterEvent, DagsterEventType

from assets.indexed_repository import (
    KEY,
    PARTITIONS,
    REPOSITORIES,
    failed_repositories,
    raise_failed,
)
from resources.configuration import Configuration
from resources.stages import Batches

_READ: Final = ("changed", "unchanged")
_GONE: Final = ("removed", "skipped")

Facts = Mapping[str, Mapping[str, Any]]


@dg.asset(
    group_name="store",
    kinds={"dagster"},
    deps=["repository_table", "vectors"],
    description="Records each repository that changed, failed or recovered as a partition of "
    "`indexed_repository`, and fails where one failed; everything is stored by then.",
)
def outcomes(
    context: dg.AssetExecutionContext,
    configuration: Configuration,
    repositories: Batches,
    files: Batches,
    changes: Batches,
) -> Iterator[dg.MaterializeResult[None]]:
    """Turn partitions green or red; fail if one is red."""
    table = repositories.table(["repository", "status", "commit", "branch", "source"])
    failed = failed_repositories(configuration, table["repository"].to_pylist())
    keep_partitions(context.instance, table)
    recorded = record_read(context, table, failed, repository_facts(table, files, changes))
    plan_failed(context, failed)
    yield dg.MaterializeResult(metadata={"recorded": recorded, "failed": len(failed)})
    raise_failed(context, failed)


def repository_facts(table: pa.Table, files: Batches, changes: Batches) -> Facts:
    """Return what a run did to each repository: its commit, and files and rows by outcome."""
    facts: dict[str, dict[str, Any]] = {
        row["repository"]: {name: row[name] for name in ("commit", "branch", "source")}
        for row in table.to_pylist()
    }
    for name, status, count in _counts(files, ["repository", "status"]):
        facts[name][f"files {status}"] = count
    for name, rows, change, count in _counts(changes, ["repository", "table", "change"]):
        facts[name][f"{rows} {change}"] = count
    return facts


def _counts(batches: Batches, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield each combination of values and how often it is there, reading batch by batch."""
    counts = Counter[tuple[Any, ...]]()
    for batch in batches:
        rows = pa.table([batch.column(name) for name in columns], names=columns)
        found = rows.group_by(columns).aggregate([([], "count_all")])
        for row in found.to_pylist():
            counts[tuple(row[name] for name in columns)] += row["count_all"]
    yield from ((*values, count) for values, count in sorted(counts.items()))


def keep_partitions(instance: dg.DagsterInstance, table: pa.Table) -> None:
    """Let there be a partition for each repository that is stored or could not be read."""
    known = set(instance.get_dynamic_partitions(PARTITIONS))
    is_gone = pc.is_in(table["status"], value_set=pa.array(_GONE))
    wanted = table.filter(pc.invert(is_gone))["repository"].to_pylist()
    new = [name for name in wanted if name not in known]
    if new:
        instance.add_dynamic_partitions(PARTITIONS, new)
    for name in known.intersection(table.filter(is_gone)["repository"].to_pylist()):
        instance.delete_dynamic_partition(PARTITIONS, name)


def record_read(
    context: dg.AssetExecutionContext, table: pa.Table, failed: Iterable[str], facts: Facts
) -> int:
    """Turn the partitions green of what changed, and of what was not green before; count them."""
    rows = zip(table["repository"].to_pylist(), table["status"].to_pylist(), strict=True)
    read = {name: status for name, status in rows if status in _READ}
    for name in failed:
        read.pop(name, None)
    known = context.instance.get_status_by_partition(KEY, list(read), REPOSITORIES) or {}
    is_green = {name for name, state in known.items() if state and state.name == "MATERIALIZED"}
    todo = [name for name, status in read.items() if status == "changed" or name not in is_green]
    for name in todo:
        made = dg.AssetMaterialization(KEY, partition=name, metadata=dict(facts[name]))
        context.log_event(made)
    return len(todo)


def plan_failed(context: dg.AssetExecutionContext, failed: Mapping[str, str]) -> None:
    """Turn the partitions of ``failed`` red: planned in a run that fails, and never made."""
    for name, reason in failed.items():
        planned = DagsterEvent(
            event_type_value=DagsterEventType.ASSET_MATERIALIZATION_PLANNED.value,
            job_name=context.run.job_name,
            event_specific_data=AssetMaterializationPlannedData(KEY, partition=name),
            message=f"{name}: {reason}",
        )
        context.instance.report_dagster_event(planned, context.run.run_id)
