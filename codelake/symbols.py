"""Turn the definitions of parsed files into symbol records: syntax rows in, symbol rows out."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from codelake.definitions import Definition, definitions_from_json
from codelake.encodings import file_offsets
from codelake.hashing import RowIds, bytes_hash
from codelake.measure import Ints
from codelake.natural_names import natural_name
from codelake.schemas import SYMBOLS
from codelake.settings import Settings

_DOC_CHARACTERS: Final = 200  # of the doc that are embedded; the surface counts, not the essay
_BODY_CHARACTERS: Final = 1500  # what a reader is shown of a symbol
_BODY_LINES: Final = 30
_NEWLINE: Final = np.uint8(ord("\n"))
_RETURN: Final = np.uint8(ord("\r"))
_UTF8_BYTES: Final = 4  # most bytes of one character
_FROM_FILE: Final = (
    "repository", "path", "is_test", "is_generated", "is_vendored", "is_documentation",
)  # fmt: skip
_EMBEDDED: Final = ("embedded_text", "text_hash")
_MADE: Final = (
    "start_line", "end_line", "name_line", "natural_name", "qualified_name", "body", "symbol_id",
    "content_hash", *_EMBEDDED,
)  # fmt: skip
_NO_COLUMNS: Final[dict[str, Sequence[Any]]] = dict.fromkeys((*Definition._fields, *_MADE), ())


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
) -> dict[str, Sequence[Any]]:
    """Return the columns of one file's symbols that do not simply repeat the file's.

    Args:
        text: the file as UTF-8, secrets masked.
        definitions: its definitions, in order.
        repository: name of the repository, first part of the ids and of the embedded text.
        path: path of the file, second part of the ids.
        encoding: what the file is stored in, to count bytes and lines there.
        bom_bytes: bytes of the byte order mark before the text.
    """
    columns = described_columns(text, definitions)
    if definitions:
        columns |= _identify(text, columns, repository, path)
        _move_offsets(columns, text, encoding, bom_bytes)
    return columns


def described_columns(text: bytes, definitions: Sequence[Definition]) -> dict[str, Sequence[Any]]:
    """Return the columns that say what the symbols are: all but ids, hashes and embedded texts.

    Offsets count in ``text``.
    """
    columns = _NO_COLUMNS.copy()
    if definitions:
        columns.update(zip(Definition._fields, zip(*definitions, strict=True), strict=True))
        columns["natural_name"] = list(map(natural_name, columns["name"]))
        columns["qualified_name"] = list(map(".".join, columns["hierarchy"]))
        columns |= _lines_and_bodies(text, columns)
    return columns


def _lines_and_bodies(text: bytes, columns: Mapping[str, Sequence[int]]) -> dict[str, list[Any]]:
    """Return the lines of start, end and name, and what a reader is shown of each symbol.

    All at once in arrays: line ends are looked for once a file, not once a symbol.
    """
    offsets = np.array([columns["start_byte"], columns["end_byte"], columns["name_byte"]])
    if b"\r" in text:
        text, offsets = _without_returns(text, offsets)
    newlines = (np.frombuffer(text, np.uint8) == _NEWLINE).nonzero()[0]
    before = newlines.searchsorted(offsets)
    start_line, end_line, name_line = (before + 1).tolist()
    starts, ends = offsets[:2]
    if text.isascii():
        line_ends = np.concatenate((newlines, (len(text),)))
        last = line_ends.take(before[0] + (_BODY_LINES - 1), mode="clip")
        stops = np.minimum(np.minimum(starts + _BODY_CHARACTERS, ends), last)
        cut = text.decode("ascii")  # a character is a byte, and a string is cut faster
        body = [cut[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    else:
        body = [_shown(text[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    return {"start_line": start_line, "end_line": end_line, "name_line": name_line, "body": body}


def _without_returns(text: bytes, offsets: Ints) -> tuple[bytes, Ints]:
    """Return ``text`` with line feeds alone as line ends, and where ``offsets`` are in that."""
    data = np.frombuffer(text, np.uint8)
    returns = ((data[:-1] == _RETURN) & (data[1:] == _NEWLINE)).nonzero()[0]
    return text.replace(b"\r\n", b"\n"), offsets - returns.searchsorted(offsets)


def _bodies(text: bytes, columns: Mapping[str, Sequence[int]]) -> list[bytes]:
    """Return the text of each symbol with line feeds alone, for a hash that knows no line ends."""
    bodies = [
        text[start:end]
        for start, end in zip(columns["start_byte"], columns["end_byte"], strict=True)
    ]
    return [body.replace(b"\r\n", b"\n") for body in bodies] if b"\r" in text else bodies


def _identify(
    text: bytes, columns: Mapping[str, Sequence[Any]], repository: str, path: str
) -> dict[str, list[str]]:
    """Return ids, hashes and what is embedded; hashes read bytes, as text costs more."""
    qualified = columns["qualified_name"]
    hashes = list(map(bytes_hash, _bodies(text, columns)))
    surfaces = zip(columns["name"], columns["natural_name"], columns["doc"], strict=True)
    embedded = [
        f"{repository}: {name} {words} {doc[:_DOC_CHARACTERS]}".rstrip()
        for name, words, doc in surfaces
    ]
    occurrences = _occurrences(list(zip(qualified, hashes, strict=True)))
    return {
        "symbol_id": list(
            map(RowIds("symbol", repository, path).of, qualified, hashes, occurrences)
        ),
        "content_hash": hashes,
        "embedded_text": embedded,
        "text_hash": [bytes_hash(each.encode("utf-8", "surrogatepass")) for each in embedded],
    }


def _occurrences(keys: list[tuple[str, str]]) -> Iterable[int]:
    """Return how many of the same came before each."""
    if len(set(keys)) == len(keys):
        return itertools.repeat(0, len(keys))
    seen: dict[tuple[str, str], Iterator[int]] = {}
    return [next(seen.setdefault(key, itertools.count())) for key in keys]


def _shown(body: bytes) -> str:
    """Return the first lines and characters of a body."""
    if len(body) <= _BODY_CHARACTERS:
        text = body.decode("utf-8", "replace")
    else:
        text = body[: _BODY_CHARACTERS * _UTF8_BYTES].decode("utf-8", "ignore")[:_BODY_CHARACTERS]
    if text.count("\n") < _BODY_LINES:
        return text
    return "\n".join(text.split("\n", _BODY_LINES)[:_BODY_LINES])


def _move_offsets(
    columns: dict[str, Sequence[Any]], text: bytes, encoding: str, bom_bytes: int
) -> None:
    """Count bytes in the file instead of its UTF-8 text."""
    if encoding == "utf-8" and not bom_bytes:
        return
    for name in ("start_byte", "end_byte"):
        offsets = np.array(columns[name], dtype=np.int64)
        columns[name] = file_offsets(text, offsets, encoding, bom_bytes).tolist()
