"""The chunks of the files that changed."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa

from codelake.chunking.batches import chunk_batch
from codelake.settings import Settings
from resources.configuration import Configuration
from resources.progress import reporter
from resources.stages import Batches, Stream


@dg.asset(
    io_manager_key="stages",
    group_name="parse",
    kinds={"arrow"},
    description="Chunks of every file that changed, cut by the configured chunker.",
)
def chunks(configuration: Configuration, syntax: Batches) -> Stream:
    """Cut the parsed files into chunks."""
    return Stream(_batches(syntax, configuration.load()))


def _batches(syntax: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    reporter().stage("chunks", unit="files", total=syntax.row_count)
    for batch in syntax:
        yield chunk_batch(batch, settings)
        reporter().advance(batch.num_rows)
