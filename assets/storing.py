"""How the rows of a stage reach their stored table."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.changes import deleted_ids, written_ids
from resources.configuration import Configuration
from resources.progress import reporter
from resources.stages import Batches


def store_rows(
    table: str, row_id: str, configuration: Configuration, rows: Batches, changes: Batches
) -> dg.MaterializeResult[None]:
    """Write the added, modified and moved rows of ``table`` and delete the vanished ones.

    Both happen in one commit: a reader sees the state before or the state after.
    """
    mine = changes.table().filter(pc.equal(changes.table(["table"])["table"], table))
    kinds = mine["change"]
    wanted = written_ids(mine)
    gone = deleted_ids(mine)
    reporter().stage(f"store {table}", unit="rows", total=len(wanted))
    done = configuration.open_store().replace_rows(
        table,
        delete_ids=gone,
        batches=_selected(rows, row_id, wanted),
    )
    counted = {v["values"]: v["counts"] for v in pc.value_counts(kinds).to_pylist()}
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": configuration.open_store().summary()[table],
            "written": done.written,
            "deleted": len(gone),
            "changes": dg.MetadataValue.json(counted),
        }
    )


def _selected(rows: Batches, row_id: str, ids: pa.Array) -> Iterator[pa.RecordBatch]:
    if not len(ids):
        return
    for batch in rows:
        chosen = batch.filter(pc.is_in(batch.column(row_id), ids))
        if chosen.num_rows:
            reporter().advance(chosen.num_rows)
            yield chosen
