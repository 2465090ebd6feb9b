"""Cut every N characters or every N lines, with an optional overlap: the arm without syntax."""

import numpy as np

from codelake.chunking.spans import Options, Parts, Source, Span
from codelake.measure import Ints


def cut_fixed(source: Source, options: Options) -> list[Span]:
    """Return spans of ``budget`` characters, or of ``lines`` lines if that is set.

    With ``overlap`` a span repeats that many characters (or lines) of the one before.
    """
    starts = _line_starts(source) if options.lines else _character_starts(source.text)
    size = options.lines or options.budget
    step = max(size - options.overlap, 1)
    count = len(starts)
    spans = []
    for at in range(0, max(count, 1), step):
        end = int(starts[at + size]) if at + size < count else len(source.text)
        spans.append(Span(int(starts[at]), int(starts[at]), end, parts=Parts.OTHER))
        if at + size >= count:
            break
    return spans


def _character_starts(text: bytes) -> Ints:
    raw = np.frombuffer(text, dtype=np.uint8)
    starts = np.flatnonzero((raw & 0xC0) != 0x80)  # noqa: PLR2004 - UTF-8's own bits
    return starts if len(starts) else np.zeros(1, dtype=np.int64)


def _line_starts(source: Source) -> Ints:
    raw = np.frombuffer(source.text, dtype=np.uint8)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.flatnonzero(raw == ord("\n")) + 1])
    return starts[:-1] if len(starts) > 1 and starts[-1] == len(raw) else starts
