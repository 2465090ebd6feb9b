"""Every vector of a table against a question in whole numbers, and yet without missing a neighbour.

Reading the vectors is what an exact search costs. Rounded to whole numbers of seven bits they are a
quarter of the bytes, and ONNX Runtime multiplies them as fast as memory gives them. How far off a
rounded product can be is known for each row, so a few rows are left that may be among the nearest.
docs/search.md has the figures.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray

# Largest whole number. Seven bits: processors without VNNI add two products in sixteen bits.
_ROW_LIMIT: Final = 63
_QUERY_LIMIT: Final = 127
_ZERO: Final = 128  # what stands for 0 in a question, whose numbers have no sign

# Products are single floats: they differ by this with the order of adding.
_SLACK: Final = 1e-5
_TINY: Final = 1e-12  # instead of nothing, to divide by

_BLOCK_ROWS: Final = 4096  # rows of half floats that are widened at once
_SPREAD: Final = 16  # blocks per wanted row, whose best rows tell how near the nearest are

# Numbers of ONNX's protocol buffers: types of elements, versions of format and operators.
_UINT8, _INT8, _INT32 = 2, 3, 6
_IR_VERSION: Final = 8
_OPSET: Final = 10

Vectors = NDArray[np.float32]


class RoundedVectors:
    """Rounded copies of the vectors of a table.

    Args:
        vectors: one row each, of length one.
    """

    def __init__(self, vectors: NDArray[np.float16]) -> None:
        """Round, and measure what each row loses."""
        count, dimension = vectors.shape
        columns = np.empty((dimension, count), np.int8)
        self._steps = np.empty(count, np.float32)
        self._losses = np.empty(count, np.float32)
        for rows, block in widened(vectors, np.arange(count)):
            steps = np.maximum(np.abs(block).max(axis=1), _TINY) / np.float32(_ROW_LIMIT)
            whole = np.rint(block / steps[:, None])
            columns[:, rows] = whole.astype(np.int8).T
            self._steps[rows] = steps
            self._losses[rows] = np.linalg.norm(block - whole * steps[:, None], axis=1)
        self._worst_loss = self._losses.max(initial=0)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            _product_model(columns), options, providers=["CPUExecutionProvider"]
        )

    def candidates(
        self, queries: Vectors, k: int, allowed: NDArray[np.bool_] | None
    ) -> Iterator[NDArray[np.intp]]:
        """Yield for each query the rows that may be among its ``k`` nearest, by position.

        Args:
            queries: vectors.
            k: at most as many as there are allowed rows.
            allowed: which rows count; None for all.
        """
        most = np.abs(queries).max(axis=1, keepdims=True)
        steps = np.maximum(most, _TINY) / np.float32(_QUERY_LIMIT)
        whole = np.rint(queries / steps)
        (products,) = self._session.run(None, {"query": (whole + _ZERO).astype(np.uint8)})
        losses = np.linalg.norm(queries - whole * steps, axis=1) + np.float32(_SLACK)
        # Everything below counts in steps of the question.
        lengths, losses = np.linalg.norm(whole, axis=1), losses / steps[:, 0]
        for product, length, loss in zip(products, lengths, losses, strict=True):
            scores = np.multiply(product, self._steps, dtype=np.float32, casting="same_kind")
            if allowed is not None:
                scores[~allowed] = -np.inf
            # First by what rows lose at most, then those few by what each of them loses.
            worst = 2 * (self._worst_loss * length + loss)
            rows = np.flatnonzero(scores >= _floor(scores, k) - worst)
            doubts = self._losses[rows] * length + loss
            least = np.partition(scores[rows] - doubts, len(rows) - k)[len(rows) - k]
            yield rows[scores[rows] + doubts >= least]


def widened(
    vectors: NDArray[np.float16], rows: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], Vectors]]:
    """Yield ``rows`` of ``vectors`` as floats, some at a time."""
    for start in range(0, len(rows), _BLOCK_ROWS):
        some = rows[start : start + _BLOCK_ROWS]
        yield some, vectors[some].astype(np.float32)


def _floor(scores: Vectors, k: int) -> np.float32:
    """Return a number that at least ``k`` of ``scores`` reach: nearly the largest, but cheap."""
    size = len(scores) // (_SPREAD * k)
    best = (
        scores[: len(scores) // size * size].reshape(-1, size).max(axis=1) if size > 1 else scores
    )
    found: np.float32 = np.partition(best, len(best) - k)[len(best) - k]
    return found if np.isfinite(found) else np.partition(scores, len(scores) - k)[len(scores) - k]


def _product_model(columns: NDArray[np.int8]) -> bytes:
    """Return a model of one operator, the product of queries with ``columns``, as ONNX stores it.

    Where the columns are part of the model, they are laid out once for the processor.
    """
    dimension, count = columns.shape
    node = _field(1, "query") + _field(1, "columns") + _field(1, "zero") + _field(2, "products")
    graph = (
        _field(1, node + _field(4, "MatMulInteger"))
        + _field(2, "product")
        + _field(5, _tensor("columns", _INT8, (dimension, count), columns.tobytes()))
        + _field(5, _tensor("zero", _UINT8, (), bytes([_ZERO])))
        + _field(11, _value("query", _UINT8, dimension))
        + _field(12, _value("products", _INT32, count))
    )
    return _field(1, _IR_VERSION) + _field(7, graph) + _field(8, _field(1, "") + _field(2, _OPSET))


def _tensor(name: str, kind: int, shape: tuple[int, ...], content: bytes) -> bytes:
    sizes = b"".join(_field(1, size) for size in shape)
    return sizes + _field(2, kind) + _field(8, name) + _field(9, content)


def _value(name: str, kind: int, width: int) -> bytes:
    shape = _field(1, _field(2, "queries")) + _field(1, _field(1, width))
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return one field of a protocol buffer message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    digits = []
    while value >= 1 << 7:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])
