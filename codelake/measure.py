"""Count non-whitespace characters of a UTF-8 text without decoding it.

White space is what :meth:`str.isspace` says. A code point is counted at its first byte, so every
count is right for multi-byte text.
"""

from bisect import bisect_right
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

ASCII_SPACE: Final = bytes(i for i in range(128) if chr(i).isspace())
_FIRST_SPACE: Final = np.uint8(0x09)  # tab to carriage return
_FIRST_SEPARATOR: Final = np.uint8(0x1C)  # file separator to space
_SPACES: Final = np.uint8(4)  # that many more follow the first of either
_CONTINUATION: Final = range(0x80, 0xC0)
_FLAGS: Final = bytes(i not in ASCII_SPACE and i not in _CONTINUATION for i in range(256))
_WIDE_SPACES: Final = frozenset(chr(i).encode() for i in range(0x80, 0x3001) if chr(i).isspace())
_WIDE_LEADS: Final = bytes(i in {space[0] for space in _WIDE_SPACES} for i in range(256))


def count_nws_bytes(text: bytes) -> int:
    """Return the bytes of ``text`` that are no ASCII white space: at least its nws characters."""
    return len(text.translate(None, ASCII_SPACE))


def is_blank(text: bytes) -> bool:
    """Tell whether ``text`` has no character but white space."""
    return not (text.strip(ASCII_SPACE) if text.isascii() else text.decode().strip())


def trim(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Narrow a span to its first and behind its last nws character; empty if it has none."""
    part = text[start:end]
    if part.isascii():
        solid = part.lstrip(ASCII_SPACE)
        first = end - len(solid)
        return first, first + len(solid.rstrip(ASCII_SPACE))
    words = part.decode().lstrip()
    first = end - len(words.encode())
    return first, first + len(words.rstrip().encode())


class Measure:
    """Prefix sums: ``counts[i]`` is how many nws characters begin before byte ``i``.

    Flags and their running sum, under 1.4 ns a byte: a fiftieth of what parsing takes.
    """

    __slots__ = ("counts", "text")

    def __init__(self, text: bytes) -> None:
        """Count ``text``, valid UTF-8."""
        self.text = text
        counts = np.empty(len(text) + 1, dtype=np.int32)
        counts[0] = 0
        # What np.cumsum wraps, 2 microseconds a file later.
        np.add.accumulate(_flags(text), dtype=np.int32, out=counts[1:])
        # A view gives Python's own integers, three times as fast as NumPy's scalars.
        self.counts: memoryview[int] = counts.data

    def nws(self, start: int, end: int) -> int:
        """Return the nws characters that begin in ``[start, end)``."""
        counts = self.counts
        return counts[end] - counts[start]

    def reach(self, start: int, budget: int) -> int:
        """Return the last offset up to which text from ``start`` on has at most ``budget`` nws.

        It lies in front of the nws character that would be too much, never inside one.
        """
        counts = self.counts
        # As many bytes have at most as many characters: the search may begin there.
        low = min(start + budget, len(self.text))
        return bisect_right(counts, counts[start] + budget, low) - 1


def _flags(text: bytes) -> npt.NDArray[np.uint8] | npt.NDArray[np.bool_]:
    """Return 1 for each byte an nws character begins at, else 0."""
    if text.isascii():
        # The two ranges of ASCII white space; smaller bytes wrap around to large ones. Whole
        # vectors of bytes at a time, where a translation table takes one by one.
        data = np.frombuffer(text, np.uint8)
        return ((data - _FIRST_SPACE) > _SPACES) & ((data - _FIRST_SEPARATOR) > _SPACES)
    return np.frombuffer(_without_wide_spaces(text, text.translate(_FLAGS)), np.uint8)


def _without_wide_spaces(text: bytes, flags: bytes) -> bytes:
    """Unset the flags of the spaces beyond ASCII, whose first bytes begin other characters too."""
    leads = np.flatnonzero(np.frombuffer(text.translate(_WIDE_LEADS), dtype=np.uint8)).tolist()
    spaces = [
        i for i in leads if text[i : i + 2] in _WIDE_SPACES or text[i : i + 3] in _WIDE_SPACES
    ]
    if not spaces:
        return flags
    marked = bytearray(flags)
    for at in spaces:
        marked[at] = 0
    return bytes(marked)
