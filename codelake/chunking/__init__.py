r"""Cut texts into chunks: a registry of chunkers over one parsed source.

>>> from codelake.chunking import chunk
>>> [c.kind for c in chunk(b"import os\n\ndef f():\n    return os\n", "python")]
['module']

A chunker is a function from a :class:`Source` and :class:`Options` to spans in text order, and one
line in ``CHUNKERS``; docs/chunking.md shows how to add one.
"""

from typing import Final

from codelake.chunking.boundaries import cut_ast, cut_symbol
from codelake.chunking.cast import cut_cast
from codelake.chunking.chunks import Chunk
from codelake.chunking.context import describe
from codelake.chunking.fixed import cut_fixed
from codelake.chunking.layout import Layout, lay_out
from codelake.chunking.spans import Chunker, Options, Source, Span
from codelake.errors import UsageError
from codelake.parsing import parse_text

CHUNKERS: Final[dict[str, Chunker]] = {
    "cast": cut_cast,
    "ast": cut_ast,
    "fixed": cut_fixed,
    "symbol": cut_symbol,
}

DEFAULT_BUDGET: Final = 1200  # nws characters; about 400 tokens of code


def chunk(
    text: bytes, language: str, chunker: str = "cast", budget: int = DEFAULT_BUDGET
) -> list[Chunk]:
    """Parse ``text`` (UTF-8) and cut it; the chunks come in the order of the text.

    Args:
        text: the file's text as UTF-8, without a byte order mark.
        language: a name of :data:`codelake.languages.LANGUAGES`, empty for plain text.
        chunker: a name of :data:`CHUNKERS`.
        budget: most nws characters of a cAST chunk, characters of a fixed one.

    Raises:
        UsageError: no such chunker, no room in a chunk, or not UTF-8.
    """
    cut = chunker_named(chunker)
    if budget < 1:
        message = f"a budget of {budget} leaves no room for a character; give 1 or more"
        raise UsageError(message)
    _require_utf8(text)
    parsed = parse_text(text, language)
    source = Source(text, language, parsed.tree, parsed.definitions)
    layout = lay_out(source, parsed, cut, Options(budget))
    return describe(text, language, layout, parsed.definitions)


def _require_utf8(text: bytes) -> None:
    try:
        text.isascii() or text.decode()
    except UnicodeDecodeError as error:
        message = f"the text is not UTF-8 at byte {error.start}; codelake.encodings.decode reads it"
        raise UsageError(message) from error


def chunker_named(name: str) -> Chunker:
    """Return the chunker ``name`` stands for.

    Raises:
        UsageError: there is none; the message names those there are.
    """
    if name not in CHUNKERS:
        message = f"unknown chunker {name!r}; choose from {', '.join(CHUNKERS)}"
        raise UsageError(message)
    return CHUNKERS[name]


__all__ = [
    "CHUNKERS",
    "Chunk",
    "Chunker",
    "Layout",
    "Options",
    "Source",
    "Span",
    "chunk",
    "chunker_named",
    "describe",
    "lay_out",
]
