"""Cut every file of a syntax batch: rows of the syntax table in, rows of the chunk table out."""

from collections import Counter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from codelake.chunking import Chunk, describe
from codelake.chunking.layout import unpack_layout
from codelake.definitions import definitions_from_json
from codelake.encodings import file_offsets
from codelake.hashing import content_hash, row_id
from codelake.schemas import CHUNKS
from codelake.settings import Settings

_FROM_FILE: Final = (
    "repository", "path", "is_test", "is_generated", "is_vendored", "is_documentation",
)  # fmt: skip
_FROM_CHUNK: Final = (
    "language", "start_line", "end_line", "nws", "kind", "name", "scope", "symbols",
    "partial_symbols", "has_error", "text",
)  # fmt: skip


def chunk_batch(syntax: pa.RecordBatch, settings: Settings) -> pa.RecordBatch:
    """Return the chunk rows of the files in ``syntax``, by file and offset."""
    columns: dict[str, list[Any]] = {name: [] for name in CHUNKS.schema.names}
    for file in syntax.to_pylist():
        if not file["skip_reason"]:
            _add_file(columns, file, settings.chunking.header)
    arrays = [pa.array(columns[field.name], type=field.type) for field in CHUNKS.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=CHUNKS.schema)


def _add_file(columns: dict[str, list[Any]], file: dict[str, Any], header: str) -> None:
    layout = unpack_layout(file["outline"])
    definitions = definitions_from_json(file["definitions"])
    chunks = describe(file["text"], file["language"], layout, definitions)
    if not chunks:
        return
    for name in _FROM_FILE:
        columns[name] += [file[name]] * len(chunks)
    for name in _FROM_CHUNK:
        columns[name] += [getattr(chunk, name) for chunk in chunks]
    _add_offsets(columns, file, chunks)
    _add_hashes(columns, file, chunks, header)


def _add_offsets(columns: dict[str, list[Any]], file: dict[str, Any], chunks: list[Chunk]) -> None:
    count = len(chunks)
    offsets = np.array([c.start_byte for c in chunks] + [c.end_byte for c in chunks])
    mapped = file_offsets(file["text"], offsets, file["encoding"], file["bom_bytes"]).tolist()
    columns["start_byte"] += mapped[:count]
    columns["end_byte"] += mapped[count:]


def _add_hashes(
    columns: dict[str, list[Any]], file: dict[str, Any], chunks: list[Chunk], header: str
) -> None:
    seen: Counter[str] = Counter()
    for chunk in chunks:
        body_hash = content_hash(chunk.text)
        occurrence = str(seen[body_hash])
        seen[body_hash] += 1
        head = _header(file["path"], chunk.scope, header)
        embedded = f"{head}\n{chunk.text}" if head else chunk.text
        columns["content_hash"].append(body_hash)
        columns["chunk_id"].append(
            row_id("chunk", file["repository"], file["path"], body_hash, occurrence)
        )
        columns["embedded_text"].append(embedded)
        columns["text_hash"].append(content_hash(embedded) if head else body_hash)


def _header(path: str, scope: str, header: str) -> str:
    """Return the context line in front of an embedded body, empty for none."""
    if header == "path":
        return f"# {path}: {scope}" if scope else f"# {path}"
    return f"# {scope}" if scope and header == "scope" else ""
