"""The table that is trained: a vector a token and its weights in questions and in documents."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float32]
Ids = NDArray[np.intp]

_MOMENTUM: Final = 0.9
_SPREAD: Final = 0.999
_EPSILON: Final = 1e-8


@dataclass(slots=True)
class Adam:
    """Adam for the rows that a step touches; the others keep what they have.

    Args:
        values: what is trained, changed in place.
        rate: length of a step.
    """

    values: Array
    rate: float
    _first: Array = field(init=False)
    _second: Array = field(init=False)
    _steps: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        """Start without momentum."""
        self._first = np.zeros_like(self.values)
        self._second = np.zeros_like(self.values)
        self._steps = np.zeros(len(self.values), dtype=np.int32)

    def step(self, rows: Ids, gradient: Array, share: float) -> None:
        """Move some rows against their gradient by ``share`` of the rate."""
        first = self._first[rows] = _MOMENTUM * self._first[rows] + (1 - _MOMENTUM) * gradient
        second = _SPREAD * self._second[rows] + (1 - _SPREAD) * gradient**2
        self._second[rows] = second
        self._steps[rows] += 1
        count = self._steps[rows].reshape(-1, *([1] * (gradient.ndim - 1))).astype(np.float32)
        first = first / (1 - _MOMENTUM**count)
        second = second / (1 - _SPREAD**count)
        self.values[rows] -= share * self.rate * first / (np.sqrt(second) + _EPSILON)


@dataclass(frozen=True, slots=True)
class Added:
    """Texts added up to unit vectors, with what the way back needs."""

    counts: sparse.csr_array
    tokens: Ids
    units: Array
    lengths: Array


@dataclass(slots=True)
class Table:
    """Vectors of tokens, and the logarithms of their weights."""

    vectors: Array
    query_log: Array
    document_log: Array


def count_matrix(rows: Sequence[Sequence[int]], size: int) -> sparse.csr_array:
    """Return how often each text (row) has each token (column)."""
    lengths = [len(row) for row in rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.concatenate([np.asarray(row, dtype=np.int32) for row in rows])
    ones = np.ones(len(columns), dtype=np.float32)
    matrix = sparse.csr_array((ones, columns, starts), shape=(len(rows), size))
    matrix.sum_duplicates()
    return matrix


def add_up(table: Table, counts: sparse.csr_array, logs: Array) -> Added:
    """Return the unit vectors of texts; a token that stands there four times counts twice."""
    tokens, columns = np.unique(counts.indices, return_inverse=True)
    weights = np.sqrt(counts.data) * np.exp(logs[counts.indices])
    small = sparse.csr_array((weights, columns, counts.indptr), (counts.shape[0], len(tokens)))
    sums = small @ table.vectors[tokens]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True) + _EPSILON
    return Added(small, tokens, sums / lengths, lengths)


def way_back(table: Table, added: Added, gradient: Array) -> tuple[Array, Array]:
    """Return the gradients of the vectors and log weights of ``added.tokens``."""
    along = (gradient * added.units).sum(axis=1, keepdims=True)
    at_sums = (gradient - along * added.units) / added.lengths
    at_vectors = added.counts.T @ at_sums
    return at_vectors, (at_vectors * table.vectors[added.tokens]).sum(axis=1)
