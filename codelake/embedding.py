"""From texts to vectors: the embedder's protocol, batches by tokens, and slices to store.

An embedder is anything with the shape of :class:`Embedder`. :func:`embed_texts` drives it over a
stream of texts and yields slices that can be stored one by one, so that a run that is stopped
keeps what it has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from codelake.errors import EmbeddingError
from codelake.schemas import EMBEDDINGS

# Texts a slice holds at least. A slice is one write of the store, and each write makes a version
# and a fragment: 1,024 texts are half a minute of the local model. A faster one may fill more.
SLICE_TEXTS: Final = 1024
_MOST_SLICES: Final = 8

BLANK: Final = "blank text"
_ZERO: Final = "all zero: the vector has no direction"
_INFINITE: Final = "not finite: the vector has NaN or infinity"


@dataclass(frozen=True, slots=True)
class Embedded:
    """The answer to some texts, one row a text, in their order.

    Args:
        vectors: unit rows; the rows in ``failures`` are zeros.
        failures: why a row has no vector, by row.
        truncated: rows whose text was longer than the model reads, ascending.
    """

    vectors: NDArray[np.float32]
    failures: Mapping[int, str] = field(default_factory=dict)
    truncated: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """The answer to the texts at ``positions`` of a stream."""

    positions: Sequence[int]
    embedded: Embedded


@dataclass(slots=True)
class Usage:
    """What an embedder has done since it was opened.

    Args:
        texts: texts sent, a text sent again counted again.
        tokens: tokens the model read, as the provider counts them if it says so.
        requests: requests sent, retries included.
        retries: requests that were sent again after a fault.
        lost: texts given up after faults that pass; a later run may get their vectors.
        truncated: texts that were longer than the model reads.
        cost: US dollars by the price list of docs/embedders.md.
    """

    texts: int = 0
    tokens: int = 0
    requests: int = 0
    retries: int = 0
    lost: int = 0
    truncated: int = 0
    cost: float = 0.0


class Embedder(Protocol):
    """What turns texts into unit vectors of one space."""

    @property
    def model_id(self) -> str:
        """Name the space: model, revision and every setting that changes a vector."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that are read; the rest is cut off."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether texts leave this machine."""
        ...

    @property
    def usage(self) -> Usage:
        """What was done so far."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for."""
        ...


@runtime_checkable
class StreamingEmbedder(Protocol):
    """An embedder that answers part by part, so that little is lost when it is stopped."""

    def embed_parts(self, texts: Iterable[str]) -> Iterator[Part]:
        """Embed documents as they come, no text blank; parts may finish in any order.

        Raises:
            EmbeddingError: the embedder cannot go on; parts yielded before are good.
        """
        ...


@runtime_checkable
class CuttingEmbedder(Protocol):
    """An embedder that tells what it reads of a text: the rest does not change the vector."""

    def reading_hashes(self, texts: Sequence[str]) -> list[str]:
        """Return a hash of what is read of each text; where they are equal, vectors are."""
        ...


@runtime_checkable
class WeighedEmbedder(Protocol):
    """An embedder that tells what its vectors are worth beside words."""

    @property
    def dense_weight(self) -> float:
        """Share of the vector score in hybrid search where the settings leave it open."""
        ...


@runtime_checkable
class Closable(Protocol):
    """An embedder that has connections."""

    def close(self) -> None:
        """Close them; a later text opens new ones."""
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingSlice:
    """Some finished texts.

    Args:
        table: rows of ``EMBEDDINGS`` ready to be appended.
        failures: why a text has no vector, by text hash.
        truncated: text hashes of texts that were longer than the model reads.
    """

    table: pa.Table
    failures: Mapping[str, str]
    truncated: tuple[str, ...]


def embed_texts(
    texts: Iterable[tuple[str, str]],
    embedder: Embedder,
    *,
    slice_texts: int = SLICE_TEXTS,
    slice_seconds: float = 0.0,
    clock: Callable[[], float] = float,
    progress: Callable[[int], None] | None = None,
) -> Iterator[EmbeddingSlice]:
    """Embed a stream of texts and yield what is finished, slice by slice.

    Every text ends in exactly one slice, with a vector or among its failures. Blank texts are
    failures and never reach the embedder.

    Args:
        texts: pairs of text hash and text; hashes are distinct. Read as far as needed.
        embedder: what makes the vectors.
        slice_texts: texts a slice holds before it is yielded; an embedder whose texts leave the
            machine yields each part at once, since it was paid for.
        slice_seconds: how long a slice that has these may wait for up to eight times as many.
        clock: seconds; needed where a slice may wait.
        progress: called with the number of texts just finished.

    Raises:
        EmbeddingError: the embedder cannot go on; what was finished is yielded before.
    """
    waiting: dict[int, str] = {}
    slices = _SliceBuilder(embedder.model_id)
    least, most = (1, 1) if embedder.is_remote else (slice_texts, _MOST_SLICES * slice_texts)
    due = clock() + slice_seconds
    parts = _parts(embedder, _watch(texts, waiting, slices), slice_texts)
    problem: EmbeddingError | None = None
    while True:
        try:
            part = next(parts)
        except StopIteration:
            break
        except EmbeddingError as error:
            problem = error
            break
        slices.add([waiting.pop(p) for p in part.positions], part.embedded)
        if progress is not None:
            progress(len(part.positions))
        if slices.count >= most or (slices.count >= least and clock() >= due):
            yield slices.take()
            due = clock() + slice_seconds
    if slices.count:
        yield slices.take()
    if problem is not None:
        raise problem


def gather(
    texts: Sequence[str], embed_parts: Callable[[Iterable[str]], Iterator[Part]], dimension: int
) -> Embedded:
    """Embed ``texts`` through ``embed_parts`` and put the parts in order; blank texts fail."""
    rows = [row for row, text in enumerate(texts) if text.strip()]
    vectors = np.zeros((len(texts), dimension), dtype=np.float32)
    failures = {row: BLANK for row, text in enumerate(texts) if not text.strip()}
    truncated: list[int] = []
    for part in embed_parts(texts[row] for row in rows):
        places = [rows[position] for position in part.positions]
        vectors[places] = part.embedded.vectors
        failures |= {places[row]: why for row, why in part.embedded.failures.items()}
        truncated += [places[row] for row in part.embedded.truncated]
    return Embedded(vectors, failures, tuple(sorted(truncated)))


def unit_vectors(
    raw: Sequence[Sequence[float] | NDArray[np.float32]] | NDArray[np.float32], dimension: int
) -> Embedded:
    """Scale vectors to length one and refuse those that are none.

    Refused are vectors with another number of numbers than ``dimension``, with one that is not
    finite, or of length zero: a store would take them and a search would find nonsense.
    """
    vectors = np.zeros((len(raw), dimension), dtype=np.float32)
    failures: dict[int, str] = {}
    fitting = np.arange(len(raw))
    if not (isinstance(raw, np.ndarray) and raw.shape[1:] == (dimension,)):
        rows = [np.asarray(values) for values in raw]
        does_fit = np.array([row.shape == (dimension,) for row in rows], dtype=np.bool_)
        for row in np.flatnonzero(~does_fit).tolist():
            size = rows[row].size
            failures[row] = f"wrong dimension: {size} numbers instead of {dimension}"
        fitting = np.flatnonzero(does_fit)
        raw = [rows[row] for row in fitting.tolist()]
    # float64: the square of a large but finite float32 is not finite
    numbers = np.array(raw, dtype=np.float64).reshape(len(fitting), dimension)
    lengths = np.sqrt(np.einsum("ij,ij->i", numbers, numbers))
    is_good = np.isfinite(lengths) & (lengths > 0)
    for row, length in zip(fitting[~is_good].tolist(), lengths[~is_good].tolist(), strict=True):
        failures[row] = _ZERO if length == 0 else _INFINITE
    vectors[fitting[is_good]] = numbers[is_good] / lengths[is_good, np.newaxis]
    return Embedded(vectors, failures)


def _watch(
    texts: Iterable[tuple[str, str]], waiting: dict[int, str], slices: "_SliceBuilder"
) -> Iterator[str]:
    """Pass texts on, noting which hash stands at which position."""
    position = 0
    for text_hash, text in texts:
        if not text.strip():
            slices.fail(text_hash, BLANK)
            continue
        waiting[position] = text_hash
        position += 1
        yield text


def _parts(embedder: Embedder, texts: Iterator[str], size: int) -> Iterator[Part]:
    if isinstance(embedder, StreamingEmbedder):
        yield from embedder.embed_parts(texts)
        return
    start = 0
    while batch := list(islice(texts, size)):
        yield Part(range(start, start + len(batch)), embedder.embed_documents(batch))
        start += len(batch)


class _SliceBuilder:
    """Collects finished texts until there are enough for a slice."""

    def __init__(self, model_id: str) -> None:
        self.count = 0
        self._model_id = model_id
        self._hashes: list[str] = []
        self._vectors: list[NDArray[np.float16]] = []
        self._failures: dict[str, str] = {}
        self._truncated: list[str] = []

    def fail(self, text_hash: str, reason: str) -> None:
        self._failures[text_hash] = reason
        self.count += 1

    def add(self, hashes: Sequence[str], embedded: Embedded) -> None:
        checked = unit_vectors(embedded.vectors, embedded.vectors.shape[1])
        failures = {**checked.failures, **embedded.failures}
        good = [row for row in range(len(hashes)) if row not in failures]
        self._hashes += [hashes[row] for row in good]
        self._vectors.append(checked.vectors[good].astype(np.float16))
        self._failures |= {hashes[row]: reason for row, reason in failures.items()}
        self._truncated += [hashes[row] for row in embedded.truncated if row not in failures]
        self.count += len(hashes)

    def take(self) -> EmbeddingSlice:
        """Return what was collected and start anew."""
        part = EmbeddingSlice(self._table(), self._failures, tuple(self._truncated))
        self.count, self._failures = 0, {}
        self._hashes, self._vectors, self._truncated = [], [], []
        return part

    def _table(self) -> pa.Table:
        width = self._vectors[0].shape[1] if self._vectors else 0
        offsets = np.arange(len(self._hashes) + 1, dtype=np.int32) * width
        flat = np.concatenate(self._vectors).ravel() if self._vectors else np.empty(0, np.float16)
        columns = [
            pa.array([self._model_id] * len(self._hashes), pa.string()),
            pa.array(self._hashes, pa.string()),
            pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, pa.float16())),
        ]
        return pa.Table.from_arrays(columns, schema=EMBEDDINGS.schema)
