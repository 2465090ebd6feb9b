"""Rows made by hand and a store that holds them, for tests of the search."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from codelake.chunking.batches import chunk_batch
from codelake.classify import path_flags, path_skip_reason
from codelake.embedding import Embedder
from codelake.hashing import content_hash, row_id
from codelake.languages import detect_language
from codelake.natural_names import natural_name
from codelake.schemas import CHUNKS, EMBEDDINGS, FILES, SYMBOLS
from codelake.settings import Settings
from codelake.symbols import symbols_batch
from codelake.syntax import syntax_batch
from resources.store import LanceStore, LanceTables

Row = dict[str, object]


def chunk(path: str, text: str, start: int = 1, **columns: object) -> Row:
    """Return a row of ``chunks``; ``columns`` replace what is made up."""
    repository = str(columns.get("repository", "shop"))
    occurrence = columns.pop("occurrence", 0)
    body_hash = content_hash(text)
    embedded = str(columns.get("embedded_text", text))
    return {
        "chunk_id": row_id("chunk", repository, path, body_hash, str(occurrence)),
        **_common(repository, path, text, start),
        "nws": len("".join(text.split())),
        "kind": "function",
        "name": "",
        "scope": "",
        "symbols": [],
        "partial_symbols": [],
        "has_error": False,
        "text": text,
        "content_hash": body_hash,
        "embedded_text": embedded,
        "text_hash": content_hash(embedded),
    } | columns


def symbol(path: str, qualified_name: str, text: str, start: int = 1, **columns: object) -> Row:
    """Return a row of ``symbols``; ``columns`` replace what is made up."""
    repository = str(columns.get("repository", "shop"))
    name = qualified_name.rpartition(".")[2]
    body_hash = content_hash(text)
    doc = str(columns.get("doc", ""))
    embedded = f"{repository}: {name} {natural_name(name)} {doc}"
    return {
        "symbol_id": row_id("symbol", repository, path, qualified_name, body_hash, "0"),
        **_common(repository, path, text, start),
        "name_line": start,
        "kind": "function",
        "name": name,
        "natural_name": natural_name(name),
        "qualified_name": qualified_name,
        "hierarchy": qualified_name.split("."),
        "signature": text.split("\n", 1)[0],
        "doc": doc,
        "decorators": [],
        "parameters": "[]",
        "returns": "",
        "modifiers": [],
        "receiver": "",
        "body": text,
        "content_hash": body_hash,
        "embedded_text": embedded,
        "text_hash": content_hash(embedded),
    } | columns


def _common(repository: str, path: str, text: str, start: int) -> Row:
    return {
        "repository": repository,
        "path": path,
        "language": "python",
        "is_test": False,
        "is_generated": False,
        "is_vendored": False,
        "is_documentation": False,
        "start_line": start,
        "end_line": start + text.count("\n"),
        "start_byte": 100 * start,
        "end_byte": 100 * start + len(text),
    }


def fill(
    folder: Path,
    chunks: Iterable[Row] = (),
    symbols: Iterable[Row] = (),
    embedder: Embedder | None = None,
) -> LanceTables:
    """Store rows, with their vectors if there is an embedder, and return them to search."""
    store = LanceStore(folder)
    with store.writing():
        store.replace_rows("chunks", batches=CHUNKS.table(chunks).to_batches())
        store.replace_rows("symbols", batches=SYMBOLS.table(symbols).to_batches())
        if embedder is not None:
            embed(store, embedder)
        store.index_new_rows()
    return store.search_tables()


def embed(store: LanceStore, embedder: Embedder, most: int | None = None) -> None:
    """Embed what is pending, at most ``most`` texts, and fill the vectors into the rows."""
    store.use_model(embedder.model_id, embedder.dimension)
    pending = sorted(store.pending(embedder.model_id))[:most]
    vectors = embedder.embed_documents([text for _, text in pending]).vectors
    store.append_embeddings(embeddings([h for h, _ in pending], vectors, embedder.model_id))
    for table in ("chunks", "symbols"):
        store.fill_vectors(table, embedder.model_id)


def embeddings(hashes: Sequence[str], vectors: np.ndarray, model_id: str) -> pa.Table:
    """Return rows of ``embeddings``."""
    return pa.table(
        [
            pa.array([model_id] * len(hashes), pa.string()),
            pa.array(hashes, pa.string()),
            pa.array(list(vectors.astype(np.float16)), pa.list_(pa.float16())),
        ],
        schema=EMBEDDINGS.schema,
    )


def index_folder(
    folder: Path, root: Path, embedder: Embedder | None = None, repository: str = "shop"
) -> LanceTables:
    """Cut the files below ``root`` by the real stages and store them, without git."""
    settings = Settings()
    syntax = syntax_batch(_files(root, repository), settings)
    store = LanceStore(folder)
    with store.writing():
        store.replace_rows("chunks", batches=[chunk_batch(syntax, settings)])
        store.replace_rows("symbols", batches=[symbols_batch(syntax, settings)])
        if embedder is not None:
            embed(store, embedder)
        store.index_new_rows()
    return store.search_tables()


def _files(root: Path, repository: str) -> pa.RecordBatch:
    rows = []
    for file in sorted(f for f in root.rglob("*") if f.is_file()):
        path, content = file.relative_to(root).as_posix(), file.read_bytes()
        flags = path_flags(path)
        rows.append(
            {
                "repository": repository,
                "path": path,
                "blob_id": row_id("blob", path),
                "size": len(content),
                "language": detect_language(path, content),
                "is_test": flags.is_test,
                "is_generated": flags.is_generated,
                "is_vendored": flags.is_vendored,
                "is_documentation": flags.is_documentation,
                "skip_reason": path_skip_reason(path),
                "fingerprint": "",
                "status": "added",
                "content": content,
            }
        )
    return FILES.table(rows).combine_chunks().to_batches()[0]
