"""The indexes that make the store answer by words before any vector is there."""

import dagster as dg

from assets.storing import state_name
from resources.configuration import Configuration
from resources.memory import release_memory
from resources.progress import reporter


@dg.asset(
    group_name="store",
    kinds={"lancedb"},
    deps=["chunk_table", "symbol_table", "file_table", "repository_table"],
    description="Text and scalar indexes over the stored rows, brought up to date.",
)
def word_indexes(
    context: dg.AssetExecutionContext, configuration: Configuration
) -> dg.MaterializeResult[None]:
    """Let the text and scalar indexes cover the new rows, and let readers see them if sound."""
    reporter().stage("word indexes")
    release_memory()
    store = configuration.open_store()
    store.index_new_rows()
    keep = configuration.load().upkeep.states
    problems = [str(p) for p in store.publish_sound(state_name(context.run), keep=keep)]
    rows = {f"{table} rows": count for table, count in store.summary().items()}
    return dg.MaterializeResult(metadata={**rows, "unsound": problems})
