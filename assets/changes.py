"""What differs between the new rows and the stored ones."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.changes import DIFF_COLUMNS, ChangeCounts, count_changes, diff_rows
from resources.configuration import Configuration
from resources.progress import reporter
from resources.stages import Batches, Notes, Stream, count_notes
from resources.store import LanceStore

_COUNTS: Final = [field.name for field in fields(ChangeCounts)]
_GROUP_FILES: Final = 4000  # about 50,000 rows: 100 MB while they are compared

_LOOKED_UP: Final = 500  # paths that are looked up one by one; of more, repositories are read whole


@dg.asset(
    io_manager_key="stages",
    group_name="diff",
    kinds={"arrow"},
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
    """Yield the changes of each table, some repositories at a time, and count them."""
    reporter().stage("changes", unit="rows")
    groups = list(_groups(touched))
    for table, new in news.items():
        columns, counts = list(DIFF_COLUMNS[table]), Counter[str]()
        fresh = _fresh_rows(new, columns, groups)
        for group, rows in zip(groups, fresh, strict=True):
            found = diff_rows(table, rows, _stored(store, table, columns, group))
            reporter().advance(found.num_rows)
            counts.update(asdict(count_changes(found).get(table, ChangeCounts())))
            yield from found.combine_chunks().to_batches()
        notes |= count_notes(f"{table} ", _COUNTS, counts)


def _groups(touched: pa.Table) -> Iterator[pa.Table]:
    """Split the touched files so that a group holds whole repositories and fits in memory."""
    counts = pc.value_counts(touched["repository"]).to_pylist()
    start = rows = 0
    for count in (item["counts"] for item in counts):
        if rows and rows + count > _GROUP_FILES:
            yield touched.slice(start, rows)
            start, rows = start + rows, 0
        rows += count
    if rows:
        yield touched.slice(start, rows)


def _fresh_rows(new: Batches, columns: list[str], groups: list[pa.Table]) -> Iterator[pa.Table]:
    """Yield the new rows of each group; rows come in the order of the files, as groups do."""
    schema = pa.schema([new.spec.schema.field(name) for name in columns])
    batches = (batch.select(columns) for batch in new if batch.num_rows)
    waiting = next(batches, None)
    for group in groups:
        names, taken = set(pc.unique(group["repository"]).to_pylist()), []
        while waiting is not None and waiting.column("repository")[0].as_py() in names:
            taken.append(waiting.cast(schema))
            waiting = next(batches, None)
        yield pa.Table.from_batches(taken, schema=schema)


def _touched(files: Batches) -> pa.Table:
    """Return repository and path of every file whose stored rows may have to go."""
    table = files.table(["repository", "path", "status"])
    return table.filter(pc.not_equal(table["status"], "unchanged")).drop_columns("status")


def _stored(store: LanceStore, table: str, columns: list[str], touched: pa.Table) -> pa.Table:
    names, paths = (pc.unique(touched[name]).to_pylist() for name in ("repository", "path"))
    few = paths if len(paths) <= _LOOKED_UP else None  # else all of a large repository is read
    rows = store.read(table, columns=columns, repositories=names, paths=few)
    return rows.filter(pc.is_in(_file_keys(rows), _file_keys(touched).combine_chunks()))


def _file_keys(rows: pa.Table) -> pa.ChunkedArray:
    # No repository and no path holds a NUL, so two files never share a key.
    return pc.binary_join_element_wise(rows["repository"], rows["path"], "\0")
