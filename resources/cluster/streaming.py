"""Send pieces of a stage table through a function on the cluster; results come back in order.

A piece is read by a task on the node of this process, where the table and the repositories lie,
and worked on by a task on any node. Batches travel in Arrow's own form. Ray Data keeps as many
pieces on the way as there are processors and memory for, and does a piece that was lost with its
node again.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa

from codelake import errors
from codelake.errors import ClusterError, CodelakeError
from resources.cluster.pieces import Piece

_READERS: Final = 2  # at once: reading is a small part of working

_SCHEMA: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("batches", pa.list_(pa.large_binary())),
        ("problem", pa.list_(pa.string(), 2)),
    ]
)

Work = Callable[[list[pa.RecordBatch]], list[pa.RecordBatch]]
"""What is done with the batches of a piece; it and what it holds travel to the node."""


class Read(Protocol):
    """Reads a piece on the node of this process."""

    def __call__(self, piece: Piece) -> list[pa.RecordBatch]:
        """Return its batches."""
        ...


def stream(
    pieces: Sequence[Piece], read: Read, work: Work, node: str
) -> Iterator[list[pa.RecordBatch]]:
    """Yield what ``work`` makes of each of ``pieces``, in their order.

    Raises:
        CodelakeError: one that ``work`` or ``read`` raised.
        ClusterError: the cluster failed, or what came back is not one answer a piece.
    """
    import ray  # noqa: PLC0415 - it may not be installed
    from ray.data import TaskPoolStrategy  # noqa: PLC0415 - the same

    _set_up(ray)
    whole: dict[str, Any] = {"batch_size": None, "batch_format": "pyarrow"}
    here = {"num_cpus": 0, "label_selector": {"ray.io/node-id": node}}
    few = TaskPoolStrategy(size=min(_READERS, len(pieces)))
    data = ray.data.from_arrow([pa.Table.from_pylist([piece._asdict()]) for piece in pieces])
    data = data.map_batches(_read, fn_args=(read,), compute=few, **here, **whole)
    data = data.map_batches(_work, fn_args=(work,), num_cpus=1, **whole)
    expected = iter(pieces)
    try:
        for answer in data.iter_batches(prefetch_batches=1, **whole):
            for row in answer.to_pylist():
                if row["number"] != next(expected, Piece(-1, 0, 0, 0)).number:
                    message = "the cluster gave an answer twice or in another order; run it again"
                    raise ClusterError(message)
                yield _received(row)
    except ray.exceptions.RayError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        message = f"the cluster could not do it: {lines[-1].strip()}; see docs/cluster.md"
        raise ClusterError(message) from error
    if next(expected, None) is not None:
        message = "the cluster gave fewer answers than there were questions; run it again"
        raise ClusterError(message)


def _set_up(ray: Any) -> None:  # noqa: ANN401 - a module that may not be installed
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)  # it tells how fast each stage was


def _read(rows: pa.Table, read: Read) -> pa.Table:
    """Read the pieces named in ``rows``: a task on the node of the run."""
    return _answers(rows, lambda row: read(Piece(**row)))


def _work(rows: pa.Table, work: Work) -> pa.Table:
    """Work on the pieces that were read: a task on any node."""
    return _answers(rows, lambda row: work(_received(row)))


def _answers(rows: pa.Table, make: Callable[[dict[str, Any]], list[pa.RecordBatch]]) -> pa.Table:
    """Return for each row what is made of it, or what is wrong.

    An error of ours is an answer: one that is raised comes back as text among Ray's own.
    """
    answers = []
    for row in rows.to_pylist():
        made: list[bytes] = []
        problem = ("", "")
        try:
            made = [packed(batch) for batch in make(row)]
        except CodelakeError as error:
            problem = (type(error).__name__, str(error))
        answers.append({"number": row["number"], "batches": made, "problem": problem})
    return pa.Table.from_pylist(answers, _SCHEMA)


def _received(row: dict[str, Any]) -> list[pa.RecordBatch]:
    """Return the batches of an answer.

    Raises:
        CodelakeError: the answer is an error.
    """
    name, message = row["problem"]
    if name:
        kind: type[CodelakeError] = getattr(errors, name)
        raise kind(message)
    return unpacked(row["batches"])


def packed(batch: pa.RecordBatch) -> bytes:
    """Return a batch in the form in which it travels."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpacked(answers: list[bytes]) -> list[pa.RecordBatch]:
    """Return the batches that :func:`packed` packed."""
    return [pa.ipc.open_stream(data).read_next_batch() for data in answers]
