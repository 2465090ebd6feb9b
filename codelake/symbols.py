"""Turn the definitions of parsed files into symbol records: syntax rows in, symbol rows out."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from codelake.definitions import Definition, definitions_from_json
from codelake.encodings import file_offsets
from codelake.hashing import RowIds, bytes_hash
from codelake.natural_names import natural_name
from codelake.schemas import SYMBOLS
from codelake.settings import Settings

_DOC_CHARACTERS: Final = 200  # of the doc that are embedded; the surface counts, not the essay
_BODY_CHARACTERS: Final = 1500  # what a reader is shown of a symbol
_BODY_LINES: Final = 30
_UTF8_BYTES: Final = 4  # most bytes of one character
_FROM_FILE: Final = (
    "repository", "path", "is_test", "is_generated", "is_vendored", "is_documentation",
)  # fmt: skip
_EMBEDDED: Final = ("embedded_text", "text_hash")
_MADE: Final = (
    "symbol_id", "start_line", "end_line", "name_line", "natural_name", "qualified_name", "body",
    "content_hash", "embedded_text", "text_hash",
)  # fmt: skip
_READ: Final = ("start_byte", "end_byte", "name_byte", "name", "hierarchy", "doc")
_NO_COLUMNS: Final[dict[str, Sequence[object]]] = dict.fromkeys((*Definition._fields, *_MADE), ())


def symbols_batch(syntax: pa.RecordBatch, settings: Settings) -> pa.RecordBatch:
    """Return the symbol rows of the files in ``syntax``, by file and offset.

    Under the chunker ``symbol`` each definition is a chunk too and is embedded as that, not twice.
    """
    names = ("text", "definitions", "repository", "path", "encoding", "bom_bytes")
    files = zip(*(syntax.column(name).to_pylist() for name in names), strict=True)
    blocks = [
        symbol_columns(
            text,
            definitions_from_json(definitions),
            repository=repository,
            path=path,
            encoding=encoding,
            bom_bytes=bom_bytes,
        )
        for text, definitions, repository, path, encoding, bom_bytes in files
    ]
    counts = [len(block["kind"]) for block in blocks]
    rows = pa.array(np.repeat(np.arange(len(blocks)), counts))
    arrays = []
    for field in SYMBOLS.schema:
        if field.name in _EMBEDDED and settings.chunking.chunker == "symbol":
            arrays.append(pa.array([""] * len(rows), type=field.type))
        elif field.name in _FROM_FILE:
            arrays.append(syntax.column(field.name).take(rows))
        else:
            values = list(itertools.chain.from_iterable(block[field.name] for block in blocks))
            arrays.append(pa.array(values, type=field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=SYMBOLS.schema)


def symbol_columns(
    text: bytes,
    definitions: Sequence[Definition],
    *,
    repository: str,
    path: str,
    encoding: str = "utf-8",
    bom_bytes: int = 0,
) -> dict[str, Sequence[object]]:
    """Return the columns of one file's symbols that do not simply repeat the file's.

    Args:
        text: the file as UTF-8, secrets masked.
        definitions: its definitions, in order.
        repository: name of the repository, first part of the ids and of the embedded text.
        path: path of the file, second part of the ids.
        encoding: what the file is stored in, to count bytes and lines there.
        bom_bytes: bytes of the byte order mark before the text.
    """
    columns = _NO_COLUMNS.copy()
    if definitions:
        columns.update(zip(Definition._fields, zip(*definitions, strict=True), strict=True))
        read = zip(*(columns[name] for name in _READ), strict=True)
        columns.update(zip(_MADE, _made(text, read, repository, path), strict=True))
        _move_offsets(columns, text, encoding, bom_bytes)
    return columns


def _made(
    text: bytes, definitions: Iterable[tuple[Any, ...]], repository: str, path: str
) -> Iterator[tuple[object, ...]]:
    """Return the columns of _MADE for rows of _READ; hashes read bytes, as text costs more."""
    id_of = RowIds("symbol", repository, path).of
    seen: dict[tuple[str, str], int] = {}
    has_returns = b"\r" in text
    count = text.count
    line, at = 1, 0
    rows = []
    for start, end, name_byte, name, hierarchy, doc in definitions:
        line += count(b"\n", at, start) if start >= at else -count(b"\n", start, at)
        at = start
        body = text[start:end]
        if has_returns:  # hashes and what is shown do not know of line ends
            body = body.replace(b"\r\n", b"\n")
        body_hash = bytes_hash(body)
        line_ends = body.count(b"\n")
        qualified = ".".join(hierarchy) if len(hierarchy) > 1 else name
        key = (qualified, body_hash)
        occurrence = seen[key] = seen.get(key, -1) + 1
        words = natural_name(name)
        embedded = f"{repository}: {name} {words} {doc[:_DOC_CHARACTERS]}".rstrip()
        rows.append(
            (
                id_of(qualified, body_hash, occurrence),
                line,
                line + line_ends,
                line + count(b"\n", start, name_byte),
                words,
                qualified,
                _shown(body, line_ends),
                body_hash,
                embedded,
                bytes_hash(embedded.encode("utf-8", "surrogatepass")),
            )
        )
    return zip(*rows, strict=True)


def _shown(body: bytes, line_ends: int) -> str:
    """Return the first lines and characters of a body."""
    if line_ends < _BODY_LINES and len(body) <= _BODY_CHARACTERS:
        return body.decode("utf-8", "replace")
    text = body[: _BODY_CHARACTERS * _UTF8_BYTES].decode("utf-8", "ignore")[:_BODY_CHARACTERS]
    return "\n".join(text.split("\n", _BODY_LINES)[:_BODY_LINES])


def _move_offsets(
    columns: dict[str, Sequence[object]], text: bytes, encoding: str, bom_bytes: int
) -> None:
    """Count bytes in the file instead of its UTF-8 text."""
    if encoding == "utf-8" and not bom_bytes:
        return
    for name in ("start_byte", "end_byte"):
        offsets = np.array(columns[name], dtype=np.int64)
        columns[name] = file_offsets(text, offsets, encoding, bom_bytes).tolist()
