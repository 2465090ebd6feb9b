"""Cut at functions and classes only, whatever their size: the naive arm, and one per definition."""

from collections.abc import Iterable
from itertools import zip_longest
from typing import Final

from codelake.chunking.siblings import LEADS, PARTS, Siblings
from codelake.chunking.spans import Options, Parts, Source, Span
from codelake.definitions import Definition
from codelake.languages import LANGUAGES
from codelake.measure import is_blank

_INNER: Final = frozenset({"variable", "constant", "field", "property", "enum_member", "key"})
_HEAD: Final = Parts.IMPORT | Parts.PACKAGE  # stands at the head of a file
_OUTER: Final = frozenset({"module", "namespace", "package", "section"})


def cut_ast(source: Source, options: Options) -> list[Span]:  # noqa: ARG001 - no size limit is the point of this arm
    """Return one span per outermost function or class, and the stretches between them."""
    spans: list[Span] = []
    at = 0
    for definition in _chosen(source, skipped=_INNER | _OUTER):
        if definition.start_byte >= at:
            start = _with_comments(source, at, definition.start_byte)
            spans += _between(source, at, start)
            spans.append(_of(definition, start, definition.end_byte))
            at = definition.end_byte
    return spans + _between(source, at, len(source.text))


def cut_symbol(source: Source, options: Options) -> list[Span]:  # noqa: ARG001 - a definition is kept whole
    """Return one span per function and class; a class with members has its own text only.

    Functions keep what is defined inside them. What stands outside every definition (imports, the
    main block) has spans of its own, so that each character is embedded once.
    """
    chosen = list(_chosen(source, skipped=_INNER))
    spans: list[Span] = []
    around: list[Definition] = []
    at = 0
    for definition, after in zip_longest(chosen, chosen[1:]):
        if definition.start_byte < at:
            continue  # inside a function that is kept whole
        while around and around[-1].end_byte <= definition.start_byte:
            at = _close(source, spans, around, at)
        start = _with_comments(source, at, definition.start_byte)
        spans += _own_text(source, around, at, start)
        at = start
        if _has_member(definition, after):
            around.append(definition)
        else:
            spans.append(_of(definition, start, definition.end_byte))
            at = definition.end_byte
    while around:
        at = _close(source, spans, around, at)
    return spans + _between(source, at, len(source.text))


def _chosen(source: Source, *, skipped: frozenset[str]) -> Iterable[Definition]:
    found = (d for d in source.definitions if d.kind not in skipped and d.end_byte > d.start_byte)
    return sorted(found, key=lambda d: (d.start_byte, -d.end_byte))


def _has_member(definition: Definition, after: Definition | None) -> bool:
    return definition.is_container and after is not None and after.end_byte <= definition.end_byte


def _close(source: Source, spans: list[Span], around: list[Definition], at: int) -> int:
    end = max(around[-1].end_byte, at)
    spans += _own_text(source, around, at, end)
    around.pop()
    return end


def _own_text(source: Source, around: list[Definition], start: int, end: int) -> list[Span]:
    """Return the span of a container's own text, or of module text outside any."""
    if not around:
        return _between(source, start, end)
    if is_blank(source.text[start:end]):
        return []
    container = around[-1]
    # One row per class: what stands between and behind its members is a row of its own kind.
    kind = f"{container.kind}_definition" if start <= container.start_byte else container.kind
    return [Span(start, max(start, container.start_byte), end, parts=Parts.OTHER, kind=kind)]


def _between(source: Source, start: int, end: int) -> list[Span]:
    """Return the spans of module text: runs of imports, and the rest."""
    if start >= end or is_blank(source.text[start:end]):
        return []
    cuts: list[tuple[int, int]] = []
    for at, parts in _statements(source, start, end):
        if cuts and bool(parts & _HEAD) == bool(cuts[-1][1] & _HEAD):
            cuts[-1] = (cuts[-1][0], cuts[-1][1] | parts)
        else:
            cuts.append((at, parts))
    starts = [start, *(at for at, _ in cuts[1:])]
    kinds = [parts for _, parts in cuts] or [Parts.OTHER]
    ends = [*starts[1:], end]
    return [Span(s, s, e, parts=p) for s, e, p in zip(starts, ends, kinds, strict=True)]


def _statements(source: Source, start: int, end: int) -> Iterable[tuple[int, int]]:
    """Yield offset and part of each statement at the top level of the file, comments left out."""
    if source.tree is None:
        return
    siblings = Siblings(source.tree.root, source.tree, source.text, is_gluing=True)
    node = siblings.at(start)
    waiting: int | None = None
    while node is not None and node.start_byte < end:
        role = siblings.statement_role(node)
        if role in LEADS:
            waiting = node.start_byte if waiting is None else waiting
        else:
            yield node.start_byte if waiting is None else waiting, PARTS.get(role, Parts.OTHER)
            waiting = None
        node = siblings.behind(node)


def _of(definition: Definition, start: int, end: int) -> Span:
    return Span(start, definition.start_byte, end, parts=Parts.OTHER)


def _with_comments(source: Source, floor: int, start: int) -> int:
    """Move ``start`` up over the comment lines right above it, not further than ``floor``."""
    language = LANGUAGES.get(source.language)
    if language is None:
        return start
    lines = tuple(mark.encode() for mark in language.line_comments)
    blocks = [(a.encode(), b.encode()) for a, b in language.block_comments]
    at = source.text.rfind(b"\n", floor, start) + 1
    if at <= floor or source.text[at:start].strip():
        return start
    found = start
    while at > floor:
        above = max(source.text.rfind(b"\n", floor, at - 1) + 1, floor)
        line = source.text[above:at].strip()
        block = next((b for b in blocks if line.endswith(b[1])), None)
        if block is not None:
            opening = source.text.rfind(block[0], floor, at)
            above = source.text.rfind(b"\n", floor, opening) + 1 if opening >= 0 else -1
            if above < floor or source.text[above:opening].strip():
                break
        elif not (lines and line.startswith(lines)):
            break
        found, at = above, above
    return found
