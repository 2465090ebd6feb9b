"""The children of one node as a chunker sees them: found by offset, with their roles.

A chunker looks at few of them; asking for the one at an offset makes one Python object, not all.
"""

import re
from bisect import bisect_right
from typing import Final

import tree_sitter

from codelake.chunking.spans import Parts
from codelake.languages.roles import Role, Roles, roles_of
from codelake.parsing import Tree

_SOLID: Final = re.compile(rb"[^\s\x1c-\x1f]")
PARTS: Final[dict[int, int]] = {
    Role.IMPORT: Parts.IMPORT,
    Role.PACKAGE: Parts.PACKAGE,
    Role.SETUP: Parts.SETUP,
}
_NEAR: Final = 200  # bytes
# Asking for a child is a step down a balanced tree, but in what the parser gave up on it looks at
# all in front, at 6 ns each. A list costs 100 ns a child: worth it for whoever asks that often.
_MOST_ASKED: Final = 512
LEADS: Final = frozenset({Role.COMMENT, Role.PREFIX})


class Siblings:
    """The children of ``node``; ``is_gluing`` off lets a cut be between any two of them."""

    __slots__ = (
        "_ask", "_children", "_end", "_ends", "_is_gluing", "_left", "_node", "_role_of", "_roles",
        "_text", "tree",
    )  # fmt: skip

    def __init__(self, node: tree_sitter.Node, tree: Tree, text: bytes, *, is_gluing: bool) -> None:
        """Look at the children of ``node``, or of the tree that is embedded in it."""
        inner = tree.embedded.get(node.id) if tree.embedded else None
        self.tree = inner or tree
        self._node = inner.root if inner else node
        self._end = self._node.end_byte
        self._ask = self._node.first_child_for_byte
        self._left = _MOST_ASKED
        self._ends: list[int] = []
        self._roles: Roles = roles_of(self.tree.language)
        self._role_of = self._roles.by_kind.get
        self._text = text
        self._is_gluing = is_gluing

    def at(self, offset: int) -> tree_sitter.Node | None:
        """Return the first child that ends behind ``offset``, None if there is none."""
        if self._left:
            self._left -= 1
            child = self._ask(offset)
            # Where there is none, py-tree-sitter 0.26 answers with a null node, whose use is a
            # crash; and so it does inside of what is hidden (Go's line ends), with more behind.
            if child is not None and child.id:
                return child
            if offset >= self._end:
                return None
            self._left = 0
        if not self._ends:
            self._children = self._node.children
            self._ends = [child.end_byte for child in self._children]
        at = bisect_right(self._ends, offset)
        return self._children[at] if at < len(self._children) else None

    def role(self, node: tree_sitter.Node) -> int:
        """Return the :class:`Role` of one of the children."""
        return self._role_of(node.kind_id, 0)

    def statement_role(self, node: tree_sitter.Node) -> int:
        """Return the role of a child of the root, where a call may be an import."""
        role = self._role_of(node.kind_id, 0)
        return role or self._roles.by_text(self._text, node.start_byte, node.end_byte)

    def cut_before(self, node: tree_sitter.Node, floor: int) -> tuple[tree_sitter.Node, bool]:
        """Return the child, ``node`` at the latest, in front of which a cut may be.

        True says that it is the first behind ``floor``, and that there may be none.
        """
        child_at, text, role_of = self.at, self._text, self._role_of
        role = role_of(node.kind_id, 0)
        while True:
            solid = len(text[floor : node.start_byte].rstrip())
            if not solid:
                return node, True
            before = child_at(floor + solid - 1)
            if before is None or before.id == node.id:  # hidden text, no node, is in front
                return node, True
            role_before = role_of(before.kind_id, 0)
            # Nine of ten pairs are plain statements and need no closer look.
            if not (role or role_before) or not self.is_glued(before, node):
                return node, False
            node, role = before, role_before

    def behind(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Return the child behind ``node``."""
        return self.at(node.end_byte)

    def is_glued(self, before: tree_sitter.Node, node: tree_sitter.Node) -> bool:
        """Tell whether no cut may be between two neighbours."""
        role_of = self._role_of
        role, role_before = role_of(node.kind_id, 0), role_of(before.kind_id, 0)
        if not (role or role_before) or not self._is_gluing:
            return False  # nine of ten pairs: plain statements
        if role == Role.SUFFIX:
            return True
        if role_before not in LEADS:
            return role == Role.COMMENT and self._is_trailing(node)
        if role_before == Role.COMMENT and self._is_trailing(before):
            return False
        return self._newlines(before, node) <= 1

    def _is_trailing(self, comment: tree_sitter.Node) -> bool:
        """Tell whether a comment stands behind something on the same line."""
        start = comment.start_byte
        floor = max(start - _NEAR, 0)  # a line may be megabytes long
        line = max(self._text.rfind(b"\n", floor, start) + 1, floor)
        return bool(self._text[line:start].strip())

    def _newlines(self, before: tree_sitter.Node, node: tree_sitter.Node) -> int:
        end = before.end_byte  # some comments include their line end
        return self._text.count(b"\n", max(end - 1, 0), node.start_byte)


def first_solid(text: bytes, start: int, end: int) -> int:
    """Return where the first character that is no white space stands, ``end`` if there is none."""
    solid = _SOLID.search(text, start, end)
    return solid.start() if solid else end
