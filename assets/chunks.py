"""The chunks of the files that changed."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa

from codelake.chunking.batches import chunk_batch
from resources.configuration import Configuration
from resources.engines import Engine
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
    return Stream(_batches(syntax, configuration.open_engine()))


def _batches(syntax: Batches, engine: Engine) -> Iterator[pa.RecordBatch]:
    reporter().stage("chunks", unit="files", total=syntax.row_count)
    yield from engine.cut(chunk_batch, syntax)
