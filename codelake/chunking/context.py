"""Describe spans: trim them, and say what each is, contains and lies in."""

import bisect
from typing import Final, NamedTuple

from codelake.chunking.chunks import Chunk
from codelake.chunking.layout import Layout
from codelake.chunking.spans import Parts, Span
from codelake.definitions import Definition
from codelake.languages.roles import module_kind
from codelake.measure import count_nws_bytes, trim

_MOST_AROUND: Final = 32  # enclosing definitions that are named: only bombs are nested deeper
_MOST_BESIDE: Final = 24  # nws beside a definition that is still the chunk: `export default`, `;`
_PLAIN: Final = frozenset({"variable", "constant", "property"})
_MODULE_KINDS: Final = {
    Parts.IMPORT: "imports",
    Parts.PACKAGE: "package",
    Parts.PACKAGE | Parts.IMPORT: "imports",
    Parts.SETUP: "setup",
    Parts.SETUP | Parts.IMPORT: "setup",
}
_NEWLINE: Final = ord("\n")


class _Named(NamedTuple):
    """Something with a name that chunks can contain or lie in: a definition, a key, a cell."""

    start: int
    end: int
    label: str
    name: str = ""
    kind: str = ""
    is_container: bool = False


def describe(
    text: bytes, language: str, layout: Layout, definitions: list[Definition]
) -> list[Chunk]:
    """Return the chunks of a layout, trimmed and without those that are white space."""
    describer = _Describer(text, language, layout, definitions)
    chunks = []
    for span in layout.spans:
        start, end = trim(text, span.start, span.end)
        if start < end:
            chunks.append(describer.chunk(span, start, end))
    return chunks


class _Describer:
    """Walk the named things and lines of a text along with its spans, which come in order."""

    def __init__(
        self, text: bytes, language: str, layout: Layout, definitions: list[Definition]
    ) -> None:
        self._text = text
        self._language = language
        self._named = _named(text, layout, definitions)
        self._starts = [named.start for named in self._named]
        self._next = 0
        self._around: list[_Named] = []
        self._module = module_kind(language)
        self._regions = sorted(layout.regions, key=lambda region: region.start)
        self._errors = layout.errors
        self._at = 0
        self._line = 1

    def chunk(self, span: Span, first: int, end: int) -> Chunk:
        """Return the chunk of ``span``, whose first and last nws characters are given."""
        text = self._text
        start = _line_start(text, first)
        body = text[start:end]
        line = self._line + text.count(b"\n", self._at, start)
        if start < self._at:  # spans may overlap
            line -= text.count(b"\n", start, self._at)
        self._at, self._line = end, line + body.count(b"\n")
        inside, partial = self._contents(start, end)
        core = span.core
        core = trim(text, core, end)[0] if first < core < end else first
        itself = self._itself(core, end, inside, partial) if inside else None
        enclosing = itself or (self._enclosing(core, end, partial) if partial else None)
        characters = body.decode()
        return Chunk(
            start,
            end,
            line,
            self._line,
            span.nws if span.nws >= 0 else len("".join(characters.split())),
            span.kind or self._kind(span, core, enclosing),
            itself.name if itself else "",
            enclosing.label if enclosing else "",
            tuple([named.label for named in inside]),
            tuple([named.label for named in partial]),
            bool(self._errors) and self._has_error(start, end),
            characters,
            self._language_of(start, end) if self._regions else self._language,
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
        if len(inside) == len(begun):
            return inside, self._around[-_MOST_AROUND:]
        cut = [named for named in begun if named.end > end]
        return inside, [*self._around[-_MOST_AROUND:], *cut[:_MOST_AROUND]]

    def _close(self, at: int) -> None:
        while self._around and self._around[-1].end <= at:
            self._around.pop()

    def _itself(
        self, core: int, end: int, inside: list[_Named], partial: list[_Named]
    ) -> _Named | None:
        """Return the one thing the chunk is, if it is hardly more than that."""
        first = inside[0]
        if first.start < core or (partial and partial[-1].start >= core):
            return None
        beside = self._nws(core, first.start) + self._nws(first.end, end)
        return first if beside <= _MOST_BESIDE else None

    def _nws(self, start: int, end: int) -> int:
        # Bytes stand for characters: this only asks whether there is hardly anything.
        return count_nws_bytes(self._text[start:end]) if start < end else 0

    def _enclosing(self, core: int, end: int, partial: list[_Named]) -> _Named | None:
        """Return what the chunk is the head of, else the innermost thing it lies in."""
        for named in partial:
            if named.start >= core and named.end > end:
                if self._nws(core, named.start) <= _MOST_BESIDE:
                    return named
                break
        around = (n for n in reversed(partial) if n.start <= core and n.end >= end)
        return next(around, None)

    def _kind(self, span: Span, core: int, enclosing: _Named | None) -> str:
        if enclosing is not None and enclosing.kind and enclosing.kind not in _PLAIN:
            is_head = enclosing.is_container and enclosing.start >= core
            is_head = is_head and enclosing.end > self._at
            return f"{enclosing.kind}_definition" if is_head else enclosing.kind
        for named in reversed(self._around):
            if named.is_container and named.end >= self._at:
                return named.kind
        return _MODULE_KINDS.get(span.parts, self._module)

    def _language_of(self, start: int, end: int) -> str:
        at = bisect.bisect_right(self._regions, start, key=lambda region: region.start) - 1
        if at >= 0 and self._regions[at].end >= end:
            return self._regions[at].language
        return self._language

    def _has_error(self, start: int, end: int) -> bool:
        """Tell whether an error overlaps; a missing token, which is empty, may be at the end."""
        at = bisect.bisect_left(self._errors, (start, start))
        near = self._errors[max(at - 1, 0) : at + 1]
        return any(first <= end and last >= start for first, last in near)


def _named(text: bytes, layout: Layout, definitions: list[Definition]) -> list[_Named]:
    """Return everything with a name in the order of the text, the outer before the inner."""
    found = [
        _Named(*trim(text, d.start_byte, d.end_byte), _label(d), d.name, d.kind, d.is_container)
        for d in definitions
    ]
    found += [_Named(*trim(text, each.start, each.end), each.label) for each in layout.labels]
    return sorted(found, key=lambda named: (named.start, -named.end))


def _line_start(text: bytes, start: int) -> int:
    """Move ``start`` left over blanks if nothing else is before it on its line."""
    at = start
    while at and text[at - 1] in b" \t":
        at -= 1
    return at if at == 0 or text[at - 1] == _NEWLINE else start


def _label(definition: Definition) -> str:
    """Return the qualified name; headings are words, so their path is joined as one reads it."""
    if definition.kind == "section":
        return " > ".join(definition.hierarchy)
    return definition.qualified_name
