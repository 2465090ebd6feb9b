"""Find the definitions of a tree without looking into what cannot hold any.

A query over the whole tree costs a quarter of parsing it. So the query runs over the top of the
tree only (`max_start_depth`), again over the bodies of classes and the like, and over the whole
body of a function just where the bytes of that body hold a marker of nested definitions.
"""

from typing import Final, NamedTuple

import tree_sitter

from codelake.definitions.record import CONTAINER_KINDS
from codelake.definitions.rules import Rules

_SEARCHED: Final = CONTAINER_KINDS | {"constant", "scope"}
_VALUES: Final = frozenset({"constant", "variable", "property"})


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


class Found(NamedTuple):
    """Everything a file's queries gave."""

    spans: list[Span]
    wrappers: dict[int, tuple[int, int]]
    decorators: dict[int, int]


def find_spans(root: tree_sitter.Node, text: bytes, rules: Rules) -> Found:
    """Return the spans of all definitions below ``root`` in file order."""
    spans: dict[int, Span] = {}
    wrappers: dict[int, tuple[int, int]] = {}
    decorators: dict[int, int] = {}
    seen = {root.id}
    queue = [(root, False)]
    kinds, roles, markers = rules.kinds, rules.captures, rules.markers
    for node, is_deep in queue:
        cursor = rules.deep if is_deep else rules.shallow
        for pattern, captures in cursor.matches(node):
            kind = kinds[pattern]
            if kind == "wrapper":
                inner, outer = captures["inner"][0], captures["wrapper"][0]
                wrappers[inner.start_byte] = (outer.start_byte, outer.end_byte)
                continue
            if kind == "decorator":
                outer = captures["decorator"][0]
                decorators[outer.end_byte] = outer.start_byte
                continue
            if kind == "region":
                inner = captures["region"][0]
                if not is_deep and inner.id not in seen:
                    seen.add(inner.id)
                    queue.append((inner, False))
                continue
            if kind == "block":
                inner = captures["block"][0]
                if (
                    not is_deep
                    and markers is not None
                    and markers.search(text, inner.start_byte, inner.end_byte)
                ):
                    queue.append((inner, True))
                continue
            if is_deep and kind in _VALUES:
                continue
            outer = captures[roles[pattern]][0]
            name = captures["name"][0]
            name_start = name.start_byte
            old = spans.get(name_start)
            if old is not None and old.pattern <= pattern:
                continue
            body = captures.get("body")
            parameters = captures.get("parameters")
            receiver = captures.get("receiver")
            body_start = body[0].start_byte if body else -1
            spans[name_start] = Span(
                outer.start_byte,
                -outer.end_byte,
                name_start,
                pattern,
                name.end_byte,
                parameters[0].start_byte if parameters else -1,
                parameters[0].end_byte if parameters else -1,
                body_start,
                text[receiver[0].start_byte : receiver[0].end_byte].decode() if receiver else "",
            )
            if is_deep:
                continue
            inner = body[0] if body else outer
            if kind in _SEARCHED:
                if inner.id not in seen:
                    seen.add(inner.id)
                    queue.append((inner, False))
            elif body and markers is not None and markers.search(text, body_start, inner.end_byte):
                queue.append((inner, True))
    return Found(sorted(spans.values()), wrappers, decorators)
