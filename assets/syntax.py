"""The syntax of the files that changed."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.schemas import SKIP_REASONS
from resources.configuration import Configuration
from resources.engines import Engine
from resources.progress import reporter
from resources.stages import Batches, Notes, Stream, count_notes

_PARSED: Final = ("ok", "partial", "lines")


@dg.asset(
    io_manager_key="stages",
    group_name="parse",
    kinds={"treesitter"},
    description="Text, outline and definitions of every file that changed, parsed in worker "
    "processes with a deadline; secrets are masked here, before anything is kept.",
)
def syntax(configuration: Configuration, repositories: Batches, files: Batches) -> Stream:
    """Decode, mask and parse the files that are new or changed."""
    notes: Notes = {}
    return Stream(
        parse_files(repositories.table(), files, configuration.open_engine(), notes),
        notes,
    )


def parse_files(
    repositories: pa.Table, files: Batches, engine: Engine, notes: Notes
) -> Iterator[pa.RecordBatch]:
    """Yield the syntax rows of every file to be parsed and count their outcomes."""
    statuses, skipped, secrets = Counter[str](), Counter[str](), Counter[str]()
    reporter().stage("syntax", unit="files", total=files.count(status=("added", "modified")))
    for batch in engine.parse(repositories, files):
        statuses.update(batch.column("parse_status").to_pylist())
        skipped.update(batch.column("skip_reason").to_pylist())
        secrets.update(pc.list_flatten(batch.column("redactions")).to_pylist())
        reporter().advance(batch.num_rows)
        yield batch
    notes["secrets"] = dg.MetadataValue.json(dict(secrets))
    notes |= count_notes("", _PARSED, statuses)
    notes |= count_notes("skipped ", SKIP_REASONS, skipped)
