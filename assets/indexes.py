"""The end of a run: vector indexes, compaction, old versions forgotten."""

import dagster as dg

from resources.configuration import Configuration
from resources.progress import reporter


@dg.asset(
    group_name="store",
    kinds={"lancedb"},
    deps=["vectors"],
    description="Vector indexes where they pay, tables compacted, old versions dropped.",
)
def indexes(configuration: Configuration) -> dg.MaterializeResult[None]:
    """Bring the tables into shape."""
    reporter().stage("indexes")
    store = configuration.open_store()
    freed = store.optimize()
    return dg.MaterializeResult(
        metadata={"bytes_freed": freed, "rows": dg.MetadataValue.json(store.summary())}
    )
