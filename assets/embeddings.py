"""The vectors of texts, by model and content: no text is embedded twice."""

import time
from logging import WARNING
from typing import Final

import dagster as dg

from codelake.embedding import embed_texts
from codelake.errors import BudgetError, EmbeddingError
from resources.configuration import Configuration
from resources.logs import log_stage
from resources.progress import reporter

_SLICE_SECONDS: Final = 5.0  # of work that a stopped run may lose, beyond a slice
_MOST_CUT: Final = 1000  # text hashes that are listed; "truncated" counts all


@dg.asset(
    group_name="embed",
    kinds={"lancedb"},
    pool="embedder",
    deps=["word_indexes"],
    description="Lance table `embeddings`: a vector for every text that has none of this model; "
    "kept slice by slice, so that a stopped run loses little.",
)
def embeddings(configuration: Configuration) -> dg.MaterializeResult[None]:
    """Embed the stored texts that have no vector yet."""
    embedder = configuration.open_embedder()
    if embedder is None:
        return dg.MaterializeResult(metadata={"embedder": "none: the index is by words only"})
    store = configuration.open_store()
    settings = configuration.load().embedding.model_dump()
    # a service that tells its dimension only by a vector is not asked every night
    dimension = store.dimension(embedder.model_id) or embedder.dimension
    store.use_model(embedder.model_id, dimension, settings)
    pending = store.pending_count(embedder.model_id)
    worker = configuration.open_engine().embedder(embedder)
    reporter().stage("embeddings", unit="texts", total=pending)
    embedded, failures, cut, stopped = 0, dict[str, str](), list[str](), ""
    is_spent = False
    try:
        for part in embed_texts(
            store.pending(embedder.model_id),
            worker,
            slice_seconds=_SLICE_SECONDS,
            clock=time.monotonic,
            progress=reporter().advance,
        ):
            embedded += store.append_embeddings(part.table, are_new=True)
            failures |= part.failures
            cut += part.truncated[: _MOST_CUT - len(cut)]
    except EmbeddingError as error:
        # What was embedded is kept and used; the last stage of the run says that some is missing.
        stopped, is_spent = str(error), isinstance(error, BudgetError)
        log_stage(WARNING, "embeddings", stopped)
    usage = embedder.usage
    return dg.MaterializeResult(
        metadata={
            "embedded": embedded,
            "waiting": pending - embedded,
            "failed": dg.MetadataValue.json(failures),
            "stopped": stopped,
            "is_spent": is_spent,
            "model": embedder.model_id,
            "tokens": usage.tokens,
            "requests": usage.requests,
            "retries": usage.retries,
            "lost": usage.lost,
            "truncated": usage.truncated,
            "truncated_texts": dg.MetadataValue.json(cut),
            "cost_usd": usage.cost,
        }
    )
