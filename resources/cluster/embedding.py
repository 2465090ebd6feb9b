"""Embedding on a cluster: a local model runs on every node, what it says is checked here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from codelake.embedding import Closable, Embedded, Embedder, Part, Usage
from codelake.errors import ClusterError
from codelake.schemas import TableSpec, column
from codelake.settings import EmbeddingSettings
from resources.cluster.connecting import Connection
from resources.cluster.pieces import ReadRows, cut
from resources.cluster.streaming import stream
from resources.embedders import open_embedder
from resources.stages import Batches, write_batches

_PIECE_TEXTS: Final = 128  # two seconds of the local model: little to do again, little to wait for
_PIECE_BYTES: Final = 4_000_000
_BATCH_TEXTS: Final = 1024
# Texts sent before their vectors are stored: their hashes take 25 MB here, their vectors an hour
# of one processor.
_WINDOW_TEXTS: Final = 200_000

_TEXTS: Final = TableSpec("texts", 1, (), (column("text", pa.string(), "what is embedded"),))
_COUNTS: Final = ("texts", "tokens", "requests", "retries", "truncated")

# The embedder of this process by its settings: a model is loaded once.
_OPEN: Final[dict[str, Embedder]] = {}


class ClusterEmbedder:
    """An embedder whose documents are embedded on the nodes of a cluster, questions here.

    Args:
        embedder: the same one on this machine.
        settings: opens it on the nodes.
        connection: to the cluster.
        folder: where texts lie while they wait; masked, as the tables have them.
    """

    is_remote: bool = False

    def __init__(
        self, embedder: Embedder, settings: EmbeddingSettings, connection: Connection, folder: Path
    ) -> None:
        """Take the names from the local one."""
        self._embedder, self._settings = embedder, settings
        self._connection, self._folder = connection, folder
        self.model_id, self.dimension = embedder.model_id, embedder.dimension
        self.max_tokens = embedder.max_tokens

    @property
    def usage(self) -> Usage:
        """What was done so far, here and on the nodes."""
        return self._embedder.usage

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed some texts here: sending them would take longer."""
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for, here."""
        return self._embedder.embed_queries(texts)

    def embed_parts(self, texts: Iterable[str]) -> Iterator[Part]:
        """Embed texts as they come, on the nodes."""
        texts, start = iter(texts), 0
        waiting = Batches(self._folder / "texts.arrow", _TEXTS)
        work = EmbedTexts(self._settings.model_copy(update={"threads": 1}), self.model_id)
        try:
            while rows := write_batches(
                waiting.path, _TEXTS, _batches(islice(texts, _WINDOW_TEXTS))
            ):
                sizes = (_sizes(batch) for batch in waiting)
                pieces = list(cut(sizes, most_rows=_PIECE_TEXTS, most_bytes=_PIECE_BYTES))
                answers = stream(pieces, ReadRows(waiting), work, self._connection.open())
                for piece, (answer,) in zip(pieces, answers, strict=True):
                    first = start + piece.number
                    yield Part(range(first, first + piece.rows), self._embedded(answer))
                start += rows
        finally:
            waiting.path.unlink(missing_ok=True)

    def _embedded(self, answer: pa.RecordBatch) -> Embedded:
        usage = self._embedder.usage
        for name in _COUNTS:
            spent = int(answer.schema.metadata[name.encode()])
            setattr(usage, name, getattr(usage, name) + spent)
        flat = answer.column("vector").flatten().to_numpy()
        failures = enumerate(answer.column("failure").to_pylist())
        cut_off = np.flatnonzero(answer.column("is_truncated").to_numpy(zero_copy_only=False))
        return Embedded(
            flat.reshape(answer.num_rows, self.dimension),
            {row: reason for row, reason in failures if reason},
            tuple(cut_off.tolist()),
        )

    def close(self) -> None:
        """Close the connections of the local one."""
        if isinstance(self._embedder, Closable):
            self._embedder.close()


@dataclass(frozen=True, slots=True)
class EmbedTexts:
    """Embeds texts with the model of the run."""

    settings: EmbeddingSettings
    model_id: str

    def __call__(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Return a row for each text, and what it cost in the metadata of the schema.

        Raises:
            ClusterError: the node has another model.
        """
        name = self.settings.model_dump_json()
        embedder = _OPEN.get(name) or _OPEN.setdefault(name, open_embedder(self.settings))
        if embedder.model_id != self.model_id:
            message = (
                f"a node embeds with {embedder.model_id!r}, this run with {self.model_id!r}: "
                "install the same codelake and the same models on every node"
            )
            raise ClusterError(message)
        before = replace(embedder.usage)
        texts = [text for batch in batches for text in batch.column("text").to_pylist()]
        embedded = embedder.embed_documents(texts)
        spent = {n: str(getattr(embedder.usage, n) - getattr(before, n)) for n in _COUNTS}
        vectors = pa.array(np.ascontiguousarray(embedded.vectors, np.float32).ravel())
        is_truncated = np.zeros(len(texts), np.bool_)
        is_truncated[list(embedded.truncated)] = True
        columns = {
            "vector": pa.FixedSizeListArray.from_arrays(vectors, embedder.dimension),
            "failure": pa.array([embedded.failures.get(row, "") for row in range(len(texts))]),
            "is_truncated": pa.array(is_truncated),
        }
        answer = pa.RecordBatch.from_pydict(columns)
        return [answer.replace_schema_metadata(spent)]


def _batches(texts: Iterator[str]) -> Iterator[pa.RecordBatch]:
    while some := list(islice(texts, _BATCH_TEXTS)):
        yield pa.RecordBatch.from_pydict({"text": pa.array(some, pa.string())}, _TEXTS.schema)


def _sizes(batch: pa.RecordBatch) -> list[int]:
    sizes: list[int] = pa.compute.binary_length(batch.column("text")).to_pylist()
    return sizes
