"""The stored chunks: searchable by words at once, their vectors follow."""

import dagster as dg

from assets.storing import store_rows, unsettle
from resources.configuration import Configuration
from resources.stages import Batches


@dg.asset(
    group_name="store",
    kinds={"lancedb"},
    description="Lance table `chunks`: changed rows written and vanished ones deleted at once. "
    "Before that the ledger is told which files are in the making.",
)
def chunk_table(
    configuration: Configuration,
    repositories: Batches,
    files: Batches,
    chunks: Batches,
    changes: Batches,
) -> dg.MaterializeResult[None]:
    """Write what changed of the chunks."""
    unsettle(configuration.open_store(), repositories, files)
    return store_rows("chunks", "chunk_id", configuration, chunks, changes)
