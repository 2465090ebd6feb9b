"""The definitions in the files that changed."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa

from codelake.symbols import symbols_batch
from resources.configuration import Configuration
from resources.engines import Engine
from resources.progress import reporter
from resources.stages import Batches, Stream


@dg.asset(
    io_manager_key="stages",
    group_name="parse",
    kinds={"arrow"},
    description="One record for every definition in a file that changed.",
)
def symbols(configuration: Configuration, syntax: Batches) -> Stream:
    """Turn the definitions of the parsed files into symbol records."""
    return Stream(_batches(syntax, configuration.open_engine()))


def _batches(syntax: Batches, engine: Engine) -> Iterator[pa.RecordBatch]:
    reporter().stage("symbols", unit="files", total=syntax.row_count)
    yield from engine.cut(symbols_batch, syntax)
