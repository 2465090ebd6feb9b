"""The end of a run: vector indexes, compaction, old versions forgotten."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import dagster as dg

from resources.configuration import Configuration
from resources.memory import release_memory
from resources.progress import reporter

# A night that is late by an hour is told, one that was left out is an error.
_FRESH: Final = dg.FreshnessPolicy.time_window(
    warn_window=timedelta(hours=25), fail_window=timedelta(hours=36)
)


@dg.asset(
    group_name="store",
    freshness_policy=_FRESH,
    kinds={"lancedb"},
    deps=["vectors"],
    description="Vector indexes where they pay, tables compacted, old versions dropped.",
)
def indexes(
    context: dg.AssetExecutionContext, configuration: Configuration
) -> Iterator[dg.MaterializeResult[None]]:
    """Bring the tables into shape and publish them; fail if a row lacks its vector."""
    reporter().stage("indexes")
    release_memory()
    store = configuration.open_store()
    freed = store.optimize()
    store.publish(context.run.run_id)
    yield dg.MaterializeResult(
        metadata={"bytes_freed": freed, "rows": dg.MetadataValue.json(store.summary())}
    )
    embedder = configuration.open_embedder()
    waiting = store.pending_count(embedder.model_id) if embedder is not None else 0
    if waiting:
        # Everything is stored and searchable by words, but the run is not what was asked for.
        message = f"{waiting} texts have no vector; the next run tries them again"
        raise dg.Failure(message)
