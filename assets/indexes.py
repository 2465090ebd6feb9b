"""The end of a run: vector indexes, compaction, old versions forgotten."""

from collections.abc import Iterator

import dagster as dg

from resources.configuration import Configuration
from resources.memory import release_memory
from resources.progress import reporter


@dg.asset(
    group_name="store",
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
