"""What the parts of a night cost, by megabyte of code and by thousand rows or texts."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bench.figures import Figure
from bench.measure import folder_megabytes, timed
from bench.store import embeddings
from bench.trees import Source
from bench.vectors import unit_vectors
from codelake.chunking.batches import chunk_batch
from codelake.classify import path_flags
from codelake.schemas import CHUNKS, FILES, SYMBOLS, SYNTAX, TableSpec
from codelake.settings import Settings
from codelake.symbols import symbols_batch
from codelake.syntax import syntax_batch
from resources.cluster.streaming import packed, unpacked
from resources.embedders.minilm import MiniLMEmbedder
from resources.embedders.static import StaticEmbedder
from resources.stages import write_batches
from resources.store import LanceStore

_MEGABYTES: Final = 6  # of code that is enough
_BATCH_FILES: Final = 256
_EMBEDDED: Final = 512  # texts
_SLICE: Final = 1024  # vectors kept at once
_MODEL: Final = "random/384"
_DIMENSION: Final = 384

Batches = list[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """CPU seconds and sizes of the parts of a night.

    Args:
        parse: CPU seconds a megabyte of code, on whichever processor.
        parse_driver: what of it one process does where a cluster does the rest.
        cut: CPU seconds a megabyte, chunks and symbols.
        cut_driver: what of it one process does.
        embed: CPU seconds a thousand texts with the default model.
        embed_static: CPU seconds a thousand texts with the fast one.
        keep: CPU seconds to keep a thousand vectors.
        write: CPU seconds to store a thousand rows.
        words: CPU seconds to index the words of a thousand rows.
        fill: CPU seconds to put the vectors into a thousand rows.
        vector_index: CPU seconds to index the vectors of a thousand rows.
        chunks_megabyte: chunks of a megabyte of code.
        symbols_megabyte: symbols of a megabyte of code.
        lines_megabyte: lines of a megabyte of code.
        texts_row: different texts a row.
        bytes_row: bytes of all tables a row.
    """

    parse: float
    parse_driver: float
    cut: float
    cut_driver: float
    embed: float
    embed_static: float
    keep: float
    write: float
    words: float
    fill: float
    vector_index: float
    chunks_megabyte: float
    symbols_megabyte: float
    lines_megabyte: float
    texts_row: float
    bytes_row: float

    def figures(self) -> list[Figure]:
        """Return each as a figure."""
        return [Figure(f.name.replace("_", " "), getattr(self, f.name)) for f in fields(self)]


def measure_units(sources: list[Source]) -> UnitCosts:
    """Take some of ``sources`` through the stages in this process and return what each cost."""
    costs: dict[str, float] = {}
    files = list(_files(sources))
    megabytes = sum(pc.sum(batch.column("size")).as_py() for batch in files) / 1e6
    contents = [content for batch in files for content in batch.column("content").to_pylist()]
    lines = sum(content.count(b"\n") for content in contents)
    with tempfile.TemporaryDirectory(prefix="codelake-units-") as name:
        folder = Path(name)
        chunks, symbols = _cut(files, folder, costs)
        counts = [sum(batch.num_rows for batch in rows) for rows in (chunks, symbols)]
        texts = _stored(chunks, symbols, folder, costs)
        size = folder_megabytes(folder / "store")
    rows = sum(counts)
    return UnitCosts(
        **{name: costs[name] / megabytes for name in ("parse", "parse_driver")},
        **{name: costs[name] / megabytes for name in ("cut", "cut_driver")},
        embed=1000 * costs["embed"] / _EMBEDDED,
        embed_static=1000 * costs["embed_static"] / _EMBEDDED,
        keep=1000 * costs["keep"] / texts,
        **{n: 1000 * costs[n] / rows for n in ("write", "words", "fill", "vector_index")},
        chunks_megabyte=counts[0] / megabytes,
        symbols_megabyte=counts[1] / megabytes,
        lines_megabyte=lines / megabytes,
        texts_row=texts / rows,
        bytes_row=1e6 * size / rows,
    )


def _cut(files: Batches, folder: Path, costs: dict[str, float]) -> tuple[Batches, Batches]:
    settings = Settings()
    with timed(costs, "parse"):
        syntax = [syntax_batch(batch, settings) for batch in files]
    with timed(costs, "cut"):
        chunks = [chunk_batch(batch, settings) for batch in syntax]
        symbols = [symbols_batch(batch, settings) for batch in syntax]
    costs["parse_driver"] = _collected(folder, SYNTAX, syntax)
    costs["cut_driver"] = sum(
        _collected(folder, spec, rows) for spec, rows in ((CHUNKS, chunks), (SYMBOLS, symbols))
    )
    return chunks, symbols


def _collected(folder: Path, spec: TableSpec, batches: Batches) -> float:
    """Return what it costs to take answers of a cluster and write them as a stage table."""
    answers = [packed(batch) for batch in batches]
    costs: dict[str, float] = {}
    with timed(costs, "all"):
        write_batches(folder / f"{spec.name}.arrow", spec, unpacked(answers))
    return costs["all"]


def _stored(chunks: Batches, symbols: Batches, folder: Path, costs: dict[str, float]) -> int:
    store = LanceStore(folder / "store")
    with store.writing():
        with timed(costs, "write"):
            store.replace_rows("chunks", batches=chunks)
            store.replace_rows("symbols", batches=symbols)
        with timed(costs, "words"):
            store.index_new_rows()
        store.use_model(_MODEL, _DIMENSION)
        pending = list(store.pending(_MODEL))
        some = [text for _, text in pending[:: max(1, len(pending) // _EMBEDDED)]][:_EMBEDDED]
        for name, embedder in (("embed", MiniLMEmbedder()), ("embed_static", StaticEmbedder())):
            embedder.embed_queries(["load the model before anything is measured"])
            with timed(costs, name):
                embedder.embed_documents(some)
        with timed(costs, "keep"):
            for start in range(0, len(pending), _SLICE):
                hashes = [text_hash for text_hash, _ in pending[start : start + _SLICE]]
                vectors = unit_vectors(len(hashes), seed=start)
                store.append_embeddings(embeddings(hashes, vectors))
        with timed(costs, "fill"):
            for table in ("chunks", "symbols"):
                store.fill_vectors(table, _MODEL)
            store.complete_model(_MODEL)
        with timed(costs, "vector_index"):
            store.optimize(retention=timedelta(0), vector_rows=1)
    return len(pending)


def _files(sources: list[Source]) -> Iterator[pa.RecordBatch]:
    step = max(1, int(sum(len(s.content) for s in sources) / (_MEGABYTES * 1e6)))
    some = sources[::step]
    for start in range(0, len(some), _BATCH_FILES):
        rows = [_row(source) for source in some[start : start + _BATCH_FILES]]
        yield from FILES.table(rows).combine_chunks().to_batches()


def _row(source: Source) -> dict[str, object]:
    flags = path_flags(source.path)
    return {
        "repository": source.origin,
        "path": source.path,
        "blob_id": "",
        "size": len(source.content),
        "language": source.language,
        "is_test": flags.is_test,
        "is_generated": flags.is_generated,
        "is_vendored": flags.is_vendored,
        "is_documentation": flags.is_documentation,
        "skip_reason": "",
        "fingerprint": "",
        "status": "added",
        "content": source.content,
    }
