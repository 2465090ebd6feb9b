"""Files that their parser did not survive, and which grammars are not asked again after them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

GRAMMAR_STOPPED: Final = "grammar-stopped"  # parse reason of the files behind a stop

_SMALL_FILE: Final = 65_536  # a grammar that stops on a file of this size is broken at once
_MOST_FAULTS: Final = 3  # on bigger files it may have been the file: three are the grammar


@dataclass(frozen=True, slots=True)
class Fault:
    """What became of one file.

    Args:
        reason: a parse reason: timeout, memory or crash.
        language: the grammar that was asked.
        size: bytes of the file.
        is_fatal: the parser died although the file was not parsed.
    """

    reason: str
    language: str
    size: int
    is_fatal: bool


def find_stops(faults: Mapping[int, Fault]) -> dict[str, int]:
    """Return by language the row behind which its grammar is not asked any more.

    Args:
        faults: by the number of the row in the whole input, so that the answer is the same
            whichever file was parsed first, and wherever.
    """
    counts: dict[str, int] = {}
    stops: dict[str, int] = {}
    for row, fault in sorted(faults.items()):
        is_small_hang = fault.reason == "timeout" and fault.size <= _SMALL_FILE
        counts[fault.language] = counts.get(fault.language, 0) + 1
        if is_small_hang or counts[fault.language] >= _MOST_FAULTS:
            stops.setdefault(fault.language, row)
    return stops
