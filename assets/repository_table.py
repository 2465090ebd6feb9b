"""Which commit of each repository the store stands for."""

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.repositories import Repository
from codelake.schemas import REPOSITORIES
from resources.configuration import Configuration
from resources.stages import Batches

_WRITTEN = pa.array(["changed", "unchanged", "failed", "skipped"])
_UNLISTED = "its files could not be read; the log of the run tells why"


@dg.asset(
    group_name="store",
    kinds={"lancedb"},
    deps=["file_table"],
    description="Lance table `repositories`: commit, settings and outcome of each repository. "
    "Written last: an unchanged commit tells the next run that there is nothing to do.",
)
def repository_table(
    configuration: Configuration, repositories: Batches
) -> dg.MaterializeResult[None]:
    """Record the repositories of this run and forget the removed ones."""
    table, store = repositories.table(), configuration.open_store()
    gone = table.filter(pc.equal(table["status"], "removed"))["repository"]
    changed = table.filter(pc.equal(table["status"], "changed"))["repository"].to_pylist()
    # The ledger, since a file may turn out to be unreadable only when it is parsed.
    ledger = store.read(
        "files", columns=["repository", "path", "skip_reason"], repositories=changed
    )
    rows = settle(
        table.filter(pc.is_in(table["status"], _WRITTEN)),
        ledger,
        is_live=configuration.load().sources.untracked,
    )
    done = store.replace_rows(
        "repositories", delete_ids=gone.combine_chunks(), batches=rows.combine_chunks().to_batches()
    )
    return dg.MaterializeResult(
        metadata={"dagster/row_count": done.written, "removed": gone.to_pylist()}
    )


def settle(repositories: pa.Table, ledger: pa.Table, *, is_live: bool) -> pa.Table:
    """Return the rows with the outcome of reading: what could not be read is tried again.

    A row without a fingerprint never equals the next run's, so that run reads it anew. One that
    was read from disk has none either: its commit does not tell what the rows stand for.
    """
    unreadable = ledger.filter(pc.equal(ledger["skip_reason"], "unreadable")).to_pylist()
    partial = {row["repository"] for row in unreadable}
    unlisted = {row["repository"] for row in unreadable if not row["path"]}
    rows = repositories.to_pylist()
    for row in rows:
        if row["status"] in {"changed", "unchanged"}:
            row["status"] = "indexed"
        is_on_disk = Repository.from_row(row).is_on_disk(is_live=is_live)
        if row["repository"] in partial or is_on_disk:
            row["fingerprint"] = ""
        if row["repository"] in unlisted:
            row |= {"status": "failed", "reason": _UNLISTED}
    return REPOSITORIES.table(rows)
