"""Count non-whitespace characters, find lines and trim spans of a UTF-8 text in constant time each.

White space is what :meth:`str.isspace` says. A code point is counted at its first byte, so every
count is right for multi-byte text and a span never has to be decoded to be measured.
"""

import re
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_ASCII_SPACE: Final = bytes(i for i in range(128) if chr(i).isspace())
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
_COUNTED: Final = np.array(
    [i not in _ASCII_SPACE and i not in _CONTINUATION for i in range(256)], dtype=np.uint8
)
_UNICODE_SPACES: Final = [chr(i) for i in range(0x80, 0x3001) if chr(i).isspace()]
_WIDE_SPACE: Final = re.compile(b"|".join(re.escape(c.encode()) for c in _UNICODE_SPACES))
_TRIMMED: Final = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())


def count_nws_bytes(text: bytes) -> int:
    """Return the bytes of ``text`` that are no ASCII white space: at least its nws characters."""
    return len(text.translate(None, _ASCII_SPACE))


def is_blank(text: bytes) -> bool:
    """Tell whether ``text`` has no character but white space."""
    if text.isascii():
        return not text.strip(_ASCII_SPACE)
    return not text.decode().strip(_TRIMMED)


class Measure:
    """Prefix sums of the non-whitespace characters of one text.

    ``counts[i]`` is the number of nws characters that begin before byte ``i``.
    """

    __slots__ = ("_newlines", "counts", "text")

    def __init__(self, text: bytes) -> None:
        """Count ``text``, valid UTF-8."""
        self.text = text
        self._newlines: Ints | None = None
        flags = _COUNTED[np.frombuffer(text, dtype=np.uint8)]
        if not text.isascii():
            for match in _WIDE_SPACE.finditer(text):
                flags[match.start()] = 0
        self.counts: npt.NDArray[np.int32] = np.zeros(len(text) + 1, dtype=np.int32)
        np.cumsum(flags, dtype=np.int32, out=self.counts[1:])

    def nws(self, start: int, end: int) -> int:
        """Return the nws characters that begin in ``[start, end)``."""
        return int(self.counts[end] - self.counts[start])

    def nws_of(self, starts: Ints, ends: Ints) -> Ints:
        """Return the nws characters of many spans at once."""
        sizes: Ints = (self.counts[ends] - self.counts[starts]).astype(np.int64)
        return sizes

    def reach(self, start: int, budget: int) -> int:
        """Return the last offset up to which text from ``start`` on has at most ``budget`` nws.

        It lies in front of the nws character that would be too much, never inside one.
        """
        most = self.counts[start] + budget
        return int(np.searchsorted(self.counts, most, side="right")) - 1

    def trim(self, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Narrow spans to their first and behind their last nws character.

        A span without one becomes empty.
        """
        counts = self.counts
        firsts: Ints = np.searchsorted(counts, counts[starts], side="right") - 1
        lasts: Ints = np.searchsorted(counts, counts[ends], side="left")
        limit = len(self.text)
        raw = np.frombuffer(self.text, dtype=np.uint8)
        for _ in range(3):  # a code point has at most three bytes behind its first
            inside = lasts < limit
            inside[inside] = (raw[lasts[inside]] & 0xC0) == 0x80  # noqa: PLR2004 - UTF-8's own bits
            lasts = lasts + inside
        firsts = np.minimum(np.maximum(firsts, starts), ends)
        return firsts, np.maximum(np.minimum(lasts, ends), firsts)

    def indented(self, starts: Ints) -> Ints:
        """Move offsets left over blanks to their line start where only blanks are before them."""
        text = self.text
        moved = [_line_start_over_blanks(text, int(start)) for start in starts]
        return np.array(moved, dtype=np.int64)

    @property
    def newlines(self) -> Ints:
        r"""Offsets of every ``\n``."""
        if self._newlines is None:
            raw = np.frombuffer(self.text, dtype=np.uint8)
            self._newlines = np.flatnonzero(raw == ord("\n"))
        return self._newlines

    def lines_of(self, offsets: Ints) -> Ints:
        """Return the 1-based lines that hold the bytes at ``offsets``."""
        lines: Ints = np.searchsorted(self.newlines, offsets, side="left") + 1
        return lines


def _line_start_over_blanks(text: bytes, start: int) -> int:
    at = start
    while at and text[at - 1] in b" \t":
        at -= 1
    return at if at == 0 or text[at - 1] == ord("\n") else start
