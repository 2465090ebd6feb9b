"""Rows to store: small tables of every kind, made from little, and vectors to go with them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from codelake.hashing import content_hash, row_id
from codelake.schemas import CHUNKS, EMBEDDINGS, SYMBOLS, TableSpec
from resources.store import STORED, LanceStore

MODEL = "words/4"
DIMENSION = 4

_BLANK = {"string": "", "int64": 0, "bool": False}


def row(spec: TableSpec, **values: object) -> dict[str, object]:
    """Return a row of ``spec`` that is blank but for ``values``."""
    return {f.name: _BLANK.get(str(f.type), []) for f in spec.columns} | values


def chunk(path: str, text: str, **values: object) -> dict[str, object]:
    """Return a chunk whose hashes follow from its text."""
    repository = str(values.get("repository", "shop"))
    identity = row_id("chunk", repository, path, content_hash(text), "0")
    return row(
        CHUNKS,
        chunk_id=identity,
        path=path,
        text=text,
        embedded_text=text,
        content_hash=content_hash(text),
        text_hash=content_hash(text),
        kind="function",
        language="python",
    ) | {"repository": repository, **values}


def symbol(name: str, **values: object) -> dict[str, object]:
    """Return a symbol of that name."""
    return (
        row(
            SYMBOLS,
            symbol_id=row_id("symbol", name),
            repository="shop",
            path="a.py",
            name=name,
            qualified_name=name,
            kind="function",
            embedded_text=f"shop: {name}",
            text_hash=content_hash(name),
        )
        | values
    )


def batches(spec: TableSpec, rows: Sequence[dict[str, object]]) -> list[pa.RecordBatch]:
    """Return rows as a stage hands them to the store."""
    made: list[pa.RecordBatch] = spec.table(rows).to_batches()
    return made


def ledger_files(*paths: str, repository: str = "shop") -> list[pa.RecordBatch]:
    """Return rows of the files ledger."""
    spec = STORED["files"]
    return batches(spec, [row(spec, repository=repository, path=path) for path in paths])


def ledger_repositories(*names: str) -> list[pa.RecordBatch]:
    """Return rows of the repositories ledger."""
    spec = STORED["repositories"]
    return batches(spec, [row(spec, repository=name) for name in names])


def unit(*numbers: float) -> NDArray[np.float32]:
    """Return ``numbers`` as a vector of length one."""
    vector = np.array(numbers, np.float32)
    vector /= np.linalg.norm(vector)
    return vector


def vector_of(text: str, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Return a unit vector that follows from a text hash."""
    numbers = np.random.default_rng(list(text.encode())).standard_normal(dimension)
    return unit(*numbers)


def embeddings(
    hashes: Sequence[str],
    vectors: Sequence[NDArray[np.float32]] | None = None,
    model_id: str = MODEL,
) -> pa.Table:
    """Return rows of ``EMBEDDINGS``."""
    given = [vector_of(h) for h in hashes] if vectors is None else vectors
    columns = [
        pa.array([model_id] * len(hashes), pa.string()),
        pa.array(hashes, pa.string()),
        pa.array([v.astype(np.float16) for v in given], pa.list_(pa.float16())),
    ]
    return pa.Table.from_arrays(columns, schema=EMBEDDINGS.schema)


def embed_all(store: LanceStore, model_id: str = MODEL) -> int:
    """Embed what is pending and fill the vectors in; return the number of texts."""
    store.use_model(model_id, DIMENSION)
    hashes = [text_hash for text_hash, _ in store.pending(model_id)]
    count = store.append_embeddings(embeddings(hashes, model_id=model_id))
    for table in ("chunks", "symbols"):
        store.fill_vectors(table, model_id)
    return count


def stored(folder: Path, *rows: dict[str, object]) -> LanceStore:
    """Return a store in ``folder`` with these chunks and their vectors."""
    store = LanceStore(folder)
    store.replace_rows("chunks", batches=batches(CHUNKS, rows))
    embed_all(store)
    return store


def by_key(table: pa.Table, *key: str) -> list[dict[str, object]]:
    """Return rows in an order that does not hang on how they are stored."""
    rows: list[dict[str, object]] = table.sort_by([(k, "ascending") for k in key]).to_pylist()
    return rows


def whole(folder: Path, *paths: str) -> LanceStore:
    """Return a store that keeps every promise."""
    store = stored(folder, *[chunk(path, f"text of {path}") for path in paths])
    store.replace_rows("files", batches=ledger_files(*paths))
    store.replace_rows("repositories", batches=ledger_repositories("shop"))
    return store
