"""How the rows of a stage reach their stored table, and the tables their readers."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.changes import deleted_ids, written_ids
from codelake.schemas import REPOSITORIES
from resources.configuration import Configuration
from resources.progress import reporter
from resources.stages import Batches, count_notes
from resources.store import LanceStore, given_spec

_CHANGES: Final = ("unchanged", "moved", "added", "modified", "deleted")

STATE_TAG: Final = "codelake/state"
"""The tag of a run with the name that its state is published under, in place of the last one."""


def state_name(run: dg.DagsterRun) -> str:
    """Return under which name the tables are published after ``run``: a night has its own."""
    return run.tags.get(STATE_TAG, run.run_id)


def unsettle(store: LanceStore, repositories: Batches, files: Batches) -> None:
    """Say in the ledger which files and repositories are about to get other rows.

    Without a fingerprint they are looked at anew by the next run. It would not do to leave the
    ledger alone until the rows are stored: a file that was stored by a run that was killed, and
    is gone or is what it was before by the next night, would seem to be in order.
    """
    table = repositories.table()
    changed = table.filter(pc.is_in(table["status"], pa.array(["changed", "removed"])))
    columns = REPOSITORIES.schema.names
    store.replace_rows(
        "repositories",
        batches=(_without_fingerprint(b, columns) for b in changed.combine_chunks().to_batches()),
    )
    names = given_spec("files").schema.names
    touched = (b.filter(pc.not_equal(b.column("status"), "unchanged")) for b in files.merged())
    store.replace_rows(
        "files", batches=(_without_fingerprint(b, names) for b in touched if b.num_rows)
    )


def _without_fingerprint(rows: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    rows = rows.select(names)
    place = rows.schema.get_field_index("fingerprint")
    blank = pa.array([""] * rows.num_rows, pa.string())
    return rows.set_column(place, rows.schema.field(place), blank)


def store_rows(
    table: str, row_id: str, configuration: Configuration, rows: Batches, changes: Batches
) -> dg.MaterializeResult[None]:
    """Write the added, modified and moved rows of ``table`` and delete the vanished ones.

    Both happen in one commit: a reader sees the state before or the state after.
    """
    mine = changes.table().filter(pc.equal(changes.table(["table"])["table"], table))
    wanted = written_ids(mine)
    gone = deleted_ids(mine)
    reporter().stage(f"store {table}", unit="rows", total=len(wanted))
    done = configuration.open_store().replace_rows(
        table,
        delete_ids=gone,
        batches=_selected(rows, row_id, wanted),
    )
    counted = Counter(mine["change"].to_pylist())
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": configuration.open_store().summary()[table],
            "written": done.written,
            **count_notes("", _CHANGES, counted),
        }
    )


def _selected(rows: Batches, row_id: str, ids: pa.Array) -> Iterator[pa.RecordBatch]:
    if not len(ids):
        return
    for batch in rows.merged():
        chosen = batch.filter(pc.is_in(batch.column(row_id), ids))
        if chosen.num_rows:
            reporter().advance(chosen.num_rows)
            yield chosen
