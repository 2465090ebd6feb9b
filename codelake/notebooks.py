"""Read the code cells of a Jupyter notebook, with every offset mapped back to the file.

A notebook is JSON: a cell's program stands there as quoted lines. The program is put together,
parsed by its own grammar, and what is found is moved to where it stands in the file.
"""

import bisect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import tree_sitter

_ESCAPE: Final = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LANGUAGE: Final = re.compile(rb'"(?:language|name)"\s*:\s*"([\w+#-]+)"')
_MAGIC: Final = re.compile(rb"^[ \t]*[%!]", re.MULTILINE)
DEFAULT_LANGUAGE: Final = "python"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its number from 1, kind, place in the file and program with its offset runs."""

    number: int
    kind: str
    start_byte: int
    end_byte: int
    program: bytes
    _inner: tuple[int, ...]
    _outer: tuple[int, ...]

    def to_file(self, offset: int) -> int:
        """Return where byte ``offset`` of the program stands in the file."""
        run = max(bisect.bisect_right(self._inner, offset) - 1, 0)
        return self._outer[run] + offset - self._inner[run]


def find_cells(root: tree_sitter.Node, text: bytes) -> list[Cell]:
    """Return the cells of the notebook whose JSON tree is ``root``."""
    top = root.named_children[0] if root.named_children else None
    cells = _value(top, b"cells", text)
    if cells is None or cells.type != "array":
        return []
    objects = [node for node in cells.named_children if node.type == "object"]
    return [_cell(number, node, text) for number, node in enumerate(objects, 1)]


def notebook_language(root: tree_sitter.Node, text: bytes) -> str:
    """Return the language its metadata names, as written, in lower case."""
    top = root.named_children[0] if root.named_children else None
    metadata = _value(top, b"metadata", text)
    for key in (b"language_info", b"kernelspec"):
        node = _value(metadata, key, text)
        match = _LANGUAGE.search(text, node.start_byte, node.end_byte) if node else None
        if match:
            return match[1].decode().lower()
    return DEFAULT_LANGUAGE


def _value(node: tree_sitter.Node | None, key: bytes, text: bytes) -> tree_sitter.Node | None:
    for pair in node.named_children if node is not None and node.type == "object" else ():
        name, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if name and value and text[name.start_byte : name.end_byte] == b'"%s"' % key:
            return value
    return None


def _cell(number: int, node: tree_sitter.Node, text: bytes) -> Cell:
    kind = _value(node, b"cell_type", text)
    source = _value(node, b"source", text)
    program = bytearray()
    inner: list[int] = []
    outer: list[int] = []
    for piece, start in _pieces(source, text):
        inner.append(len(program))
        outer.append(start)
        program += piece
    is_code = kind is not None and text[kind.start_byte : kind.end_byte] == b'"code"'
    # IPython's own commands are no program; a comment of the same length keeps the offsets.
    clean = _MAGIC.sub(lambda match: match[0][:-1] + b"#", bytes(program))
    return Cell(
        number,
        "code" if is_code else "text",
        node.start_byte,
        node.end_byte,
        clean,
        tuple(inner) or (0,),
        tuple(outer) or (node.start_byte,),
    )


def _pieces(source: tree_sitter.Node | None, text: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield runs of program text with the offset they come from."""
    if source is None:
        return
    strings = source.named_children if source.type == "array" else [source]
    for string in strings:
        if string.type != "string":
            continue
        at, end = string.start_byte + 1, string.end_byte - 1
        for match in _ESCAPE.finditer(text, at, end):
            if match.start() > at:
                yield text[at : match.start()], at
            yield _unescape(match[0]), match.start()
            at = match.end()
        if at < end:
            yield text[at:end], at


def _unescape(escape: bytes) -> bytes:
    try:
        value = json.loads(b'"%s"' % escape)
    except ValueError:
        return escape
    return str(value).encode("utf-8", "replace")
