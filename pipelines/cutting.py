"""Cut one file the way the job does and draw the result."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from codelake.chunking import chunker_named
from codelake.chunking.batches import chunk_batch
from codelake.errors import UsageError
from codelake.languages import detect_language
from codelake.paths import path_from_bytes
from codelake.schemas import FILES
from codelake.search.snippets import make_visible
from codelake.settings import Settings
from codelake.symbols import symbols_batch
from pipelines.opening import require_languages
from resources.parser_pool import ParserPool

_CHUNK_KEYS: Final = (
    "start_byte", "end_byte", "start_line", "end_line", "nws", "kind", "name", "scope",
    "symbols", "partial_symbols", "has_error", "language", "text",
)  # fmt: skip
_NOT_SYMBOL_KEYS: Final = ("repository", "path", "embedded_text", "text_hash")
_HEAD_BYTES: Final = 4096  # what language detection looks at
_MOST_BYTES: Final = 256_000_000  # of a file; its text and chunks take ten times that


def cut_file(path: str, settings: Settings, language: str | None) -> dict[str, Any]:
    """Return language, encoding, chunks and symbols of the file at ``path``.

    Raises:
        UsageError: the file cannot be read, or the language or the chunker is unknown.
    """
    chunker_named(settings.chunking.chunker)  # before a worker meets it
    content = _read(path)
    require_languages([language] if language else [])
    name = path_from_bytes(os.fsencode(Path(path).name))
    chosen = language or detect_language(name, content[:_HEAD_BYTES], settings.files.languages)
    with ParserPool(1, settings) as pool:
        syntax = next(iter(pool.map([_one_file(name, content, chosen)])))
    return describe_cut(syntax, settings)


def _read(path: str) -> bytes:
    """Return the content of a regular file; a pipe or a device could be waited for for ever."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:  # a Path has no opener
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                message = f"cannot cut {path!r}: a pipe or a device; give a regular file"
                raise UsageError(message)
            if facts.st_size > _MOST_BYTES:
                message = f"cannot cut {path!r}: {facts.st_size:,} bytes, {_MOST_BYTES:,} at most"
                raise UsageError(message)
            return file.read(_MOST_BYTES)
    except (OSError, ValueError) as error:  # a ValueError for a name that no file can have
        message = f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}"
        raise UsageError(message) from error


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def describe_cut(syntax: pa.RecordBatch, settings: Settings) -> dict[str, Any]:
    """Return the chunks and symbols of the one file in ``syntax``."""
    file = syntax.to_pylist()[0]
    chunks = chunk_batch(syntax, settings).to_pylist()
    symbols = symbols_batch(syntax, settings).to_pylist()
    return {
        "language": file["language"],
        "encoding": file["encoding"],
        "skip_reason": file["skip_reason"],
        "parse_status": file["parse_status"],
        "parse_reason": file["parse_reason"],
        "first_error_line": file["first_error_line"],
        "redactions": file["redactions"],
        "chunks": [{key: row[key] for key in _CHUNK_KEYS} for row in chunks],
        "symbols": [
            {key: value for key, value in row.items() if key not in _NOT_SYMBOL_KEYS}
            for row in symbols
        ],
    }


def _one_file(name: str, content: bytes, language: str) -> pa.RecordBatch:
    row: dict[str, object] = dict.fromkeys(FILES.schema.names, "")
    flags = dict.fromkeys(("is_test", "is_generated", "is_vendored", "is_documentation"), False)
    row |= flags | {"path": name, "size": len(content), "content": content, "language": language}
    return FILES.table([row | {"status": "added"}]).to_batches()[0]


def draw_cut(cut: Mapping[str, Any], console: Console) -> None:
    """Print the chunks of a file with their boundaries, sizes and scopes."""
    title = f"{cut['language'] or 'plain text'}, {cut['encoding']}, {len(cut['chunks'])} chunks"
    if cut["skip_reason"]:
        title += f", skipped: {cut['skip_reason']}"
    if cut["parse_status"] == "partial":
        title += f", syntax error at line {cut['first_error_line']}"
    elif cut["parse_reason"]:
        title += f", cut by lines: {cut['parse_reason']}"
    console.print(Text(title, style="bold"))
    for chunk in cut["chunks"]:
        head = f"{chunk['start_line']}-{chunk['end_line']}  {chunk['kind']}"
        head += f"  {chunk['scope']}" if chunk["scope"] else ""
        console.print(
            Panel(
                Group(Text(make_visible(chunk["text"]))),
                title=Text(make_visible(head)),
                title_align="left",
                subtitle=f"{chunk['nws']} nws",
                subtitle_align="right",
            )
        )
