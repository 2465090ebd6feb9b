"""Cut along the syntax tree: open big nodes, merge small neighbours (cAST, arXiv 2506.15655).

A node that fits the budget stays whole, another is opened into its children; siblings are taken
together while they fit, and what an opened node left over is merged with its neighbours inside the
same parent. Comments and decorators stay with what follows, closing tokens with what they close.
No recursion, linear in the outline.
"""

from dataclasses import dataclass
from typing import Final

from codelake.chunking.spans import Options, Parts, Source, Span
from codelake.chunking.split import split_text
from codelake.languages.roles import Role
from codelake.measure import Measure
from codelake.outline import HAS_ERROR, ROLE_BITS, Outline

_PARTS: Final = {
    Role.COMMENT: 0,
    Role.PREFIX: Parts.OTHER,
    Role.SUFFIX: 0,
    Role.IMPORT: Parts.IMPORT,
    Role.PACKAGE: Parts.PACKAGE,
    Role.SETUP: Parts.SETUP,
}
_PARTS_OF: Final = [
    _PARTS.get(Role(role), Parts.OTHER) if role in list(Role) else Parts.OTHER
    for role in range(ROLE_BITS + 1)
]
_ERROR: Final = 0x10
_TEXT: Final = -1  # in place of a node: a stretch no node covers


@dataclass(slots=True)
class _Unit:
    """Siblings that belong together: comments in front, a node, closing tokens behind."""

    start: int
    core: int
    core_end: int
    end: int
    size: int
    core_size: int
    node: int
    flags: int


@dataclass(slots=True)
class _Level:
    """The children of one opened node, and the first span that came out of them."""

    units: list[_Unit]
    first: int
    at: int = 0


def cut_cast(source: Source, options: Options) -> list[Span]:
    """Return the cAST spans of ``source``; each nws character is in exactly one."""
    return CastCutter(source.outline, source.measure, options.budget).cut()


class CastCutter:
    """Turn one outline into spans; ``is_gluing`` off is the published algorithm to the letter."""

    def __init__(
        self, outline: Outline, measure: Measure, budget: int, *, is_gluing: bool = True
    ) -> None:
        """Read the outline into plain lists, which a loop reads fastest."""
        self._measure = measure
        self._text = measure.text
        self._budget = budget
        self._is_gluing = is_gluing
        counts = measure.counts
        self._starts = outline.starts.tolist()
        self._ends = outline.ends.tolist()
        heads, tails = counts[outline.starts], counts[outline.ends]
        self._sizes = (tails - heads).tolist()
        self._gaps = [0, *(heads[1:] - tails[:-1]).tolist()]
        self._roles = outline.roles
        self._children = outline.children()
        self._spans: list[Span | None] = []
        self._span_sizes: list[int] = []

    def cut(self) -> list[Span]:
        """Return the spans in the order of the text."""
        whole = len(self._text)
        size = self._measure.nws(0, whole)
        if not size:
            return []
        units = self._units(0, _Unit(0, 0, whole, whole, size, size, 0, 0), is_top=True)
        if size <= self._budget:
            flags = 0
            for unit in units:
                flags |= unit.flags
            if self._roles[0] & HAS_ERROR:
                flags |= _ERROR
            return [_span(0, units[0].core if units else 0, whole, flags)]
        self._run(units)
        return [span for span in self._spans if span is not None]

    def _run(self, units: list[_Unit]) -> None:
        """Work through the levels with a stack of our own: nesting has no bound."""
        levels = [_Level(units, 0)]
        while levels:
            opened = self._fill(levels[-1], is_top=len(levels) == 1)
            if opened is not None:
                levels.append(_Level(opened, len(self._spans)))
                continue
            closed = levels.pop()
            if len(levels) > 1:  # what is left of a node merges inside its parent, not across
                self._join(closed, levels[-1])

    def _fill(self, level: _Level, *, is_top: bool) -> list[_Unit] | None:
        """Emit spans of one level until a unit has to be opened; return that unit's children."""
        budget = self._budget
        units = level.units
        current: Span | None = None
        size = 0
        while level.at < len(units):
            unit = units[level.at]
            level.at += 1
            if unit.size <= budget:
                if current is None or size + unit.size > budget:
                    if current is not None:
                        self._emit(level, current, size, is_top=is_top)
                    current = _span(unit.start, unit.core, unit.end, unit.flags)
                    size = unit.size
                else:
                    current.end = unit.end
                    current.parts |= unit.flags & ~_ERROR
                    current.has_error |= bool(unit.flags & _ERROR)
                    size += unit.size
                continue
            if current is not None:
                self._emit(level, current, size, is_top=is_top)
                current = None
            return self._break(unit)
        if current is not None:
            self._emit(level, current, size, is_top=is_top)
        return None

    def _break(self, unit: _Unit) -> list[_Unit]:
        """Take apart a unit over the budget."""
        if unit.core_size > self._budget and unit.node in self._children:
            return self._units(unit.node, unit, is_top=False)
        if unit.core_size <= self._budget and not self._can_keep_lead(unit):
            return self._apart(unit)
        return self._pieces(unit)

    def _pieces(self, unit: _Unit) -> list[_Unit]:
        """Cut a leaf over the budget into units that fit."""
        ends = split_text(self._measure, unit.start, unit.end, self._budget)
        starts = [unit.start, *ends[:-1]]
        pieces = []
        for start, end in zip(starts, ends, strict=True):
            size = self._measure.nws(start, end)
            core = unit.core if start <= unit.core < end else start
            pieces.append(_Unit(start, core, end, end, size, size, _TEXT, unit.flags))
        return pieces

    def _can_keep_lead(self, unit: _Unit) -> bool:
        """Tell whether the comments in front and the first line of what follows fit together."""
        if unit.core == unit.start:
            return False
        line_end = self._text.find(b"\n", unit.core, unit.core_end)
        line_end = unit.core_end if line_end < 0 else line_end
        return self._measure.nws(unit.start, line_end) <= self._budget

    def _apart(self, unit: _Unit) -> list[_Unit]:
        """Split off what makes a unit too big: the comments in front or the tokens behind."""
        found = []
        spans = (
            (unit.start, unit.core, _TEXT),
            (unit.core, unit.core_end, unit.node),
            (unit.core_end, unit.end, _TEXT),
        )
        for start, end, node in spans:
            size = self._measure.nws(start, end)
            if size:
                found.append(_Unit(start, start, end, end, size, size, node, unit.flags))
        return found

    def _emit(self, level: _Level, span: Span, size: int, *, is_top: bool) -> None:
        """Append a span, or merge it with what an opened sibling left in front of it."""
        spans = self._spans
        if not is_top and len(spans) > level.first and self._span_sizes[-1] + size <= self._budget:
            last = spans[-1]
            if last is not None:
                _extend(last, span)
                self._span_sizes[-1] += size
                return
        spans.append(span)
        self._span_sizes.append(size)

    def _join(self, closed: _Level, parent: _Level) -> None:
        """Merge the first span of a closed level with the one in front of it, if both fit."""
        at = closed.first
        if at <= parent.first or at >= len(self._spans):
            return
        before, first = self._spans[at - 1], self._spans[at]
        size = self._span_sizes[at - 1] + self._span_sizes[at]
        if before is None or first is None or size > self._budget:
            return
        _extend(before, first)
        self._spans[at], self._span_sizes[at] = before, size
        self._spans[at - 1] = None
        if parent.first == at - 1:
            parent.first = at

    def _units(self, node: int, outer: _Unit, *, is_top: bool) -> list[_Unit]:
        """Group the children of ``node`` into units that cover ``outer`` without a gap."""
        grouper = _Grouper(self._text, is_gluing=self._is_gluing)
        if outer.start < outer.core:
            lead = self._measure.nws(outer.start, outer.core)
            grouper.add_lead(outer.start, outer.core, lead)
        first, count = self._children.get(node, (0, 0))
        at = outer.core
        for i in range(first, first + count):
            start, end, size, gap = self._starts[i], self._ends[i], self._sizes[i], self._gaps[i]
            if i == first or at != self._ends[i - 1] or start < at or end > outer.core_end:
                start = min(max(start, at), outer.core_end)
                end = min(max(end, start), outer.core_end)
                size, gap = self._measure.nws(start, end), self._measure.nws(at, start)
            if gap:
                grouper.add(at, start, gap, Role.OTHER, _TEXT, _flags(0, is_top=is_top))
            if size:
                role = self._roles[i]
                flags = _flags(role, is_top=is_top)
                grouper.add(start, end, size, role & ROLE_BITS, i, flags)
            at = max(at, end)
        rest = self._measure.nws(at, outer.core_end)
        if rest:
            grouper.add(at, outer.core_end, rest, Role.OTHER, _TEXT, _flags(0, is_top=is_top))
        if outer.core_end < outer.end:
            tail = self._measure.nws(outer.core_end, outer.end)
            grouper.add(outer.core_end, outer.end, tail, Role.SUFFIX, _TEXT, 0)
        return grouper.finish()


class _Grouper:
    """Put siblings together that a reader would not part."""

    def __init__(self, text: bytes, *, is_gluing: bool) -> None:
        self._text = text
        self._is_gluing = is_gluing
        self._units: list[_Unit] = []
        self._lead: _Unit | None = None

    def add_lead(self, start: int, end: int, size: int) -> None:
        """Put the comments of an opened node in front of its first child."""
        self._lead = _Unit(start, start, end, end, size, size, _TEXT, 0)

    def add(self, start: int, end: int, size: int, role: int, node: int, flags: int) -> None:
        """Add the next sibling."""
        if self._is_gluing:
            if role == Role.SUFFIX or (role == Role.COMMENT and self._is_trailing(start)):
                if self._lead is None and self._units:
                    last = self._units[-1]
                    last.end = end
                    last.size += size
                    last.flags |= flags
                    return
            elif role in {Role.COMMENT, Role.PREFIX}:
                self._add_prefix(start, end, size, node, flags)
                return
        unit = _Unit(start, start, end, end, size, size, node, flags)
        lead = self._take_lead(start)
        if lead is not None:
            unit.start = lead.start
            unit.size += lead.size
            unit.flags |= lead.flags
        self._units.append(unit)

    def finish(self) -> list[_Unit]:
        """Return the units; comments with nothing behind them are one of their own."""
        if self._lead is not None:
            self._units.append(self._lead)
        return self._units

    def _add_prefix(self, start: int, end: int, size: int, node: int, flags: int) -> None:
        lead = self._take_lead(start)
        if lead is None:
            self._lead = _Unit(start, start, end, end, size, size, node, flags)
            return
        lead.end = lead.core_end = end
        lead.size += size
        lead.core_size = lead.size
        lead.node = _TEXT
        lead.flags |= flags
        self._lead = lead

    def _take_lead(self, start: int) -> _Unit | None:
        """Return the waiting comments if no blank line parts them from ``start``."""
        lead, self._lead = self._lead, None
        if lead is not None and self._text.count(b"\n", lead.end - 1, start) > 1:
            self._units.append(lead)
            return None
        return lead

    def _is_trailing(self, start: int) -> bool:
        if self._lead is not None or not self._units:
            return False
        return b"\n" not in self._text[self._units[-1].end - 1 : start]


def _flags(role: int, *, is_top: bool) -> int:
    error = _ERROR if role & HAS_ERROR else 0
    return error | (_PARTS_OF[role & ROLE_BITS] if is_top else Parts.OTHER)


def _span(start: int, core: int, end: int, flags: int) -> Span:
    return Span(start, core, end, flags & ~_ERROR, bool(flags & _ERROR))


def _extend(span: Span, after: Span) -> None:
    span.end = after.end
    span.parts |= after.parts
    span.has_error |= after.has_error
