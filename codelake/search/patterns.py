"""Search stored code by regular expression."""

import re
from typing import Final

from codelake.search.candidates import Candidate, read_candidates
from codelake.search.grouping import group
from codelake.search.questions import read_question
from codelake.search.ranking import score_candidates
from codelake.search.tables import Filters, SearchTables
from codelake.settings import SearchSettings

# Matches read per wanted hit, so that code can rank above the tests that match as well.
_SPARE: Final = 10


def match_pattern(
    pattern: str, tables: SearchTables, filters: Filters, k: int, settings: SearchSettings
) -> list[Candidate]:
    """Return chunks that match ``pattern``, code before tests, with the matching lines.

    A match lies inside one chunk; see docs/search.md for the dialect.
    """
    rows = tables.matches_pattern("chunks", pattern, k=_SPARE * k, filters=filters)
    candidates = read_candidates("chunks", rows)
    for candidate in candidates:
        candidate.signals["dense"] = 1.0
        candidate.lines = matching_lines(pattern, candidate)
    asked = read_question("pattern")
    score_candidates(candidates, asked, settings.model_copy(update={"dense_weight": 1.0}))
    return group(candidates, settings.ranking)[:k]


def matching_lines(pattern: str, candidate: Candidate) -> tuple[int, ...]:
    """Return the lines of the file that a match of ``pattern`` touches.

    None where Python's dialect does not know what the store's does.
    """
    try:
        compiled = re.compile(pattern)
    except re.error:
        return ()
    found: set[int] = set()
    for match in compiled.finditer(candidate.text):
        first = candidate.start_line + candidate.text.count("\n", 0, match.start())
        last = first + match.group().rstrip("\n").count("\n")
        found.update(range(first, last + 1))
    return tuple(sorted(found))
