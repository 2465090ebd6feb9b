"""The stored chunks: searchable by words at once, their vectors follow."""

import dagster as dg

from assets.storing import store_rows
from resources.configuration import Configuration
from resources.stages import Batches


@dg.asset(
    group_name="store",
    kinds={"lancedb"},
    description="Lance table `chunks`: changed rows written and vanished ones deleted at once.",
)
def chunk_table(
    configuration: Configuration, chunks: Batches, changes: Batches
) -> dg.MaterializeResult[None]:
    """Write what changed of the chunks."""
    return store_rows("chunks", "chunk_id", configuration, chunks, changes)
