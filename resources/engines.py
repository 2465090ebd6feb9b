"""Where the heavy stages of a run are done: in processes of this machine, or on a cluster."""

from collections.abc import Callable, Iterator
from typing import Protocol

import pyarrow as pa

from codelake.embedding import Embedder
from codelake.settings import Settings
from resources.contents import read_contents
from resources.parser_pool import ParserPool
from resources.progress import reporter
from resources.stages import Batches

Stage = Callable[[pa.RecordBatch, Settings], pa.RecordBatch]
"""A pure stage: rows of the syntax table in, its own rows out."""


class Engine(Protocol):
    """Does the heavy stages; the rows are the same whoever does."""

    def parse(self, repositories: pa.Table, files: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the syntax rows of every file that is to be parsed, in the order of the files."""
        ...

    def cut(self, stage: Stage, syntax: Batches) -> Iterator[pa.RecordBatch]:
        """Yield what ``stage`` makes of the parsed files, in their order."""
        ...

    def embedder(self, embedder: Embedder) -> Embedder:
        """Return what embeds the texts of the run as ``embedder`` would."""
        ...


class LocalEngine:
    """Parse in worker processes, do everything else in this process.

    Args:
        settings: of the run.
    """

    def __init__(self, settings: Settings) -> None:
        """Take the settings; nothing is started yet."""
        self._settings = settings

    def parse(self, repositories: pa.Table, files: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the syntax rows of every file that is to be parsed."""
        with ParserPool(self._settings.run.workers, self._settings) as pool:
            yield from pool.map(read_contents(repositories, files, self._settings))

    def cut(self, stage: Stage, syntax: Batches) -> Iterator[pa.RecordBatch]:
        """Yield what ``stage`` makes of the parsed files."""
        for batch in syntax:
            yield stage(batch, self._settings)
            reporter().advance(batch.num_rows)

    def embedder(self, embedder: Embedder) -> Embedder:
        """Return ``embedder``, which uses the cores of this machine."""
        return embedder
