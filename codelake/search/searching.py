"""Answer questions: the one entry point and what the modes do."""

import difflib
from collections.abc import Sequence
from typing import Final

from codelake.embedding import Embedder
from codelake.errors import UsageError
from codelake.reranking import Reranker
from codelake.search.answers import Answer
from codelake.search.batches import merge
from codelake.search.hits import build_hits
from codelake.search.multihop import Clock
from codelake.search.patterns import match_pattern
from codelake.search.plans import Plan, make_plan
from codelake.search.rankings import Ranker
from codelake.search.tables import Filters, SearchTables
from codelake.settings import SearchSettings

MODES: Final[dict[str, str]] = {
    "hybrid": "vectors and words together",
    "vector": "vectors alone",
    "text": "words alone (BM25)",
    "symbol": "names of definitions",
    "regex": "a regular expression over the stored code",
    "multihop": "hybrid, then from hit to hit, reranked",
}

_DEFAULTS: Final = SearchSettings()
_ANY: Final = Filters()


def search(  # noqa: PLR0913 - all but two have defaults, and each is one choice of the caller's
    queries: Sequence[str] | str,
    *,
    tables: SearchTables,
    embedder: Embedder | None,
    reranker: Reranker | None = None,
    mode: str = "hybrid",
    k: int = 10,
    filters: Filters = _ANY,
    settings: SearchSettings = _DEFAULTS,
    clock: Clock = float,
) -> Answer:
    """Answer one question, or several as one batch, from the stored chunks and symbols.

    With the tables of a store, ``LanceStore(Path(".codelake")).search_tables()``::

        >>> answer = search("where is parseHTTPRetryAfter defined", tables=tables, embedder=None)
        >>> hit = answer.hits[0]
        >>> hit.path, hit.start_line, hit.qualified_name
        ('pay/retry.py', 5, 'parseHTTPRetryAfter')

    Args:
        queries: questions in words, identifiers, quoted texts; patterns in mode ``regex``.
        tables: the store; ``resources.store.LanceStore`` is one.
        embedder: makes the vectors of the questions; None searches by words alone.
        reranker: makes ``hybrid`` walk from hit to hit unless ``search.multihop.when`` forbids.
        mode: one of ``MODES``.
        k: most hits; fewer mean that there are no more.
        filters: conditions on the rows, applied before the best are taken.
        settings: weights and limits.
        clock: seconds, for the time limit of multi-hop; the default never ends a search.

    Raises:
        UsageError: no question, an unknown mode, a wrong pattern, or ``vector`` without embedder.
    """
    asked = (queries,) if isinstance(queries, str) else tuple(dict.fromkeys(queries))
    _check(asked, mode, k)
    if mode == "regex":
        found = {query: match_pattern(query, tables, filters, k, settings) for query in asked}
        plan, stopped = Plan("regex"), []
    else:
        plan = make_plan(mode, tables, embedder, reranker, settings)
        ranker = Ranker(plan, tables, filters, settings, k, clock)
        found, stopped = ranker.rank(asked), ranker.stopped
    hits = build_hits(merge(found, settings.ranking)[:k], tables, filters)
    reason = ", ".join(dict.fromkeys(stopped)) or None
    return Answer(plan.mode, hits, reason, tuple(dict.fromkeys(plan.notices)))


def _check(asked: Sequence[str], mode: str, k: int) -> None:
    if not asked or not all(query.strip() for query in asked):
        message = "a search needs a question; one was empty or none was given"
        raise UsageError(message)
    if k < 1:
        message = f"k = {k}: ask for at least one hit"
        raise UsageError(message)
    if mode not in MODES:
        near = difflib.get_close_matches(mode, MODES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(MODES)}"
        message = f"unknown search mode {mode!r}; {hint}"
        raise UsageError(message)
