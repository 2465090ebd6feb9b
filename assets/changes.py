"""What differs between the new rows and the stored ones."""

from collections.abc import Iterator
from dataclasses import asdict

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.changes import DIFF_COLUMNS, ChangeCounts, count_changes, diff_rows
from resources.configuration import Configuration
from resources.progress import reporter
from resources.stages import Batches, Notes, Stream
from resources.store import LanceStore


@dg.asset(
    io_manager_key="stages",
    group_name="diff",
    kinds={"polars"},
    description="For each chunk and symbol of a file that changed: unchanged, moved, added, "
    "modified or deleted, told by content hashes.",
)
def changes(
    configuration: Configuration, files: Batches, chunks: Batches, symbols: Batches
) -> Stream:
    """Compare the new rows with the stored rows of the same files."""
    notes: Notes = {}
    news = {"chunks": chunks, "symbols": symbols}
    return Stream(compare_rows(configuration.open_store(), _touched(files), news, notes), notes)


def compare_rows(
    store: LanceStore, touched: pa.Table, news: dict[str, Batches], notes: Notes
) -> Iterator[pa.RecordBatch]:
    """Yield the changes of each table and count them."""
    reporter().stage("changes", unit="rows")
    for table, new in news.items():
        columns = list(DIFF_COLUMNS[table])
        found = diff_rows(table, new.table(columns), _stored(store, table, columns, touched))
        reporter().advance(found.num_rows)
        counts = count_changes(found).get(table, ChangeCounts())
        notes[table] = dg.MetadataValue.json(asdict(counts))
        yield from found.combine_chunks().to_batches()


def _touched(files: Batches) -> pa.Table:
    """Return repository and path of every file whose stored rows may have to go."""
    table = files.table(["repository", "path", "status"])
    return table.filter(pc.not_equal(table["status"], "unchanged")).drop_columns("status")


def _stored(store: LanceStore, table: str, columns: list[str], touched: pa.Table) -> pa.Table:
    names = pc.unique(touched["repository"]).to_pylist()
    rows = store.read(table, columns=columns, repositories=names)
    return rows.filter(pc.is_in(_file_keys(rows), _file_keys(touched).combine_chunks()))


def _file_keys(rows: pa.Table) -> pa.ChunkedArray:
    # No repository and no path holds a NUL, so two files never share a key.
    return pc.binary_join_element_wise(rows["repository"], rows["path"], "\0")
