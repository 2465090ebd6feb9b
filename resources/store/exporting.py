"""A table as a file: rows sorted by key, whole or not there at all."""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import lance
import pyarrow as pa
import pyarrow.parquet as pq

from codelake.errors import StoreError, UsageError
from codelake.schemas import TableSpec
from resources.store.errors import store_errors

Writer = Callable[[Iterator[pa.RecordBatch], pa.Schema, IO[bytes]], None]

_SLICE_ROWS: Final = 4096


def sorted_rows(dataset: lance.LanceDataset, spec: TableSpec) -> Iterator[pa.RecordBatch]:
    """Yield the rows sorted by key; only the keys are ever in memory together.

    Vectors are left out, those of ``embeddings`` excepted, which has little else.

    Raises:
        StoreError: the table cannot be read.
    """
    place = dataset.uri.rpartition("/")[0]
    with store_errors(place, f"read table {spec.name!r}"):
        keys = dataset.to_table(columns=list(spec.key))
    order = pa.compute.sort_indices(keys, [(name, "ascending") for name in spec.key])
    for start in range(0, len(order), _SLICE_ROWS):
        places = order.slice(start, _SLICE_ROWS)
        with store_errors(place, f"read table {spec.name!r}"):
            rows = dataset.take(places, columns=spec.schema.names).combine_chunks()
        yield from pa.Table.from_arrays(rows.columns, schema=spec.schema).to_batches()


def write_jsonl(batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: IO[bytes]) -> None:
    """Write one JSON object a line."""
    for batch in batches:
        for row in batch.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    del schema


def write_parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: IO[bytes]) -> None:
    """Write a Parquet file compressed with zstd."""
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


FORMATS: Final[Mapping[str, Writer]] = {"jsonl": write_jsonl, "parquet": write_parquet}


def known_spec(specs: Mapping[str, TableSpec], table: str) -> TableSpec:
    """Return the shape of ``table``.

    Raises:
        UsageError: there is no such table.
    """
    if table not in specs:
        message = f"unknown table {table!r}; choose from {', '.join(specs)}"
        raise UsageError(message)
    return specs[table]


def export_table(
    dataset: lance.LanceDataset, spec: TableSpec, form: str, target: Path | IO[bytes]
) -> None:
    """Write the rows of a table to a file or an open stream.

    Args:
        dataset: the table.
        spec: its shape.
        form: jsonl or parquet.
        target: a path gets the whole file or none; a stream what was written until an error.

    Raises:
        UsageError: the format is unknown.
        StoreError: the table cannot be read or the file not written.
    """
    write = FORMATS.get(form)
    if write is None:
        message = f"unknown format {form!r}; choose from {', '.join(FORMATS)}"
        raise UsageError(message)
    batches = sorted_rows(dataset, spec)
    if not isinstance(target, Path):
        write(batches, spec.schema, target)
        return
    with _opened(target) as file:
        write(batches, spec.schema, file)


@contextmanager
def _opened(target: Path) -> Iterator[IO[bytes]]:
    """Open ``target`` to be written whole or not at all; a pipe or a device as it is."""
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        place = Path(os.path.realpath(target))  # a link stays one
        partial = place.with_name(place.name + ".partial")
        try:
            with partial.open("wb") as file:
                yield file
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # a ValueError for a name that no file can have
        reason = getattr(error, "strerror", None) or error
        message = f"cannot write {str(target)!r}: {reason}; name a file in a folder that exists"
        raise StoreError(message) from error
