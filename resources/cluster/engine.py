"""The heavy stages of a run, sent to a cluster."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from codelake import __version__
from codelake.embedding import Embedder
from codelake.errors import ClusterError
from codelake.settings import Settings
from codelake.versions import rows_fingerprint
from resources.cluster.connecting import Connection
from resources.cluster.embedding import ClusterEmbedder
from resources.cluster.parsing import ParseFiles, ReadFiles, settle
from resources.cluster.pieces import Piece, ReadRows, cut
from resources.cluster.streaming import Work, stream
from resources.contents import to_parse
from resources.engines import Stage
from resources.progress import reporter
from resources.stages import Batches

_PIECE_FILES: Final = 256
_PIECE_BYTES: Final = 4_000_000  # a second of parsing: little to do again when a node is lost


class ClusterEngine:
    """Parse, cut and embed on a cluster; the rows are those of one machine.

    Args:
        settings: of the run.
        connection: to the cluster, opened when there is something to do.
        folder: of the stage tables.
    """

    def __init__(self, settings: Settings, connection: Connection, folder: Path) -> None:
        """Take the settings; nothing is connected yet."""
        self._settings, self._connection, self._folder = settings, connection, folder
        self._run = uuid4().hex

    def parse(self, repositories: pa.Table, files: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the syntax rows of every file that is to be parsed."""
        sizes = (to_parse(batch).column("size").to_pylist() for batch in files)
        pieces = list(cut(sizes, most_rows=_PIECE_FILES, most_bytes=_PIECE_BYTES))
        reader = ReadFiles(repositories, files, self._settings, self._run)
        work = self._same(ParseFiles(self._settings, self._run))
        return settle(self._answers(pieces, reader, work), reader)

    def cut(self, stage: Stage, syntax: Batches) -> Iterator[pa.RecordBatch]:
        """Yield what ``stage`` makes of the parsed files."""
        sizes = (pc.binary_length(batch.column("text")).to_pylist() for batch in syntax)
        pieces = list(cut(sizes, most_rows=_PIECE_FILES, most_bytes=_PIECE_BYTES))
        work = self._same(CutFiles(stage, self._settings))
        for piece, batches in self._answers(pieces, ReadRows(syntax), work):
            reporter().advance(piece.rows)
            yield from batches

    def embedder(self, embedder: Embedder) -> Embedder:
        """Return ``embedder`` on the cluster, or itself where a service does the work."""
        if embedder.is_remote:
            return embedder
        return ClusterEmbedder(embedder, self._settings.embedding, self._connection, self._folder)

    def _same(self, work: Work) -> Work:
        return OfSameVersion(work, self._settings, _code(self._settings))

    def _answers(
        self, pieces: list[Piece], read: ReadFiles | ReadRows, work: Work
    ) -> Iterator[tuple[Piece, list[pa.RecordBatch]]]:
        if pieces:
            node = self._connection.open()
            yield from zip(pieces, stream(pieces, read, work, node), strict=True)


@dataclass(frozen=True, slots=True)
class CutFiles:
    """Makes the rows of a stage."""

    stage: Stage
    settings: Settings

    def __call__(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Return the rows of each batch."""
        return [self.stage(batch, self.settings) for batch in batches]


@dataclass(frozen=True, slots=True)
class OfSameVersion:
    """Does some work where codelake is the one that started the run, and nowhere else."""

    work: Work
    settings: Settings
    code: str

    def __call__(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Do it.

        Raises:
            ClusterError: another version is installed here; its rows may differ.
        """
        if _code(self.settings) != self.code:
            message = f"a node has codelake {__version__}, of other rows: install the same on all"
            raise ClusterError(message)
        return self.work(batches)


def _code(settings: Settings) -> str:
    return f"{__version__} {rows_fingerprint(settings)}"
