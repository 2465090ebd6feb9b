"""Which old lines a unified diff changes."""

import re
from collections.abc import Iterator
from typing import Final

from evaluation.retrieval_sets import GoldSpan

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def changed_lines(patch: str) -> tuple[GoldSpan, ...]:
    """Return the changed and removed lines of each old file, in the order of the patch.

    Where lines were only inserted, both neighbours count. New files have no old lines.
    """
    spans: list[GoldSpan] = []
    for path, start, end in _changes(patch):
        last = spans[-1] if spans else None
        if last is not None and last.path == path and last.end_line >= start - 1:
            spans[-1] = GoldSpan(path, last.start_line, max(end, last.end_line))
        else:
            spans.append(GoldSpan(path, start, end))
    return tuple(spans)


def _changes(patch: str) -> Iterator[tuple[str, int, int]]:
    path, line, old_left, new_left = "", 0, 0, 0
    is_replacing = False
    for text in patch.splitlines():
        if old_left <= 0 and new_left <= 0:
            hunk = _HUNK.match(text)
            if hunk is not None:
                old_left, new_left = int(hunk[2] or 1), int(hunk[3] or 1)
                # "-12,0" inserts after line 12: the next old line is 13.
                line = int(hunk[1]) + (old_left == 0)
                is_replacing = False
            elif text.startswith("--- "):
                name = text[4:].split("\t")[0]
                path = "" if name == "/dev/null" else name.removeprefix("a/")
        elif text.startswith("-"):
            if path:
                yield path, line, line
            line, old_left, is_replacing = line + 1, old_left - 1, True
        elif text.startswith("+"):
            if path and not is_replacing:
                yield path, max(line - 1, 1), line
            new_left, is_replacing = new_left - 1, True
        elif not text.startswith("\\"):
            line, old_left, new_left = line + 1, old_left - 1, new_left - 1
            is_replacing = False
