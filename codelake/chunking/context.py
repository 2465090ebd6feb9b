"""Describe spans: trim them, and say what each is, contains and lies in."""

import bisect
import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from codelake.chunking.chunks import Chunk
from codelake.chunking.spans import Parts, Source, Span
from codelake.definitions import Definition
from codelake.languages.roles import Role, module_kind
from codelake.outline import ROLE_BITS

_MOST_AROUND: Final = (
    32  # enclosing definitions a chunk names: code is not nested deeper, bombs are
)
_MOST_BESIDE: Final = 24  # nws beside a definition that is still the chunk: `export default`, `;`
_PLAIN: Final = frozenset({"variable", "constant", "field", "property", "enum_member", "key"})
_MODULE_KINDS: Final = {
    Parts.IMPORT: "imports",
    Parts.PACKAGE: "package",
    Parts.PACKAGE | Parts.IMPORT: "imports",
    Parts.SETUP: "setup",
    Parts.SETUP | Parts.IMPORT: "setup",
}
_KEY: Final = re.compile(rb"""[\s\[]*("(?:[^"\\]|\\.)*"|'[^']*'|[^:=\]\s{]+)""")
_LONGEST_KEY: Final = 200  # bytes


@dataclass(frozen=True, slots=True)
class _Named:
    """Something with a name that chunks can contain or lie in: a definition, a key, a cell."""

    start: int
    end: int
    label: str
    definition: Definition | None = None

    @property
    def kind(self) -> str:
        return self.definition.kind if self.definition else ""

    @property
    def is_container(self) -> bool:
        return self.definition is not None and self.definition.is_container


def describe(source: Source, spans: list[Span]) -> list[Chunk]:
    """Return the chunks of ``spans``, trimmed and without those that are white space."""
    measure = source.measure
    starts = np.array([span.start for span in spans], dtype=np.int64)
    ends = np.array([span.end for span in spans], dtype=np.int64)
    starts, ends = measure.trim(starts, ends)
    kept = np.flatnonzero(starts < ends)
    starts, ends = measure.indented(starts[kept]), ends[kept]
    columns = zip(
        (spans[i] for i in kept.tolist()),
        starts.tolist(),
        ends.tolist(),
        measure.lines_of(starts).tolist(),
        measure.lines_of(ends - 1).tolist(),
        measure.nws_of(starts, ends).tolist(),
        strict=True,
    )
    describer = _Describer(source)
    return [describer.chunk(span, tuple(numbers)) for span, *numbers in columns]


class _Describer:
    """Walk the named things of a text along with its spans, which come in order."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._named = _named(source)
        self._starts = [named.start for named in self._named]
        self._next = 0
        self._around: list[_Named] = []
        self._module = module_kind(source.language)
        self._regions = sorted(source.outline.regions)

    def chunk(self, span: Span, numbers: tuple[int, ...]) -> Chunk:
        """Return the chunk of ``span``; ``numbers`` are its bytes, lines and nws characters."""
        start, end, first_line, last_line, nws = numbers
        inside, partial = self._contents(start, end)
        core = min(max(span.core, start), end)
        itself = self._itself(span, core, end, inside, partial)
        enclosing = itself or self._enclosing(core, end, partial)
        return Chunk(
            start,
            end,
            first_line,
            last_line,
            nws,
            span.kind or self._kind(span, core, enclosing),
            itself.definition.name if itself and itself.definition else "",
            enclosing.label if enclosing else "",
            tuple(named.label for named in inside),
            tuple(named.label for named in partial),
            span.has_error,
            self._source.text[start:end].decode("utf-8", "replace"),
            self._language(start, end),
        )

    def _contents(self, start: int, end: int) -> tuple[list[_Named], list[_Named]]:
        """Return what lies wholly inside, and what lies partly, outermost first."""
        first = bisect.bisect_left(self._starts, start)
        last = bisect.bisect_left(self._starts, end, first)
        for named in self._named[self._next : first]:
            self._close(named.start)
            self._around.append(named)
        self._next = max(first, self._next)
        self._close(start)
        begun = self._named[first:last]
        inside = [named for named in begun if named.end <= end]
        cut = [named for named in begun if named.end > end]
        return inside, [*self._around[-_MOST_AROUND:], *cut[:_MOST_AROUND]]

    def _close(self, at: int) -> None:
        while self._around and self._around[-1].end <= at:
            self._around.pop()

    def _itself(
        self, span: Span, core: int, end: int, inside: list[_Named], partial: list[_Named]
    ) -> _Named | None:
        """Return the one thing the chunk is, if it is hardly more than that."""
        if not inside or (partial and partial[-1].start >= core):
            return None
        first = inside[0]
        if span.definition is not None and first.definition is not span.definition:
            return next((n for n in inside if n.definition is span.definition), first)
        if first.start < core:
            return None
        nws = self._source.measure.nws
        return first if nws(core, first.start) + nws(first.end, end) <= _MOST_BESIDE else None

    def _enclosing(self, core: int, end: int, partial: list[_Named]) -> _Named | None:
        for named in partial:
            if named.start >= core and named.end > end:
                is_head = self._source.measure.nws(core, named.start) <= _MOST_BESIDE
                return named if is_head else self._innermost(core, end, partial)
        return self._innermost(core, end, partial)

    def _innermost(self, core: int, end: int, partial: list[_Named]) -> _Named | None:
        around = (n for n in reversed(partial) if n.start <= core and n.end >= end)
        return next(around, None)

    def _kind(self, span: Span, core: int, enclosing: _Named | None) -> str:
        if enclosing is not None and enclosing.kind and enclosing.kind not in _PLAIN:
            is_head = enclosing.start >= core and enclosing.end > span.end
            is_head = is_head and enclosing.is_container
            return f"{enclosing.kind}_definition" if is_head else enclosing.kind
        for named in reversed(self._around):
            if named.is_container and named.end >= span.end:
                return named.kind
        return _MODULE_KINDS.get(span.parts, self._module)

    def _language(self, start: int, end: int) -> str:
        at = bisect.bisect_right(self._regions, (start, len(self._source.text) + 1, "", "")) - 1
        if at >= 0 and self._regions[at][1] >= end:
            return self._regions[at][2]
        return self._source.language


def _named(source: Source) -> list[_Named]:
    """Return everything with a name in the order of the text, the outer before the inner."""
    found = [_Named(d.start_byte, d.end_byte, _label(d), d) for d in source.definitions]
    found += [_Named(s, e, label) for s, e, _, label in source.outline.regions if label]
    found += _keys(source)
    if not found:
        return []
    starts = np.array([named.start for named in found], dtype=np.int64)
    ends = np.array([named.end for named in found], dtype=np.int64)
    starts, ends = source.measure.trim(starts, ends)
    order = np.lexsort((-ends, starts)).tolist()
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    return [_Named(spans[i][0], spans[i][1], found[i].label, found[i].definition) for i in order]


def _keys(source: Source) -> list[_Named]:
    """Return the keys of a data file that the outline shows, as dotted paths."""
    roles = source.outline.roles
    nodes = [i for i, role in enumerate(roles) if role & ROLE_BITS == Role.KEY]
    if not nodes:
        return []
    starts, ends = source.outline.starts.tolist(), source.outline.ends.tolist()
    found: list[_Named] = []
    around: list[_Named] = []
    for i in sorted(nodes, key=lambda node: (starts[node], -ends[node])):
        while around and around[-1].end <= starts[i]:
            around.pop()
        match = _KEY.match(source.text, starts[i], min(ends[i], starts[i] + _LONGEST_KEY))
        key = match[1].decode("utf-8", "replace").strip("\"'") if match else ""
        outer = [named.label for named in around[-1:]]
        found.append(_Named(starts[i], ends[i], ".".join([*outer, key])[:_LONGEST_KEY]))
        around.append(found[-1])
    return found


def _label(definition: Definition) -> str:
    """Return the qualified name; headings are words, so their path is joined as one reads it."""
    if definition.kind == "section":
        return " > ".join(definition.hierarchy)
    return definition.qualified_name
