"""Tiny ONNX files, written byte by byte: the package onnx is no dependency of the tests."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

INT64 = 7
FLOAT = 1


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _value_info(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    dims = b"".join(
        _field(1, _field(1, dim) if isinstance(dim, int) else _field(2, dim)) for dim in shape
    )
    tensor = _field(1, kind) + _field(2, dims)
    return _field(1, name) + _field(2, _field(1, tensor))


def _constant(name: str, values: np.ndarray) -> bytes:
    kind = INT64 if values.dtype == np.int64 else FLOAT
    dims = b"".join(_field(1, size) for size in values.shape)
    return dims + _field(2, kind) + _field(8, name) + _field(9, values.tobytes())


def _node(operator: str, inputs: Sequence[str], output: str) -> bytes:
    node = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, operator)
    if operator == "ReduceSum":
        node += _field(5, _field(1, "keepdims") + _field(3, 0) + _field(20, 2))
    return node


def write_token_adder(
    path: Path, weights: np.ndarray, inputs: Sequence[str] = ("input_ids", "attention_mask")
) -> None:
    """Write a model that adds up a row of ``weights`` for each token of its first input."""
    nodes = [
        _node("Gather", ["weights", inputs[0]], "rows"),
        _node("ReduceSum", ["rows", "axis"], "logits"),
    ]
    constants = {"weights": weights.astype(np.float32), "axis": np.array([1], np.int64)}
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, "adder")
    graph += b"".join(_field(5, _constant(name, values)) for name, values in constants.items())
    graph += b"".join(_field(11, _value_info(name, INT64, ["b", "s"])) for name in inputs)
    graph += _field(12, _value_info("logits", FLOAT, ["b", weights.shape[1]]))
    opset = _field(1, "") + _field(2, 13)
    path.write_bytes(_field(1, 8) + _field(7, graph) + _field(8, opset))
