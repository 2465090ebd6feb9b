"""Find the definitions of a tree without looking into what cannot hold any.

A query over the whole tree costs a quarter of parsing it. So the query runs over the top of the
tree only (`max_start_depth`) and again over the bodies of classes and the like. The body of a
function is looked into just where its bytes hold a keyword that opens a nested definition.
"""

import functools
from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar, Final, NamedTuple

import tree_sitter

from codelake.definitions.rules import Rules

_VALUES: Final = frozenset({"constant", "variable", "property"})
# What a query costs that looks for one keyword, in levels of the tree it goes down to it, and how
# many bytes of a body a query over all of it reads meanwhile.
_LOOKUP_LEVELS: Final = 16
_LEVEL_BYTES: Final = 4
_BEFORE_KEYWORD: Final = frozenset(b" \t\r\n;{}()")
_WHOLE: Final = (0, 2**32 - 1)  # the byte range of a cursor that has none

# A named tuple made without its constructor, which costs half a microsecond more.
_make: Final = tuple.__new__

Captures = dict[str, list[tree_sitter.Node]]


class Span(NamedTuple):
    """Where one definition is; sorts outer before inner."""

    start: int
    negative_end: int
    name_start: int
    pattern: int
    name_end: int
    parameters_start: int
    parameters_end: int
    body_start: int
    receiver: str


class Search:
    """One walk over a tree; what it finds stands in its public attributes, by offset."""

    __slots__ = (
        "_covered", "_markers", "_queue", "_rules", "_seen", "_text", "decorators", "docs",
        "sections", "spans", "wrappers",
    )  # fmt: skip

    def __init__(self, text: bytes, rules: Rules) -> None:
        """Prepare a walk over the tree of ``text``."""
        self.spans: dict[int, Span] = {}
        self.wrappers: dict[int, tuple[int, int]] = {}
        self.decorators: dict[int, int] = {}
        self.docs: dict[int, str] = {}
        self.sections: list[tuple[int, str]] = []
        self._text = text
        self._rules = rules
        # What a file has nowhere is not looked for in each of its functions.
        self._markers = [marker for marker in rules.markers if marker in text]
        self._seen: set[int] = set()
        self._queue: list[tuple[tree_sitter.Node, list[int], bool]] = []
        self._covered = False

    def run(self, root: tree_sitter.Node) -> list[Span]:
        """Return the spans of all definitions below ``root`` in file order."""
        self._seen.add(root.id)
        self._queue.append((root, [], False))
        shallow, handlers = self._rules.shallow, self._handlers(self._rules.roles)
        for node, keywords, is_covered in self._queue:
            self._covered = is_covered
            if keywords:
                self._search_body(node, keywords)
                continue
            for pattern, captures in shallow.matches(node):
                handlers[pattern](self, pattern, captures)
        if self._rules.rest_kinds:
            self._close_rests()
        return _share(sorted(self.spans.values()))

    def _close_rests(self) -> None:
        """Let what has no end of its own (``package x;``) reach to the next of its kind."""
        rules = self._rules
        kinds = {rules.kinds[pattern] for pattern in rules.rest_kinds}
        end = len(self._text)
        for span in sorted(self.spans.values(), reverse=True):
            if span.pattern in rules.rest_kinds:
                self.spans[span.name_start] = span._replace(negative_end=-end)
            if rules.kinds[span.pattern] in kinds:
                end = span.start

    def _search_body(self, body: tree_sitter.Node, keywords: list[int]) -> None:
        """Find what the keywords at these offsets define, by whichever way costs less."""
        deep = self._rules.deep
        keywords, levels = _tokens(body, keywords)
        levels += _LOOKUP_LEVELS * len(keywords)
        if levels * _LEVEL_BYTES > body.end_byte - body.start_byte:
            deep.set_byte_range(*_WHOLE)
            self._add_nested(deep.matches(body), keywords)
            return
        for at in keywords:
            deep.set_byte_range(at, at + 1)
            self._add_nested(deep.matches(body), [at])

    def _add_nested(self, matches: list[tuple[int, Captures]], keywords: list[int]) -> None:
        """Keep definitions with one of the keywords between their start and their name."""
        handlers = self._handlers(self._rules.roles)
        for pattern, captures in matches:
            role = self._rules.roles[pattern]
            if role in {"wrapper", "decorator", "doc", "visibility"}:
                handlers[pattern](self, pattern, captures)
                continue
            if role in {"region", "block"} or self._rules.kinds[pattern] in _VALUES:
                continue
            start = captures[role][0].start_byte
            first = bisect_left(keywords, start)
            if role == "nested":
                stop = captures[role][0].start_byte
                first = bisect_left(keywords, captures["outer"][0].start_byte)
                if first < len(keywords) and keywords[first] < stop:
                    self._add_region(pattern, {"region": captures[role]})
            elif first < len(keywords) and keywords[first] < self._stop(captures):
                self._add_definition(pattern, captures)

    @staticmethod
    def _stop(captures: Captures) -> int:
        """Return where the part of a definition ends that its own keyword stands in."""
        stop = captures["name"][0].end_byte
        return max(stop, captures["body"][0].start_byte) if "body" in captures else stop

    def _add_definition(self, pattern: int, captures: Captures) -> None:
        names = captures["name"]
        name_start = names[0].start_byte
        old = self.spans.get(name_start)
        if old is not None and old.pattern <= pattern:
            return
        rules = self._rules
        outer = captures[rules.roles[pattern]][0]
        body = captures["body"][0] if "body" in captures else None
        body_start = body.start_byte if body is not None else -1
        parameters_start = parameters_end = -1
        if "parameters" in captures:
            parameters = captures["parameters"][0]
            parameters_start, parameters_end = parameters.start_byte, parameters.end_byte
        receiver = ""
        if "receiver" in captures:
            receiver = _text_of(captures["receiver"][0], self._text)
        end = captures["end"][0].end_byte if "end" in captures else outer.end_byte
        if "doc" in captures:
            self.docs[outer.start_byte] = _text_of(captures["doc"][0], self._text)
        self.spans[name_start] = _make(
            Span,
            (
                outer.start_byte,
                -end,
                name_start,
                pattern,
                names[-1].end_byte,
                parameters_start,
                parameters_end,
                body_start,
                receiver,
            ),
        )
        kind = rules.kinds[pattern]
        if kind in rules.searched or (body is not None and kind in _VALUES):
            inner = body or outer
            if inner.id not in self._seen:
                self._seen.add(inner.id)
                self._queue.append((inner, [], self._covered))
        elif body is not None and self._markers and not self._covered:
            self._look_into(body, body_start)

    def _look_into(self, body: tree_sitter.Node, start: int) -> None:
        """Note the keywords of nested definitions in the body of a function."""
        text, nested, end = self._text, self._rules.nested, body.end_byte
        keywords = []
        for marker in self._markers:
            is_word = marker[:1].isalpha()  # a sign may stand right behind a name
            at = text.find(marker, start, end)
            while at >= 0:
                if (text[at - 1] in _BEFORE_KEYWORD or not is_word) and nested.match(text, at):
                    keywords.append(at)
                at = text.find(marker, at + 1, end)
        if keywords:
            keywords.sort()
            self._queue.append((body, keywords, True))

    def _add_wrapper(self, _pattern: int, captures: Captures) -> None:
        inner, outer = captures["inner"][0], captures["wrapper"][0]
        self.wrappers[inner.start_byte] = (outer.start_byte, outer.end_byte)

    def _add_decorator(self, _pattern: int, captures: Captures) -> None:
        node = captures["decorator"][0]
        self.decorators[node.end_byte] = node.start_byte

    def _add_doc(self, _pattern: int, captures: Captures) -> None:
        doc, inner = captures["doc"][0], captures["inner"][0]
        self.docs[inner.start_byte] = _text_of(doc, self._text)

    def _add_section(self, _pattern: int, captures: Captures) -> None:
        node = captures["visibility"][0]
        self.sections.append((node.start_byte, _text_of(node, self._text).strip(" :")))

    def _add_region(self, _pattern: int, captures: Captures) -> None:
        node = captures["region"][0]
        if node.id not in self._seen:
            self._seen.add(node.id)
            self._queue.append((node, [], self._covered))

    def _add_block(self, _pattern: int, captures: Captures) -> None:
        if not self._covered:
            node = captures["block"][0]
            self._look_into(node, node.start_byte)

    def _skip(self, _pattern: int, captures: Captures) -> None:
        """Leave what only counts inside a body that is searched."""

    # Functions, not methods of this object: those would be a cycle that keeps the tree until the
    # next collection.
    _BY_ROLE: ClassVar[dict[str, Callable[["Search", int, Captures], None]]] = {
        "wrapper": _add_wrapper,
        "decorator": _add_decorator,
        "visibility": _add_section,
        "region": _add_region,
        "nested": _skip,
        "doc": _add_doc,
        "block": _add_block,
    }

    @classmethod
    @functools.cache
    def _handlers(
        cls, roles: tuple[str, ...]
    ) -> tuple[Callable[["Search", int, Captures], None], ...]:
        """Return what is called for a match of each pattern."""
        return tuple(cls._BY_ROLE.get(role, cls._add_definition) for role in roles)


def _tokens(body: tree_sitter.Node, offsets: list[int]) -> tuple[list[int], int]:
    """Return which of the ascending ``offsets`` are tokens, and how deep they are together.

    Names, strings and comments are none. Each node is entered once at most, so that a deep tree
    with many keywords costs no square of its size.
    """
    cursor = body.walk()
    tokens, levels, depth = [], 0, 0  # the cursor's own depth is counted anew each time
    for at in offsets:
        while (node := cursor.node) is not None and node.end_byte <= at and cursor.goto_parent():
            depth -= 1
        while cursor.goto_first_child_for_byte(at) is not None:
            depth += 1
        node = cursor.node
        if node is not None and not node.is_named and node.start_byte <= at:
            tokens.append(at)
            levels += depth
    return tokens, levels


def _text_of(node: tree_sitter.Node, text: bytes) -> str:
    return text[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _share(spans: list[Span]) -> list[Span]:
    """Give each name of one statement (``var a = 1, b = 2``) the part from it to the next."""
    if len({span.start for span in spans}) == len(spans):
        return spans
    shared = [i for i, (a, b) in enumerate(pairwise(spans)) if a[0] == b[0] and a[1] == b[1]]
    for i in reversed(shared):
        following = spans[i + 1]
        spans[i] = spans[i]._replace(negative_end=-following.name_start)
        spans[i + 1] = following._replace(start=following.name_start)
    return sorted(spans)
