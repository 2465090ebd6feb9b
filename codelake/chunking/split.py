"""Cut text that has no structure left: at line ends, else word ends, else between characters."""

import re
from typing import Final

from codelake.measure import Measure

_BLANK_LINE: Final = re.compile(rb"\n[ \t\r]*\n")


def split_text(measure: Measure, start: int, end: int, budget: int) -> list[int]:
    """Return the ends of pieces of ``[start, end)`` that have at most ``budget`` nws each.

    A blank line in the second half of a piece wins over its last line end, which wins over its
    last blank. The last element is ``end``.
    """
    ends = []
    at = start
    while measure.nws(at, end) > budget:
        at = _cut(measure, at, min(measure.reach(at, budget), end), budget)
        ends.append(at)
    return [*ends, end]


def _cut(measure: Measure, start: int, limit: int, budget: int) -> int:
    text = measure.text
    # Without the skipped space a piece could be cut in front of its own first character.
    first = measure.reach(start, 0)
    half = measure.reach(start, budget // 2)
    paragraphs = [match.end() for match in _BLANK_LINE.finditer(text, half, limit)]
    if paragraphs:
        return paragraphs[-1]
    line = text.rfind(b"\n", first, limit) + 1
    if line > first:
        return line
    word = max(text.rfind(blank, first, limit) for blank in (b" ", b"\t", b"\r", b"\f", b"\v"))
    return word + 1 if word >= first else limit
