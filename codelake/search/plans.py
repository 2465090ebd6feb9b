"""Decide what a search can do with the vectors and the reranker there are."""

from dataclasses import dataclass, field

from codelake.embedding import Embedder, WeighedEmbedder
from codelake.errors import UsageError
from codelake.reranking import Reranker
from codelake.search.tables import ID_COLUMNS, SearchTables
from codelake.settings import SearchSettings


@dataclass(slots=True)
class Plan:
    """How a question is answered.

    Args:
        mode: the mode that answers, not always the one asked for.
        names: tables that are searched.
        dense_weight: share of the vector score; 0 where no vector can be compared.
        by_words: whether BM25 and names are asked.
        embedder: what makes the question's vector; None where it isn't needed.
        reranker: what multi-hop scores with; None in other modes.
        notices: sentences for the answer; grows while it is made.
    """

    mode: str
    names: tuple[str, ...] = tuple(ID_COLUMNS)
    dense_weight: float = 0.0
    by_words: bool = True
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    notices: list[str] = field(default_factory=list)


def make_plan(
    mode: str,
    tables: SearchTables,
    embedder: Embedder | None,
    reranker: Reranker | None,
    settings: SearchSettings,
) -> Plan:
    """Choose mode, tables and weights, with a notice for what was asked and cannot be."""
    if mode == "symbol":
        return Plan(mode, ("symbols",))
    if mode == "text":
        return Plan(mode)
    plan = Plan(mode)
    share = _share_of_vectors(plan, tables, embedder)
    if mode == "vector":
        if embedder is None:
            message = "mode 'vector' needs an embedder; configure one or choose mode 'text'"
            raise UsageError(message)
        plan.embedder, plan.dense_weight, plan.by_words = embedder, 1.0, False
        return plan
    if share > 0:
        plan.embedder = embedder
        # While vectors fill in, rows without one must not lose to those that have it.
        plan.dense_weight = _dense_weight(embedder, settings) * share
    if mode == "multihop" or (reranker is not None and settings.multihop.when == "auto"):
        _plan_walk(plan, reranker, share)
    return plan


def _dense_weight(embedder: Embedder | None, settings: SearchSettings) -> float:
    """Return the weight that is set, or else the embedder's own, or else the default."""
    is_set = "dense_weight" in settings.model_fields_set
    if not is_set and isinstance(embedder, WeighedEmbedder):
        return embedder.dense_weight
    return settings.dense_weight


def _plan_walk(plan: Plan, reranker: Reranker | None, share: float) -> None:
    asked = plan.mode == "multihop"
    plan.mode = "hybrid"
    if reranker is None:
        plan.notices.append("No reranker is configured: answered by hybrid instead of multi-hop.")
    elif share > 0:
        plan.mode, plan.reranker = "multihop", reranker
    elif asked:
        plan.notices.append("Multi-hop needs vectors: answered by hybrid.")


def _share_of_vectors(plan: Plan, tables: SearchTables, embedder: Embedder | None) -> float:
    """Return the share of rows that have a vector of the embedder's model."""
    if embedder is None:
        plan.notices.append("No embedder is given: answered by words alone.")
        return 0.0
    counts = [tables.coverage(table) for table in plan.names]
    rows = sum(sum(count.values()) for count in counts)
    ready = sum(count.get(embedder.model_id, 0) for count in counts)
    others = sorted({model for count in counts for model in count} - {"", embedder.model_id})
    if rows and not ready:
        reason = (
            f"the index has vectors of {', '.join(others)}, not of {embedder.model_id}"
            if others
            else "the index has no vectors yet"
        )
        plan.notices.append(f"Answered by words alone: {reason}.")
    elif ready < rows:
        plan.notices.append(f"Vectors are there for {ready:,} of {rows:,} rows so far.")
    return ready / rows if rows else 0.0
