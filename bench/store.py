"""The store alone: what writing, indexing and upkeep cost."""

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
from bench.vectors import unit_vectors
from codelake.hashing import content_hash, row_id
from codelake.schemas import CHUNKS, EMBEDDINGS
from resources.store import LanceStore

_MODEL: Final = "random/384"
_DIMENSION: Final = 384
_LINES: Final = 40  # of a row; about as much text as a chunk
_BATCH_ROWS: Final = 1000
_SLICE: Final = 1024  # texts embedded between two writes
_CHANGED: Final = 100  # every so many-th row changes in a night


def measure(sources: list[Source]) -> list[Figure]:
    """Store rows made of ``sources`` with random vectors, change some, tidy up, ask."""
    costs: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="codelake-store-") as name:
        folder = Path(name)
        store = LanceStore(folder)
        with store.writing():
            rows = _first_night(store, sources, costs)
            sizes = [Figure("size of the store", folder_megabytes(folder), "MB")]
            changed = _next_night(store, sources, costs)
            store.optimize(retention=timedelta(0))
            sizes.append(Figure("after a night and upkeep", folder_megabytes(folder), "MB"))
            with timed(costs, "a night with nothing changed"):
                _embed(store)
                store.optimize()
    seconds = [Figure(what, cost, "CPU s") for what, cost in costs.items()]
    counts = [Figure("rows", rows), Figure("rows changed in a night", changed)]
    return [*counts, *seconds, *sizes]


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
        store.append_embeddings(embeddings(some, unit_vectors(len(some), seed=start)))
    store.fill_vectors("chunks", _MODEL)
    store.complete_model(_MODEL)


def embeddings(hashes: Sequence[str], vectors: NDArray[np.float32]) -> pa.Table:
    """Return rows of ``EMBEDDINGS``."""
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
