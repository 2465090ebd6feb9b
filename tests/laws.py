"""The laws of chunks, checked against the file they were cut from."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from codelake.chunking import Chunk
from codelake.schemas import FILES


def assert_laws(text: bytes, chunks: Sequence[Chunk], budget: int | None) -> None:
    """Nothing lost or doubled, in order, right lines, within the budget, nothing blank."""
    end = 0
    for chunk in chunks:
        body = chunk.text
        assert text[chunk.start_byte : chunk.end_byte].decode() == body
        assert body.strip()
        assert chunk.start_byte >= end
        assert not text[end : chunk.start_byte].decode().strip()
        assert chunk.nws == len("".join(body.split()))
        assert budget is None or chunk.nws <= budget
        assert chunk.start_line == 1 + text[: chunk.start_byte].count(b"\n")
        assert chunk.end_line == 1 + text[: chunk.end_byte].count(b"\n")
        end = chunk.end_byte
    assert not text[end:].decode().strip()


def assert_row_laws(raw: bytes, file: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """The same of stored rows, whose offsets count in the file's own bytes."""
    encoding, end = file["encoding"], file["bom_bytes"]
    for row in rows:
        assert raw[row["start_byte"] : row["end_byte"]].decode(encoding) == row["text"]
        assert row["start_byte"] >= end
        assert not raw[end : row["start_byte"]].decode(encoding).strip()
        assert row["start_line"] == 1 + raw[file["bom_bytes"] : row["start_byte"]].decode(
            encoding
        ).count("\n")
        end = row["end_byte"]
    assert file["skip_reason"] or not raw[end:].decode(encoding).strip()
    ids = [row["chunk_id"] for row in rows]
    assert len(ids) == len(set(ids))


def file_batch(files: Sequence[tuple[str, str, bytes]]) -> pa.RecordBatch:
    """Return FILES rows of (path, language, content)."""
    flags = dict.fromkeys(("is_test", "is_generated", "is_vendored", "is_documentation"), False)
    names = ("blob_id", "skip_reason", "fingerprint")
    rows = [
        dict.fromkeys(names, "")
        | flags
        | {"repository": "demo", "path": path, "language": language, "content": content}
        | {"size": len(content), "status": "added"}
        for path, language, content in files
    ]
    return FILES.table(rows).combine_chunks().to_batches()[0]
