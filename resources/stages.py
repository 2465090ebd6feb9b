"""Stage tables: what one asset hands to the next, as Arrow files that are streamed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.schemas import TABLES, TableSpec

# Texts are a third of their size and as fast to read again.
_COMPRESSED: Final = pa.ipc.IpcWriteOptions(compression="lz4")

# Rows from which a batch is passed on by itself. Looking up the vectors and the wanted ids of a
# batch costs milliseconds whatever its size, 5,000 times with 5,000 small repositories.
_MERGED_ROWS: Final = 2048

Notes = dict[str, dg.MetadataValue[Any]]
"""What a stage tells of itself, by name."""


def count_notes(prefix: str, names: Iterable[str], counts: Mapping[str, int]) -> Notes:
    """Return a number for each of ``names``, zeros too: Dagster plots numbers over the nights."""
    return {f"{prefix}{name}": dg.MetadataValue.int(counts.get(name, 0)) for name in names}


@dataclass(frozen=True, slots=True)
class Batches:
    """A table that is read one record batch at a time, as often as wanted."""

    path: Path
    spec: TableSpec

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches in the order they were written."""
        return self.starting_with(0)

    def starting_with(self, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the batches from that number on, the first of all being 0."""
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            for index in range(number, reader.num_record_batches):
                yield reader.get_batch(index)

    def merged(self) -> Iterator[pa.RecordBatch]:
        """Yield the same rows in fewer batches: of many small repositories each has its own."""
        waiting: list[pa.RecordBatch] = []
        for batch in self:
            waiting.append(batch)
            if sum(part.num_rows for part in waiting) >= _MERGED_ROWS:
                yield pa.concat_batches(waiting)
                waiting = []
        if waiting:
            yield pa.concat_batches(waiting)

    @property
    def row_count(self) -> int:
        """Return the number of rows."""
        return sum(batch.num_rows for batch in self)

    def count(self, **values: tuple[str, ...]) -> int:
        """Return the number of rows whose columns have one of the given values."""
        found = 0
        for batch in self:
            masks = [pc.is_in(batch.column(n), pa.array(v)) for n, v in values.items()]
            found += pc.sum(reduce(pc.and_, masks)).as_py() or 0
        return found

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """Return the whole table, or some of its columns; it must fit into memory."""
        wanted = columns or self.spec.schema.names
        batches = [batch.select(wanted) for batch in self]
        schema = pa.schema([self.spec.schema.field(name) for name in wanted])
        return pa.Table.from_batches([b.cast(schema) for b in batches], schema=schema)


@dataclass(frozen=True, slots=True)
class Stream:
    """What a stage asset returns: batches still to be made, and what is known once they are.

    ``metadata`` may be filled in while the batches are made; the IO manager records it after.
    """

    batches: Iterable[pa.RecordBatch]
    metadata: Notes = field(default_factory=dict)


def write_batches(path: Path, spec: TableSpec, batches: Iterable[pa.RecordBatch]) -> int:
    """Write ``batches`` to ``path`` in one step and return the number of rows.

    Each batch is checked against ``spec``. A reader sees the old file or the new one.

    Raises:
        SchemaError: a batch is not of the table's shape.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    rows = 0
    with (
        pa.OSFile(str(partial), "wb") as file,
        pa.ipc.new_file(file, spec.schema, options=_COMPRESSED) as writer,
    ):
        for batch in batches:
            spec.check(batch)
            rows += batch.num_rows
            writer.write_batch(batch.replace_schema_metadata(spec.schema.metadata))
    partial.replace(path)
    return rows


class StageIOManager(dg.ConfigurableIOManager):
    """Keep each stage asset as ``<folder>/<asset>.arrow``."""

    folder: str

    def _batches(self, name: str) -> Batches:
        return Batches(Path(self.folder) / f"{name}.arrow", TABLES[name])

    def handle_output(self, context: dg.OutputContext, obj: Stream) -> None:
        """Write the batches of one asset and record rows, bytes and what the stage tells."""
        batches = self._batches(context.asset_key.path[-1])
        rows = write_batches(batches.path, batches.spec, obj.batches)
        size = batches.path.stat().st_size
        context.add_output_metadata({"dagster/row_count": rows, "bytes": size})
        context.add_output_metadata(obj.metadata)

    def load_input(self, context: dg.InputContext) -> Batches:
        """Return the upstream table without reading it."""
        return self._batches(context.asset_key.path[-1])
