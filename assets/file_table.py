"""The ledger: which content of which file the stored rows stand for."""

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from resources.configuration import Configuration
from resources.progress import reporter
from resources.stages import Batches
from resources.store import given_spec

_FROM_SYNTAX = ("language", "is_test", "is_generated", "is_vendored", "is_documentation")


@dg.asset(
    group_name="store",
    kinds={"lancedb"},
    deps=["chunk_table", "symbol_table"],
    description="Lance table `files`: the ledger of indexed and skipped files. It is written "
    "after their rows, so that a run that was stopped does them again.",
)
def file_table(
    configuration: Configuration, files: Batches, syntax: Batches
) -> dg.MaterializeResult[None]:
    """Record the files whose rows are stored now, and forget those that are gone."""
    reporter().stage("file table", unit="files")
    listed = files.table([n for n in files.spec.schema.names if n != "content"])
    gone = listed.filter(pc.equal(listed["status"], "deleted"))
    kept = listed.filter(pc.is_in(listed["status"], pa.array(["added", "modified"])))
    ledger = settle(kept, syntax)
    done = configuration.open_store().replace_rows(
        "files",
        delete_ids=[(r["repository"], r["path"]) for r in gone.to_pylist()],
        batches=ledger.combine_chunks().to_batches(),
    )
    reporter().advance(done.written)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": configuration.open_store().summary()["files"],
            "written": done.written,
            "deleted": gone.num_rows,
        }
    )


def settle(listed: pa.Table, syntax: Batches) -> pa.Table:
    """Return the ledger rows of ``listed`` with what only parsing could tell of them."""
    spec = given_spec("files")
    parsed = {
        (row["repository"], row["path"]): row
        for batch in syntax
        for row in batch.select(_parsed_columns(spec.schema.names, batch.schema.names)).to_pylist()
    }
    rows = [
        {**row, **parsed.get((row["repository"], row["path"]), {})} for row in listed.to_pylist()
    ]
    return spec.table({name: row[name] for name in spec.schema.names} for row in rows)


def _parsed_columns(ledger: list[str], syntax: list[str]) -> list[str]:
    return [name for name in ledger if name in syntax]
