"""Every stored row gets the vector of its text."""

import dagster as dg

from resources.configuration import Configuration
from resources.memory import release_memory
from resources.progress import reporter


@dg.asset(
    group_name="embed",
    kinds={"lancedb"},
    deps=["embeddings"],
    description="Copies kept vectors into the rows that lack them and switches searches to the "
    "model once it is complete.",
)
def vectors(configuration: Configuration) -> dg.MaterializeResult[None]:
    """Fill vectors into the stored rows."""
    embedder = configuration.open_embedder()
    if embedder is None:
        return dg.MaterializeResult(metadata={"filled": 0})
    reporter().stage("vectors", unit="rows")
    store = configuration.open_store()
    filled = {}
    for table in ("chunks", "symbols"):
        release_memory()
        filled[table] = store.fill_vectors(table, embedder.model_id)
        reporter().advance(filled[table])
    is_complete = store.complete_model(embedder.model_id)
    return dg.MaterializeResult(metadata={**filled, "is_complete": is_complete})
