"""Cut along the syntax tree: open big nodes, merge small neighbours (cAST, arXiv 2506.15655).

A node that fits the budget stays whole, another is opened into its children; siblings are taken
together while they fit, and what an opened node left over is merged with its neighbours inside the
same parent. Comments and decorators stay with what follows, closing tokens with what they close.

The loop goes from cut to cut, not from node to node: the running sums say how far a span reaches,
and only the child there is looked at. No recursion, and linear in the text.
"""

from dataclasses import dataclass
from typing import Final

import tree_sitter

from codelake.chunking.siblings import LEADS, PARTS, Siblings, first_solid
from codelake.chunking.spans import Options, Parts, Source, Span
from codelake.chunking.split import split_text
from codelake.languages.roles import Role
from codelake.measure import count_nws_bytes
from codelake.parsing import Tree

_MOST_LEVELS: Final = 5000  # opened nodes inside each other; deeper ones are cut as text
_IGNORED: Final = frozenset({Role.COMMENT, Role.SUFFIX})


@dataclass(slots=True)
class _Level:
    """The children of an opened node, which ``start`` to ``end`` is left to cover of.

    ``own`` is where the text of the first of them begins behind comments and decorators that were
    handed down to it, ``core`` where it begins behind the comments alone.
    """

    siblings: Siblings
    start: int
    core: int
    own: int
    end: int
    first_span: int
    node: tree_sitter.Node | None = None
    """The first sibling of what is left, if it is known."""

    def advance(self, start: int, node: tree_sitter.Node | None) -> None:
        """Go on at ``start``."""
        self.start = self.core = self.own = start
        self.node = node


@dataclass(slots=True)
class _Unit:
    """Siblings that belong together and are over the budget: comments, node, closing tokens."""

    core: int
    own: int
    own_end: int
    end: int
    node: tree_sitter.Node
    own_size: int


def cut_cast(source: Source, options: Options) -> list[Span]:
    """Return the cAST spans of ``source``; each nws character is in exactly one."""
    return CastCutter(source, options.budget).cut()


class CastCutter:
    """Cut one text; ``is_gluing`` off is the published algorithm to the letter."""

    def __init__(self, source: Source, budget: int, *, is_gluing: bool = True) -> None:
        """Prepare to cut ``source`` into spans of at most ``budget`` nws characters."""
        self._source = source
        self._text = source.text
        self._budget = budget
        self._is_gluing = is_gluing
        self._spans: list[Span | None] = []
        self._depth = 0

    def cut(self) -> list[Span]:
        """Return the spans in the order of the text."""
        end, tree = len(self._text), self._source.tree
        is_small = end <= 2 * self._budget and count_nws_bytes(self._text) <= self._budget
        if is_small or self._source.measure.nws(0, end) <= self._budget:
            return [self._whole(tree)]
        if tree is None:
            self._add_pieces(0, 0, end, None)
        else:
            self._run(_Level(self._siblings(tree.root, tree), 0, 0, 0, end, 0))
        return [span for span in self._spans if span is not None]

    def _siblings(self, node: tree_sitter.Node, tree: Tree) -> Siblings:
        return Siblings(node, tree, self._text, is_gluing=self._is_gluing)

    def _whole(self, tree: Tree | None) -> Span:
        end = len(self._text)
        if tree is None:
            return Span(0, 0, end, parts=Parts.OTHER)
        siblings = self._siblings(tree.root, tree)
        core = self._core(_Level(siblings, 0, 0, 0, end, 0), end)
        return Span(0, core, end, parts=_parts(siblings, core, end))

    def _run(self, root: _Level) -> None:
        """Work through the levels with a stack of our own: nesting has no bound."""
        levels = [root]
        while levels:
            self._depth = len(levels)
            opened = self._fill(levels[-1], is_top=self._depth == 1)
            if opened is not None:
                levels.append(opened)
                continue
            closed = levels.pop()
            if len(levels) > 1:  # what is left of a node merges inside its parent, not across
                self._join(closed, levels[-1])

    def _fill(self, level: _Level, *, is_top: bool) -> _Level | None:
        """Emit spans of one level until a node has to be opened; return that node's level."""
        measure, siblings = self._source.measure, level.siblings
        while level.start < level.end:
            limit = measure.reach(level.start, self._budget)
            if limit >= level.end or not measure.nws(limit, level.end):
                self._emit(level, level.end, None, is_top=is_top)
                return None
            child = siblings.at(limit)
            if child is None or child.start_byte > limit:
                # What is too much stands between two nodes or behind the last.
                end = level.end if child is None else min(child.start_byte, level.end)
                self._add_pieces(level.start, level.core, end, None if is_top else level)
                level.advance(end, None)
                continue
            child, is_first = siblings.cut_before(child, level.own)
            if not is_first:
                self._emit(level, child.start_byte, child, is_top=is_top)
                continue
            unit = self._unit(level, child)
            if unit.own_size > self._budget and self._can_open(unit.node, siblings.tree):
                inner = self._siblings(unit.node, siblings.tree)
                opened = _Level(inner, level.start, unit.core, unit.own, unit.end, len(self._spans))
                level.advance(unit.end, None)
                return opened
            self._break(level, unit, is_top=is_top)
        return None

    def _can_open(self, node: tree_sitter.Node, tree: Tree) -> bool:
        is_leaf = node.child_count == 0 and node.id not in tree.embedded
        return not is_leaf and self._depth < _MOST_LEVELS

    def _unit(self, level: _Level, child: tree_sitter.Node) -> _Unit:
        """Return the first siblings of what is left, as many as no cut may part."""
        siblings = level.siblings
        node, own, core = child, level.own, level.core
        following = siblings.behind(node)
        has_prefix = core < own
        while (
            following is not None
            and siblings.role(node) in LEADS
            and siblings.is_glued(node, following)
        ):
            has_prefix = has_prefix or siblings.role(node) != Role.COMMENT
            own = node.end_byte
            core = core if has_prefix else own
            node, following = following, siblings.behind(following)
        last = node
        while following is not None and siblings.is_glued(last, following):
            last, following = following, siblings.behind(following)
        own_end = min(node.end_byte, level.end)
        end = level.end if following is None else min(last.end_byte, level.end)
        return _Unit(core, own, own_end, end, node, self._source.measure.nws(own, own_end))

    def _break(self, level: _Level, unit: _Unit, *, is_top: bool) -> None:
        """Emit what cannot be opened: a leaf, or a node that only fits without its comments."""
        end = unit.own
        # Closing tokens of this size close nothing: one piece of them after the other.
        tail_size = self._source.measure.nws(unit.own_end, unit.end)
        if max(unit.own_size, tail_size) > self._budget or self._can_keep_lead(level, unit):
            end = unit.end
        elif level.start == unit.own:
            self._emit(level, unit.own_end, None, is_top=is_top)
            return
        self._add_pieces(level.start, unit.core, end, None if is_top else level)
        level.advance(end, None)

    def _can_keep_lead(self, level: _Level, unit: _Unit) -> bool:
        """Tell whether the comments in front and the first line of what follows fit together."""
        if unit.own == level.start:
            return False
        line_end = self._text.find(b"\n", first_solid(self._text, unit.own, unit.end), unit.end)
        end = unit.end if line_end < 0 else line_end
        return self._source.measure.nws(level.start, end) <= self._budget

    def _add_pieces(self, start: int, core: int, end: int, level: _Level | None) -> None:
        """Cut text that has no nodes to cut between into pieces that fit."""
        measure = self._source.measure
        for stop in split_text(measure, start, end, self._budget):
            piece_core = core if start <= core < stop else start
            self._append(
                Span(start, piece_core, stop, measure.nws(start, stop), Parts.OTHER), level
            )
            start = stop

    def _emit(
        self, level: _Level, end: int, following: tree_sitter.Node | None, *, is_top: bool
    ) -> None:
        """Emit one span up to ``end``, where ``following`` begins."""
        core = self._core(level, end)
        parts = _parts(level.siblings, core, end) if is_top else Parts.OTHER
        nws = self._source.measure.nws(level.start, end)
        self._append(Span(level.start, core, end, nws, parts), None if is_top else level)
        level.advance(end, following)

    def _core(self, level: _Level, end: int) -> int:
        """Return where the comments that the next span begins with are over."""
        siblings, core, node = level.siblings, level.core, level.node
        if core < level.own:
            return core
        if node is None:
            node = siblings.at(first_solid(self._text, core, end))
        while node is not None and siblings.role(node) == Role.COMMENT and node.end_byte < end:
            core = node.end_byte
            node = siblings.behind(node)
        return core

    def _append(self, span: Span, level: _Level | None) -> None:
        """Append a span, or merge it with what came out of ``level`` right before."""
        spans = self._spans
        if not span.nws:
            return
        if level is not None and len(spans) > level.first_span:
            last = spans[-1]
            if last is not None and last.nws + span.nws <= self._budget:
                _extend(last, span)
                return
        spans.append(span)

    def _join(self, closed: _Level, parent: _Level) -> None:
        """Merge the first span of a closed level with the one in front of it, if both fit."""
        at = closed.first_span
        if at <= parent.first_span or at >= len(self._spans):
            return
        before, first = self._spans[at - 1], self._spans[at]
        if before is None or first is None or before.nws + first.nws > self._budget:
            return
        _extend(before, first)
        if at == len(self._spans) - 1:
            self._spans.pop()
        else:
            self._spans[at] = None


def _extend(span: Span, after: Span) -> None:
    span.end = after.end
    span.nws += after.nws
    span.parts |= after.parts


def _parts(siblings: Siblings, start: int, end: int) -> int:
    """Tell whether a span at the top of the file is imports, a package clause, setup, or else."""
    found = 0
    node = siblings.at(start)
    while node is not None and node.start_byte < end:
        role = siblings.statement_role(node)
        if role not in _IGNORED:
            found |= PARTS.get(role, Parts.OTHER)
        if found & Parts.OTHER:
            return Parts.OTHER  # whatever else there is: no need to look at it
        node = siblings.behind(node)
    return found or Parts.OTHER
