"""The spans of one file with what describes them, packed to travel between stages."""

import json
from dataclasses import dataclass
from typing import Final

from codelake.chunking.keys import Label, find_keys
from codelake.chunking.spans import Chunker, Options, Source, Span
from codelake.parsing import Parsed, Region


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is cut: spans in text order, syntax errors, labels, embedded regions."""

    spans: list[Span]
    errors: tuple[tuple[int, int], ...] = ()
    labels: tuple[Label, ...] = ()
    regions: tuple[Region, ...] = ()


_encode: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":")
).encode


def lay_out(source: Source, parsed: Parsed, cut: Chunker, options: Options) -> Layout:
    """Cut ``source`` and keep what is known only while its tree is at hand."""
    labels = find_keys(parsed.tree, source.text, options.budget) if parsed.tree else []
    labels += [Label(r.start, r.end, r.label) for r in parsed.regions if r.label]
    return Layout(cut(source, options), parsed.errors, tuple(labels), parsed.regions)


def pack_layout(layout: Layout) -> bytes:
    """Return ``layout`` as bytes."""
    rows: list[object] = [[(s.start, s.core, s.end, s.nws, s.parts, s.kind) for s in layout.spans]]
    if layout.errors or layout.labels or layout.regions:
        rows += [
            layout.errors,
            [(label.start, label.end, label.label) for label in layout.labels],
            [(r.start, r.end, r.language, r.label) for r in layout.regions],
        ]
    return _encode(rows).encode("utf-8", "surrogatepass")


def unpack_layout(data: bytes) -> Layout:
    """Return the layout that :func:`pack_layout` made bytes of; empty for no bytes."""
    if not data:
        return Layout([])
    spans, *more = json.loads(data)
    errors, labels, regions = more or ((), (), ())
    return Layout(
        [Span(*span) for span in spans],
        tuple((start, end) for start, end in errors),
        tuple(Label(*label) for label in labels),
        tuple(Region(*region) for region in regions),
    )
