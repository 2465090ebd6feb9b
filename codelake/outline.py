"""The part of a syntax tree a chunker can need: the children of every node over the budget.

A node is three numbers and a role; only the nodes that are too big to stay whole have children
here. Built and read without recursion, packed into bytes to travel between stages.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import tree_sitter

from codelake.languages.roles import Role, Roles, roles_of
from codelake.measure import count_nws_bytes

HAS_ERROR: Final = 0x80
ROLE_BITS: Final = 0x7F
Region = tuple[int, int, str, str]
_HEADER: Final = struct.Struct("<IIIB")
_STATEMENT_BYTES: Final = 400  # an import is not longer; keeps the pattern from reading much


@dataclass(slots=True)
class Outline:
    """Nodes in blocks of siblings; node 0 is the whole text.

    ``first[i]`` and ``count[i]`` give the children of the node ``opened[i]``; a node that is not in
    ``opened`` fits, or is a leaf. ``roles`` holds a :class:`Role` and the HAS_ERROR bit.
    ``regions`` are byte ranges of embedded code: start, end, language, and a label such as
    ``cell 3`` or nothing.
    """

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    roles: bytes
    opened: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    regions: list[Region] = field(default_factory=list)

    def children(self) -> dict[int, tuple[int, int]]:
        """Return (first, count) of the children by node."""
        ranges = zip(self.first.tolist(), self.count.tolist(), strict=True)
        return dict(zip(self.opened.tolist(), ranges, strict=True))

    def pack(self) -> bytes:
        """Return the outline as bytes."""
        regions = json.dumps(self.regions).encode() if self.regions else b""
        parts = [_HEADER.pack(len(self.starts), len(self.opened), len(regions), 1)]
        parts += [a.astype("<u4").tobytes() for a in (self.starts, self.ends)]
        parts += [a.astype("<u4").tobytes() for a in (self.opened, self.first, self.count)]
        return b"".join([*parts, self.roles, regions])


def unpack_outline(data: bytes) -> Outline:
    """Return the outline that :meth:`Outline.pack` made bytes of."""
    nodes, opened, region_bytes, _ = _HEADER.unpack_from(data)
    at = _HEADER.size
    arrays = []
    for count in (nodes, nodes, opened, opened, opened):
        arrays.append(np.frombuffer(data, dtype="<u4", count=count, offset=at).astype(np.int64))
        at += 4 * count
    roles = bytes(data[at : at + nodes])
    tail = bytes(data[at + nodes : at + nodes + region_bytes])
    regions = (
        [(s, e, language, label) for s, e, language, label in json.loads(tail)] if tail else []
    )
    return Outline(arrays[0], arrays[1], roles, arrays[2], arrays[3], arrays[4], regions)


def flat_outline(size: int) -> Outline:
    """Return the outline of a text of ``size`` bytes without a tree."""
    nothing = np.zeros(0, dtype=np.int64)
    whole = np.array([size], dtype=np.int64)
    return Outline(np.zeros(1, dtype=np.int64), whole, b"\0", nothing, nothing, nothing)


@dataclass(frozen=True, slots=True)
class Embedded:
    """Code of another language inside a node: the tree over it."""

    root: tree_sitter.Node
    language: str


def _roles_in(by_kind: bytes, kind_ids: list[int]) -> bytearray:
    try:
        return bytearray(map(by_kind.__getitem__, kind_ids))
    except IndexError:  # an ERROR node's kind lies beyond the grammar's own
        known = len(by_kind)
        return bytearray(by_kind[i] if i < known else Role.OTHER for i in kind_ids)


class OutlineBuilder:
    """Collect the nodes of one text; trees of embedded languages hang below their host's leaf."""

    def __init__(self, text: bytes, granularity: int) -> None:
        """Prepare to open every node of ``text`` with more than ``granularity`` nws characters."""
        self._text = text
        self._granularity = granularity
        self._starts = [0]
        self._ends = [len(text)]
        self._roles = bytearray(b"\0")
        self._opened: list[tuple[int, int, int]] = []

    def add_tree(
        self, root: tree_sitter.Node, language: str, embedded: Mapping[int, Embedded]
    ) -> None:
        """Add the host's tree; ``embedded`` has, by host node id, the tree that stands inside."""
        if root.has_error:
            self._roles[0] |= HAS_ERROR
        todo = [(0, root, roles_of(language), 0)]
        while todo:
            index, node, roles, depth = todo.pop()
            inner = embedded.get(node.id) if embedded else None
            if inner is not None:
                node, roles = inner.root, roles_of(inner.language)
            todo += self._open(index, node, roles, depth)

    def _open(
        self, index: int, node: tree_sitter.Node, roles: Roles, depth: int
    ) -> list[tuple[int, tree_sitter.Node, Roles, int]]:
        children = node.children
        if not children:
            return []
        first = len(self._starts)
        starts = [child.start_byte for child in children]
        ends = [child.end_byte for child in children]
        found = _roles_in(roles.by_kind, [child.kind_id for child in children])
        if depth == 0:
            self._mark_statements(starts, ends, found, roles)
        if self._roles[index] & HAS_ERROR:
            for i, child in enumerate(children):
                if child.has_error:
                    found[i] |= HAS_ERROR
        self._opened.append((index, first, len(children)))
        self._starts += starts
        self._ends += ends
        self._roles += found
        granularity = -1 if depth + 1 < roles.open_depth else self._granularity
        return [
            (first + i, children[i], roles, depth + 1)
            for i in range(len(children))
            if ends[i] - starts[i] > granularity and self._is_big(starts[i], ends[i], granularity)
        ]

    def _is_big(self, start: int, end: int, granularity: int) -> bool:
        # Twice the budget in bytes is seldom white space by half: not worth counting.
        return end - start > 2 * granularity or (
            count_nws_bytes(self._text[start:end]) > granularity
        )

    def _mark_statements(
        self, starts: list[int], ends: list[int], found: bytearray, roles: Roles
    ) -> None:
        for pattern, role in (
            (roles.import_pattern, Role.IMPORT),
            (roles.setup_pattern, Role.SETUP),
        ):
            if pattern is None:
                continue
            for i, at in enumerate(starts):
                if found[i] == Role.OTHER and ends[i] - at < _STATEMENT_BYTES:
                    found[i] = role if pattern.match(self._text, at, ends[i]) else found[i]

    def build(self, regions: list[Region]) -> Outline:
        """Return what was collected."""
        opened = np.array(self._opened, dtype=np.int64).reshape(-1, 3)
        return Outline(
            np.array(self._starts, dtype=np.int64),
            np.array(self._ends, dtype=np.int64),
            bytes(self._roles),
            opened[:, 0],
            opened[:, 1],
            opened[:, 2],
            regions,
        )
