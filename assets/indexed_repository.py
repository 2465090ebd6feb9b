"""A partition for each repository: what a night did to it, green or red by itself."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from resources.configuration import Configuration

PARTITIONS: Final = "repositories"

REPOSITORIES: Final = dg.DynamicPartitionsDefinition(name=PARTITIONS)
"""The names of the repositories of the last night."""

KEY: Final = dg.AssetKey("indexed_repository")

_FACTS: Final = ("commit", "branch", "source")
_NAMED: Final = 5  # failed repositories in the message of a red run
_WAITING: Final = "{} of its rows have no vector; the next night tries them again"
_RANGE: Final = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")


def record_asked(
    context: dg.AssetExecutionContext, configuration: Configuration
) -> Iterator[dg.Output[None]]:
    """Record the state of the repositories asked for; fail if one is not wholly indexed."""
    yield from ()  # each partition is recorded by an event of its own
    rows = configuration.open_store().read("repositories").to_pylist()
    asked = {row["repository"]: row for row in rows if row["repository"] in context.partition_keys}
    failed = failed_repositories(configuration, list(asked))
    for name in sorted(asked.keys() - failed.keys()):
        facts = {fact: asked[name][fact] for fact in _FACTS}
        context.log_event(dg.AssetMaterialization(KEY, partition=name, metadata=facts))
    raise_failed(context, failed)


# Dagster calls the policy beta, in a warning that it gives for each use; no other is kept quiet.
with warnings.catch_warnings():
    warnings.filterwarnings(
        "ignore", "Parameter `backfill_policy` of function `asset`", dg.BetaWarning
    )
    indexed_repository = dg.asset(
        name=KEY.path[-1],
        group_name="store",
        kinds={"lancedb"},
        deps=["repository_table", "vectors"],
        partitions_def=REPOSITORIES,
        backfill_policy=dg.BackfillPolicy.single_run(),
        output_required=False,
        description="A partition for each repository: green with its commit and what changed, red "
        "with the reason. A night records all of them (see `outcomes`), `reindex` those asked for.",
    )(record_asked)


def asked_for(context: dg.AssetExecutionContext, table: pa.Table) -> pa.Table:
    """Return the rows of ``table`` whose repositories the run was started for; of a night, all."""
    tags = context.run.tags
    names = [tags[tag] for tag in ("dagster/partition", *_RANGE) if tag in tags]
    if not names:
        return table
    if len(names) == len(_RANGE):
        known = context.instance.get_dynamic_partitions(PARTITIONS)
        first, last = sorted(map(known.index, names))
        names = list(known[first : last + 1])
    return table.filter(pc.is_in(table["repository"], value_set=pa.array(names, pa.string())))


def failed_repositories(configuration: Configuration, names: list[str]) -> dict[str, str]:
    """Return those of ``names`` that are not wholly indexed, each with the reason."""
    store = configuration.open_store()
    stored = store.read("repositories", columns=["repository", "status", "reason"])
    failed = {
        row["repository"]: row["reason"] for row in stored.to_pylist() if row["status"] == "failed"
    }
    embedder = configuration.open_embedder()
    waiting = store.waiting_rows(embedder.model_id) if embedder is not None else {}
    failed = {name: _WAITING.format(count) for name, count in waiting.items()} | failed
    return {name: failed[name] for name in names if name in failed}


def raise_failed(context: dg.AssetExecutionContext, failed: Mapping[str, str]) -> None:
    """Note the reason at each partition of ``failed`` and end the step if there is one."""
    for name, reason in failed.items():
        noted: dict[str, Any] = {"reason": reason}
        context.log_event(dg.AssetObservation(KEY, partition=name, metadata=noted))
    if failed:
        some = "; ".join(f"{name}: {reason}" for name, reason in list(failed.items())[:_NAMED])
        message = f"{len(failed)} repositories failed, the others are indexed: {some}"
        raise dg.Failure(message)
