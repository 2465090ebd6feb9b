"""Search stored code by regular expression."""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from codelake.search.candidates import Candidate, read_candidates
from codelake.search.grouping import group
from codelake.search.questions import read_question
from codelake.search.ranking import score_candidates
from codelake.search.tables import Filters, SearchTables
from codelake.settings import SearchSettings

# Matches read per wanted hit, so that code can rank above the tests that match as well.
_SPARE: Final = 10

# Private characters: one that a text does not have can mark the matches in it.
_FIRST_MARK: Final = 0xE000
_LAST_MARK: Final = 0xF8FF


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

    None where RE2 does not know what the store's dialect does. Like the store's it takes time in
    proportion to the text; ``(a+)+b`` never ends in Python's own ``re``.
    """
    text = candidate.text
    mark = next(char for char in map(chr, range(_FIRST_MARK, _LAST_MARK)) if char not in text)
    try:
        found = pc.replace_substring_regex(
            pa.array([text]), pattern=pattern, replacement=f"{mark}\\0{mark}"
        )
    except pa.ArrowInvalid:
        return ()
    lines: set[int] = set()
    line = candidate.start_line
    for number, part in enumerate(found[0].as_py().split(mark)):
        if number % 2:  # every other part is a match
            lines.update(range(line, line + part.rstrip("\n").count("\n") + 1))
        line += part.count("\n")
    return tuple(sorted(lines))
