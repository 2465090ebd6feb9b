"""Find the keys of data files: what a chunk of one covers."""

import re
from dataclasses import dataclass
from typing import Final

import tree_sitter

from codelake.languages.roles import Role, Roles, key_depth, roles_of
from codelake.measure import count_nws_bytes
from codelake.parsing import Tree

_KEY: Final = re.compile(rb"""[\s\[{,]*("(?:[^"\\]|\\.)*"|'[^']*'|[^:=\]\s{,]+)""")
_LONGEST_KEY: Final = 200  # bytes
_MOST_KEYS: Final = 20_000  # of one file; more name nothing any more


@dataclass(frozen=True, slots=True)
class Label:
    """A named stretch of a file that is no definition: a key, a notebook cell."""

    start: int
    end: int
    label: str


def find_keys(tree: Tree, text: bytes, budget: int) -> list[Label]:
    """Return the top-level keys of a data file as dotted paths, and those inside big ones."""
    depth = key_depth(tree.language)
    if not depth:
        return []
    roles = roles_of(tree.language)
    found: list[Label] = []
    todo: list[tuple[tree_sitter.Node, int, str]] = [(tree.root, depth, "")]
    while todo and len(found) < _MOST_KEYS:
        node, left, path = todo.pop()
        if roles.by_kind.get(node.kind_id) == Role.KEY:
            path = _path(node, text, path)
            found.append(Label(node.start_byte, node.end_byte, path))
            size = count_nws_bytes(text[node.start_byte : node.end_byte])
            left = depth if size > budget else 0
        todo += [(child, left - 1, path) for child in _inner(node, roles, left)]
    return sorted(found, key=lambda label: (label.start, -label.end))


def _inner(node: tree_sitter.Node, roles: Roles, left: int) -> list[tree_sitter.Node]:
    if left <= 0:
        return []
    keys = [child for child in node.named_children if roles.by_kind.get(child.kind_id) == Role.KEY]
    return list(reversed(keys or node.named_children))


def _path(node: tree_sitter.Node, text: bytes, outer: str) -> str:
    end = min(node.end_byte, node.start_byte + _LONGEST_KEY)
    match = _KEY.match(text, node.start_byte, end)
    key = match[1].decode("utf-8", "replace").strip("\"'") if match else ""
    return f"{outer}.{key}"[:_LONGEST_KEY] if outer else key
