"""The operations a sentence model is made of, and how numpy does them.

A model is written once against :class:`Operations`. numpy runs it in float32, which gives the
reference vectors and the sizes of the numbers inside; :mod:`resources.ane.program` writes it down
as a Core ML program. Values are laid out as the Neural Engine likes them: 4-D, channels second,
tokens last, a linear layer a convolution of 1x1.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Numbers = NDArray[Any]  # of the type a value has inside a model
Gelu = Literal["EXACT", "TANH_APPROXIMATION"]
Value = TypeVar("Value")

CHANNELS: Final = 1  # the axis of channels
TOKENS: Final = 3  # the axis of tokens


class Operations(Protocol[Value]):
    """What a model may do with a value; constants are arrays."""

    def rows(self, table: Array, ids: Value) -> Value:
        """Look up rows of ``table``: (1, tokens) to (1, tokens, channels)."""
        ...

    def numbers(self, mask: Value) -> Value:
        """Turn whole numbers into floats."""
        ...

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """Reorder the axes."""
        ...

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """Give the numbers another shape."""
        ...

    def convolve(self, value: Value, weight: Array, bias: Array | None = None) -> Value:
        """Apply a linear layer to the channels."""
        ...

    def add(self, value: Value, other: Value | Array) -> Value:
        """Add."""
        ...

    def multiply(self, value: Value, other: Value | Array) -> Value:
        """Multiply."""
        ...

    def divide(self, value: Value, other: Value) -> Value:
        """Divide."""
        ...

    def mean(self, value: Value, axis: int) -> Value:
        """Average along an axis, which stays."""
        ...

    def total(self, value: Value, axis: int) -> Value:
        """Add up along an axis, which stays."""
        ...

    def largest(self, value: Value, axis: int) -> Value:
        """Return the largest absolute value along an axis, which stays."""
        ...

    def inverse_root(self, value: Value, epsilon: float) -> Value:
        """Return ``1 / sqrt(value + epsilon)``."""
        ...

    def softmax(self, value: Value, axis: int) -> Value:
        """Exponentials that add up to one along an axis."""
        ...

    def gelu(self, value: Value, mode: Gelu) -> Value:
        """Apply the activation."""
        ...

    def contract(self, left: Value, right: Value) -> Value:
        """Multiply (1, a, 1, b) by (1, b, 1, c) to (1, a, 1, c), without moving an axis."""
        ...

    def split(self, value: Value, axis: int, count: int) -> list[Value]:
        """Cut into ``count`` equal parts along an axis."""
        ...

    def join(self, values: Sequence[Value], axis: int) -> Value:
        """Put values side by side."""
        ...

    def watch(self, name: str, value: Value) -> None:
        """Look at a value inside the model."""
        ...


def constant(number: float) -> Array:
    """Return a number as an operation takes it."""
    return np.array([number], dtype=np.float32)


_ERF: Final = np.vectorize(math.erf, otypes=[np.float32])


class NumpyOperations:
    """Run a model in float32 and remember how large the watched values were.

    Attributes:
        norms: the longest vector of channels seen, by name.
    """

    def __init__(self) -> None:
        """Remember nothing yet."""
        self.norms: dict[str, float] = {}

    def rows(self, table: Array, ids: Numbers) -> Numbers:
        """Look up rows."""
        return table[ids.astype(np.int64)]

    def numbers(self, mask: Numbers) -> Numbers:
        """Turn whole numbers into floats."""
        return mask.astype(np.float32)

    def transpose(self, value: Numbers, order: Sequence[int]) -> Numbers:
        """Reorder the axes."""
        return np.transpose(value, order)

    def reshape(self, value: Numbers, shape: Sequence[int]) -> Numbers:
        """Give the numbers another shape."""
        return value.reshape(shape)

    def convolve(self, value: Numbers, weight: Array, bias: Array | None = None) -> Numbers:
        """Apply a linear layer to the channels."""
        product: Numbers = weight @ value[0, :, 0]
        product = product if bias is None else product + bias[:, None]
        return product[None, :, None]

    def add(self, value: Numbers, other: Numbers) -> Numbers:
        """Add."""
        return value + other

    def multiply(self, value: Numbers, other: Numbers) -> Numbers:
        """Multiply."""
        return value * other

    def divide(self, value: Numbers, other: Numbers) -> Numbers:
        """Divide."""
        return value / other

    def mean(self, value: Numbers, axis: int) -> Numbers:
        """Average along an axis."""
        found: Numbers = value.mean(axis=axis, keepdims=True)
        return found

    def total(self, value: Numbers, axis: int) -> Numbers:
        """Add up along an axis."""
        found: Numbers = value.sum(axis=axis, keepdims=True)
        return found

    def largest(self, value: Numbers, axis: int) -> Numbers:
        """Return the largest absolute value along an axis."""
        found: Numbers = np.abs(value).max(axis=axis, keepdims=True)
        return found

    def inverse_root(self, value: Numbers, epsilon: float) -> Numbers:
        """Return ``1 / sqrt(value + epsilon)``."""
        root: Numbers = np.sqrt(value + np.float32(epsilon))
        return 1 / root

    def softmax(self, value: Numbers, axis: int) -> Numbers:
        """Exponentials that add up to one along an axis."""
        raised = np.exp(value - value.max(axis=axis, keepdims=True))
        found: Numbers = raised / raised.sum(axis=axis, keepdims=True)
        return found

    def gelu(self, value: Numbers, mode: Gelu) -> Numbers:
        """Apply the activation."""
        if mode == "EXACT":
            half: Numbers = 1 + _ERF(value / np.float32(math.sqrt(2)))
        else:
            root = np.float32(math.sqrt(2 / math.pi))
            half = 1 + np.tanh(root * (value + np.float32(0.044715) * value**3))
        found: Numbers = value * half / np.float32(2)
        return found

    def contract(self, left: Numbers, right: Numbers) -> Numbers:
        """Multiply matrices."""
        product: Numbers = left[0, :, 0] @ right[0, :, 0]
        return product[None, :, None]

    def split(self, value: Numbers, axis: int, count: int) -> list[Numbers]:
        """Cut into equal parts."""
        return np.split(value, count, axis=axis)

    def join(self, values: Sequence[Numbers], axis: int) -> Numbers:
        """Put values side by side."""
        return np.concatenate(values, axis=axis)

    def watch(self, name: str, value: Numbers) -> None:
        """Remember the longest vector of channels."""
        norm = float(np.linalg.norm(value, axis=CHANNELS).max())
        self.norms[name] = max(norm, self.norms.get(name, 0.0))
