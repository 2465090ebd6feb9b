"""A chunk: a stretch of a file with what a search has to know about it."""

from typing import NamedTuple


class Chunk(NamedTuple):
    """One chunk of a text.

    A named tuple: a frozen dataclass of this width takes six times as long to make. Bytes count in
    the UTF-8 text, ends are exclusive; lines start at 1.

    Args:
        start_byte: offset of the first byte of ``text``.
        end_byte: offset after its last one.
        start_line: line of the first byte.
        end_line: line of the last non-whitespace character, inclusive.
        nws: non-whitespace characters.
        kind: function, method, class, class_definition, imports, module, ...; docs/chunking.md.
        name: name of the one definition the chunk is, else empty.
        scope: qualified name of what the chunk is or lies in, else empty.
        symbols: qualified names of the definitions wholly inside.
        partial_symbols: qualified names of the definitions partly inside.
        has_error: the parser found a syntax error inside.
        text: the body.
        language: the inner language where the chunk is embedded code.
    """

    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    nws: int
    kind: str
    name: str
    scope: str
    symbols: tuple[str, ...]
    partial_symbols: tuple[str, ...]
    has_error: bool
    text: str
    language: str
