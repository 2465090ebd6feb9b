"""What a vector index finds of what exact search finds, and what it costs."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import lance
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.figures import Figure
from bench.measure import folder_megabytes, timed
from bench.trees import Source
from codelake.search.tables import Filters
from resources.store import STORED, LanceTables
from resources.store.indexes import ensure_vector_indexes
from resources.store.specs import vector_column, vector_field

_MODEL: Final = "random/384"
_DIMENSION: Final = 384
_SIZES: Final = (100_000, 1_000_000)
_REPOSITORIES: Final = 50
_ROWS: Final = 20_000  # made at once
_QUESTIONS: Final = 60
_NEIGHBOURS: Final = 10
_PER_CENTRE: Final = 100  # vectors around one middle, as texts about one thing

Vectors = NDArray[np.float32]


def measure(sources: list[Source]) -> list[Figure]:
    """Compare index and exact search over clustered vectors, without a filter and with one."""
    del sources
    figures = []
    for size in _SIZES:
        with tempfile.TemporaryDirectory(prefix="codelake-vectors-") as name:
            figures += _compared(Path(name), size)
    return figures


def unit_vectors(count: int, seed: int, centres: int = 0) -> Vectors:
    """Return unit vectors: without any order, or around so many centres."""
    chance = np.random.default_rng(seed)
    vectors = chance.standard_normal((count, _DIMENSION), dtype=np.float32)
    if centres:
        middles = np.random.default_rng(0).standard_normal((centres, _DIMENSION), np.float32)
        vectors = middles[chance.integers(0, centres, count)] + 0.7 * vectors
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _compared(folder: Path, size: int) -> list[Figure]:
    place = str(folder / "chunks.lance")
    dataset = lance.write_dataset(_batches(size), place, schema=_schema())
    before = folder_megabytes(folder)
    queries = unit_vectors(_QUESTIONS, size, size // _PER_CENTRE)
    filters = {"": Filters(), ", one repository of 50": Filters(repositories=("r7",))}
    exact = {what: _nearest(folder, queries, some)[0] for what, some in filters.items()}
    costs: dict[str, float] = {}
    with timed(costs, "build"):
        ensure_vector_indexes(dataset, 1)
    name = f"{size:,} vectors"
    bytes_each = 1e6 * (folder_megabytes(folder) - before) / size
    figures = [
        Figure(f"{name}: index built", costs["build"], "CPU s"),
        Figure(f"{name}: index", bytes_each, "bytes a vector"),
    ]
    for what, some in filters.items():
        found, times = _nearest(folder, queries, some)
        pairs = zip(exact[what], found, strict=True)
        recall = float(np.mean([len(a & b) / len(a) for a, b in pairs]))
        figures += [
            Figure(f"{name}{what}: recall@10", recall, "", ">= 0.95"),
            Figure(f"{name}{what}: median", statistics.median(times), "ms"),
            Figure(f"{name}{what}: 95th percentile", statistics.quantiles(times, n=20)[-1], "ms"),
        ]
    return figures


def _nearest(
    folder: Path, queries: Vectors, filters: Filters
) -> tuple[list[frozenset[str]], list[float]]:
    datasets = {"chunks": lance.dataset(str(folder / "chunks.lance"))}
    tables = LanceTables(folder, datasets, STORED, _MODEL, resident_rows=0)
    found, times = [], []
    for query in queries:
        start = time.perf_counter()
        (hits,) = tables.nearest(
            "chunks", query[None], model_id=_MODEL, k=_NEIGHBOURS, filters=filters
        )
        times.append(1000 * (time.perf_counter() - start))
        found.append(frozenset(hits["chunk_id"].to_pylist()))
    return found, times


def _schema() -> pa.Schema:
    names = [pa.field(name, pa.string()) for name in ("chunk_id", "repository")]
    return pa.schema([*names, vector_field(_MODEL, _DIMENSION)])


def _batches(size: int) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a table of chunks that a search for neighbours reads."""
    for start in range(0, size, _ROWS):
        vectors = unit_vectors(_ROWS, start, size // _PER_CENTRE).astype(np.float16)
        columns = {
            "chunk_id": [f"{start + row:08}" for row in range(_ROWS)],
            "repository": [f"r{row % _REPOSITORIES}" for row in range(_ROWS)],
            vector_column(_MODEL): pa.FixedSizeListArray.from_arrays(
                pa.array(vectors.ravel()), _DIMENSION
            ),
        }
        yield pa.RecordBatch.from_pydict(columns, schema=_schema())
