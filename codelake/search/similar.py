"""Find code that is like the code at a line."""

from dataclasses import replace
from typing import Final

import numpy as np

from codelake.errors import UsageError
from codelake.search.answers import Answer
from codelake.search.candidates import Candidate, Rankings, Recall
from codelake.search.grouping import group, is_overlapping
from codelake.search.hits import build_hits
from codelake.search.questions import read_question
from codelake.search.ranking import score_candidates
from codelake.search.showing import file_rows
from codelake.search.tables import Filters, SearchTables
from codelake.settings import SearchSettings

_DEFAULTS: Final = SearchSettings()
_ANY: Final = Filters()


def find_similar(  # noqa: PLR0913 - a place has three parts, the rest is as in search
    path: str,
    line: int,
    *,
    repository: str,
    tables: SearchTables,
    k: int = 10,
    filters: Filters = _ANY,
    settings: SearchSettings = _DEFAULTS,
) -> Answer:
    """Return the rows nearest to the chunk and the innermost definition at a line.

    Raises:
        UsageError: nothing is stored for that line, or it has no vector yet.
    """
    seeds = _rows_at(path, line, repository, tables)
    if not seeds:
        message = f"nothing is indexed at {repository}:{path}:{line}; see `codelake status`"
        raise UsageError(message)
    nearest = {}
    depth = max(settings.depth, 4 * k)
    for seed in seeds:
        for model_id in sorted(set(tables.coverage(seed.table)) - {""}):
            vectors = tables.vectors(seed.table, [seed.id], model_id=model_id)
            if np.any(vectors):
                (nearest[seed.table],) = tables.nearest(
                    seed.table, vectors, model_id=model_id, k=depth, filters=filters
                )
    if not nearest:
        message = f"{repository}:{path}:{line} has no vector yet; run `codelake index` to the end"
        raise UsageError(message)
    question = replace(read_question("code like this"), natural=())  # so tests rank below code
    recall = Recall(tables, filters, depth, tuple(nearest))
    found, _ = recall.find(question, Rankings(nearest, {}))
    others = [c for c in found if not any(is_overlapping(c, seed) for seed in seeds)]
    score_candidates(others, question, settings.model_copy(update={"dense_weight": 1.0}))
    ranked = group(others, settings.ranking)[:k]
    return Answer("similar", build_hits(ranked, tables, filters))


def _rows_at(path: str, line: int, repository: str, tables: SearchTables) -> list[Candidate]:
    """Return the smallest chunk and the smallest definition that hold the line."""
    found = []
    for table in ("chunks", "symbols"):
        rows = file_rows(tables, table, repository, path)
        around = [c for c in rows if c.start_line <= line <= c.end_line]
        found += sorted(around, key=lambda c: (c.end_line - c.start_line, c.order))[:1]
    return found
