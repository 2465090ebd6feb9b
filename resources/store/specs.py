"""The shapes of the stored tables: the stages' shapes, with the model of each row's vector."""

from dataclasses import replace
from hashlib import blake2b
from typing import Final

import pyarrow as pa

from codelake.schemas import CHUNKS, EMBEDDINGS, FILES, REPOSITORIES, SYMBOLS, TableSpec, column

MODEL_COLUMN: Final = "model_id"

_MODEL: Final = column(
    MODEL_COLUMN, pa.string(), "model of the row's newest vector; empty while it has none"
)
# Read once to be embedded and once to be indexed: 40 % of the disk for the same time to write.
# What patterns look through stays in the faster default: 0.1 CPU s instead of 0.3 over 27,000.
_ZSTD: Final = {
    b"lance-encoding:compression": b"zstd",
    b"lance-encoding:compression-level": b"1",
}
WORDS: Final = "words"
"""Column of the text that a search by words looks through; the store makes it of the others."""

_MODEL_KEY: Final = b"model_id"


def _without(spec: TableSpec, *names: str) -> TableSpec:
    return replace(spec, columns=tuple(c for c in spec.columns if c.name not in names))


def _packed(spec: TableSpec, name: str) -> TableSpec:
    columns = [
        column.with_metadata({**column.metadata, **_ZSTD}) if column.name == name else column
        for column in spec.columns
    ]
    return replace(spec, columns=tuple(columns))


def _with_model(spec: TableSpec) -> TableSpec:
    # The version counts the store's own columns too: the second brought ``words``.
    return replace(spec, version=spec.version + 1, columns=(*spec.columns, _MODEL))


STORED: Final[dict[str, TableSpec]] = {
    spec.name: spec
    for spec in (
        REPOSITORIES,
        _without(FILES, "status", "content"),
        _with_model(_packed(CHUNKS, "embedded_text")),
        _with_model(SYMBOLS),
        EMBEDDINGS,
    )
}

# What tells one row of a table from another; a write replaces rows by it.
IDENTITY: Final[dict[str, tuple[str, ...]]] = {
    "repositories": ("repository",),
    "files": ("repository", "path"),
    "chunks": ("chunk_id",),
    "symbols": ("symbol_id",),
    "embeddings": ("model_id", "text_hash"),
}

# Tables whose rows are searched, each with the column that identifies a row.
SEARCHED: Final[dict[str, str]] = {"chunks": "chunk_id", "symbols": "symbol_id"}


def given_spec(table: str) -> TableSpec:
    """Return the shape in which a stage hands rows to the stored ``table``."""
    spec = STORED[table]
    return _without(spec, MODEL_COLUMN) if table in SEARCHED else spec


def stored_schema(spec: TableSpec) -> pa.Schema:
    """Return the columns a table is created with: those of its shape, and the store's own."""
    if spec.name not in SEARCHED:
        return spec.schema
    doc = {b"doc": b"what a search by words looks through", **_ZSTD}
    return spec.schema.append(pa.field(WORDS, pa.string(), nullable=True, metadata=doc))


def vector_column(model_id: str) -> str:
    """Return the name of the column that holds the vectors of ``model_id``."""
    return "vector_" + blake2b(model_id.encode(), digest_size=4).hexdigest()


def vector_field(model_id: str, dimension: int) -> pa.Field:
    """Return the column for vectors of ``model_id``: float16, no value while there is none."""
    metadata = {_MODEL_KEY: model_id.encode(), b"doc": b"unit vector of the row's embedded text"}
    return pa.field(
        vector_column(model_id), pa.list_(pa.float16(), dimension), nullable=True, metadata=metadata
    )


def vector_models(schema: pa.Schema) -> dict[str, int]:
    """Return the models whose vectors a stored table has columns for, with their dimensions."""
    return {
        field.metadata[_MODEL_KEY].decode(): field.type.list_size
        for field in schema
        if field.metadata and _MODEL_KEY in field.metadata
    }
