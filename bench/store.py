"""The store alone: what writing, indexing and upkeep cost, and what a vector index finds."""

import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.figures import Figure
from bench.measure import folder_megabytes, timed
from bench.trees import Source
from codelake.hashing import content_hash, row_id
from codelake.schemas import CHUNKS, EMBEDDINGS
from codelake.search.tables import Filters
from resources.store import LanceStore

_MODEL: Final = "random/384"
_DIMENSION: Final = 384
_LINES: Final = 40  # of a row; about as much text as a chunk
_BATCH_ROWS: Final = 1000
_SLICE: Final = 1024  # texts embedded between two writes
_CHANGED: Final = 100  # every so many-th row changes in a night
_QUESTIONS: Final = 50
_NEIGHBOURS: Final = 10
_VECTOR_ROWS: Final = 30_000
_CENTRES: Final = 1500


def measure(sources: list[Source]) -> list[Figure]:
    """Store rows made of ``sources`` with random vectors, change some, tidy up, ask."""
    costs: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="codelake-store-") as name:
        store = LanceStore(Path(name))
        with store.writing():
            rows = _first_night(store, sources, costs)
            sizes = [Figure("size of the store", folder_megabytes(store.path), "MB")]
            changed = _next_night(store, sources, costs)
            store.optimize(retention=timedelta(0))
            sizes.append(Figure("after a night and upkeep", folder_megabytes(store.path), "MB"))
            with timed(costs, "a night with nothing changed"):
                _embed(store)
                store.optimize()
    seconds = [Figure(what, cost, "CPU s") for what, cost in costs.items()]
    counts = [Figure("rows", rows), Figure("rows changed in a night", changed)]
    return [*counts, *seconds, *sizes, *_index_figures()]


def _first_night(store: LanceStore, sources: list[Source], costs: dict[str, float]) -> int:
    with timed(costs, "rows written"):
        rows = store.replace_rows("chunks", batches=_batches(sources, "")).written
    with timed(costs, "words indexed"):
        store.index_new_rows()
    store.use_model(_MODEL, _DIMENSION)
    with timed(costs, "vectors kept and filled in"):
        _embed(store)
    with timed(costs, "upkeep"):
        store.optimize()
    return rows


def _next_night(store: LanceStore, sources: list[Source], costs: dict[str, float]) -> int:
    old = pa.concat_tables([pa.Table.from_batches([b]) for b in _batches(sources, "", _CHANGED)])
    with timed(costs, "rows changed"):
        done = store.replace_rows(
            "chunks",
            delete_ids=old["chunk_id"].combine_chunks(),
            batches=_batches(sources, "changed", _CHANGED),
        )
    with timed(costs, "changed words indexed"):
        store.index_new_rows()
    with timed(costs, "changed vectors kept and filled in"):
        _embed(store)
    return done.written


def _embed(store: LanceStore) -> None:
    hashes = [text_hash for text_hash, _ in store.pending(_MODEL)]
    for start in range(0, len(hashes), _SLICE):
        some = hashes[start : start + _SLICE]
        store.append_embeddings(_embeddings(some, _ordered(len(some), seed=start)))
    store.fill_vectors("chunks", _MODEL)
    store.complete_model(_MODEL)


def _embeddings(hashes: Sequence[str], vectors: NDArray[np.float32]) -> pa.Table:
    offsets = np.arange(len(hashes) + 1, dtype=np.int32) * _DIMENSION
    flat = pa.array(vectors.astype(np.float16).ravel())
    columns = [[_MODEL] * len(hashes), hashes, pa.ListArray.from_arrays(pa.array(offsets), flat)]
    return pa.table(columns, schema=EMBEDDINGS.schema)


def _batches(sources: list[Source], mark: str, every: int = 1) -> Iterator[pa.RecordBatch]:
    rows: list[dict[str, object]] = []
    for number, (source, start, text) in enumerate(_texts(sources)):
        if number % every:
            continue
        rows.append(_row(source, start, text + mark))
        if len(rows) == _BATCH_ROWS:
            yield from CHUNKS.table(rows).to_batches()
            rows = []
    yield from CHUNKS.table(rows).to_batches()


def _texts(sources: list[Source]) -> Iterator[tuple[Source, int, str]]:
    for source in sources:
        lines = source.content.decode("utf-8", "replace").splitlines(keepends=True)
        for start in range(0, len(lines), _LINES):
            yield source, start, "".join(lines[start : start + _LINES])


def _row(source: Source, start: int, text: str) -> dict[str, object]:
    blank = {"string": "", "int64": 0, "bool": False}
    hashed = content_hash(text)
    return {f.name: blank.get(str(f.type), []) for f in CHUNKS.columns} | {
        "chunk_id": row_id("chunk", source.origin, source.path, str(start), hashed),
        "repository": source.origin,
        "path": source.path,
        "language": source.language,
        "start_line": start + 1,
        "end_line": start + _LINES,
        "text": text,
        "embedded_text": text,
        "content_hash": hashed,
        "text_hash": hashed,
    }


def _ordered(count: int, seed: int, centres: int = 0) -> NDArray[np.float32]:
    """Return unit vectors: without any order, or around so many centres."""
    chance = np.random.default_rng(seed)
    vectors = chance.standard_normal((count, _DIMENSION), dtype=np.float32)
    if centres:
        middles = np.random.default_rng(0).standard_normal((centres, _DIMENSION), np.float32)
        vectors = middles[chance.integers(0, centres, count)] + 0.7 * vectors
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _index_figures() -> list[Figure]:
    figures = []
    for name, centres in (("without order", 0), ("in clusters", _CENTRES)):
        vectors = _ordered(_VECTOR_ROWS, 1, centres)
        with tempfile.TemporaryDirectory(prefix="codelake-vectors-") as folder:
            store = LanceStore(Path(folder))
            with store.writing():
                figures += _asked(store, vectors, f"vectors {name}")
    return figures


def _asked(store: LanceStore, vectors: NDArray[np.float32], name: str) -> list[Figure]:
    rows = [_row(Source(f"r{i % 50}", f"{i}", "", b""), 0, str(i)) for i in range(len(vectors))]
    store.replace_rows("chunks", batches=CHUNKS.table(rows).to_batches())
    store.use_model(_MODEL, _DIMENSION)
    store.append_embeddings(_embeddings([str(row["text_hash"]) for row in rows], vectors))
    store.fill_vectors("chunks", _MODEL)
    queries = vectors[:: len(vectors) // _QUESTIONS]
    costs: dict[str, float] = {}
    filters = {"": Filters(), ", one repository of 50": Filters(repositories=("r7",))}
    exact = {what: _nearest(store, queries, some) for what, some in filters.items()}
    with timed(costs, "build"):
        store.optimize(vector_rows=1)
    figures = [Figure(f"{name}: index built", costs["build"], "CPU s")]
    for what, some in filters.items():
        with timed(costs, what):
            found = _nearest(store, queries, some)
        pairs = zip(exact[what], found, strict=True)
        recall = float(np.mean([len(a & b) / len(a) for a, b in pairs]))
        figures += [
            Figure(f"{name}{what}: recall@10", recall, "", ">= 0.95"),
            Figure(f"{name}{what}: one question", 1000 * costs[what] / len(queries), "CPU ms"),
        ]
    return figures


def _nearest(
    store: LanceStore, queries: NDArray[np.float32], filters: Filters
) -> list[frozenset[str]]:
    tables = store.search_tables(resident_rows=0)
    hits = tables.nearest("chunks", queries, model_id=_MODEL, k=_NEIGHBOURS, filters=filters)
    return [frozenset(found["chunk_id"].to_pylist()) for found in hits]
