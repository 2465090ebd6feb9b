"""The stored symbols."""

import dagster as dg

from assets.storing import store_rows
from resources.configuration import Configuration
from resources.stages import Batches


@dg.asset(
    group_name="store",
    kinds={"lancedb"},
    deps=["chunk_table"],  # which tells the ledger first
    description="Lance table `symbols`: changed rows written and vanished ones deleted at once.",
)
def symbol_table(
    configuration: Configuration, symbols: Batches, changes: Batches
) -> dg.MaterializeResult[None]:
    """Write what changed of the symbols."""
    return store_rows("symbols", "symbol_id", configuration, symbols, changes)
