"""Evaluate a saved Core ML package operation by operation, where Core ML itself does not exist.

Each result is rounded to the type the program gives it, so float16 overflows and loses digits as
it does on the Neural Engine; inside one operation numbers are added in float32, as there. Only
what the converter writes is known, anything else is an error.
"""
# ruff: noqa: ANN401 # a value of a program has a type only where coremltools is installed

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import coremltools as ct
import numpy as np
from coremltools.converters.mil.frontend.milproto import load
from coremltools.converters.mil.mil import types

Values = dict[str, Any]

_ERF = np.vectorize(math.erf, otypes=[np.float32])
_NUMPY = {
    "fp16": np.float16,
    "fp32": np.float32,
    "int32": np.int32,
    "int16": np.int16,
    "bool": np.bool_,
}


class Interpreter:
    """One package, ready to be evaluated.

    Attributes:
        largest: the largest number seen, by kind of operation.
        kinds: the kind of every operation, constants left out.
        target: the specification version of the package.
    """

    def __init__(self, package: Path) -> None:
        model = ct.models.MLModel(str(package), skip_model_load=True)
        spec = model.get_spec()
        program = load.load(
            spec,
            specification_version=spec.specificationVersion,
            file_weights_dir=model.weights_dir,
        )
        self._main = program.functions["main"]
        self.target = int(spec.specificationVersion)
        self.kinds = [op.op_type for op in self._main.operations if op.op_type != "const"]
        self.largest: dict[str, float] = {}

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the one output."""
        known = {value: inputs[name] for name, value in self._main.inputs.items()}

        def value_of(given: Any) -> Any:
            if isinstance(given, list | tuple):
                return [value_of(one) for one in given]
            if given is None or given in known:
                return known.get(given)
            return given.val

        for operation in self._main.operations:
            if operation.op_type == "const":
                continue
            if operation.op_type.startswith("constexpr_"):
                output = operation.outputs[0]
                weight = (
                    output.val if output.val is not None else operation.materialized_val_inference()
                )
                known[output] = weight
                continue
            found = {name: value_of(given) for name, given in operation.inputs.items()}
            known |= self._run(operation, {n: v for n, v in found.items() if v is not None})
        (output,) = self._main.outputs
        return np.asarray(known[output])

    def _run(self, operation: Any, inputs: Values) -> dict[Any, np.ndarray]:
        wide = {
            name: value.astype(np.float32)
            if isinstance(value, np.ndarray | np.floating) and value.dtype == np.float16
            else value
            for name, value in inputs.items()
        }
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            answer = _OPERATIONS[operation.op_type](wide)
            answers = answer if isinstance(answer, list) else [answer]
            results = {}
            for output, value in zip(operation.outputs, answers, strict=True):
                kind = _NUMPY[types.builtin_to_string(output.dtype)]
                results[output] = np.asarray(value).astype(kind)
                largest = float(np.abs(results[output].astype(np.float64)).max(initial=0))
                name = operation.op_type
                self.largest[name] = max(largest, self.largest.get(name, 0.0))
        return results


def _axes(inputs: Values) -> tuple[int, ...]:
    return tuple(int(axis) for axis in inputs["axes"])


def _reduce(function: Callable[..., np.ndarray]) -> Callable[[Values], np.ndarray]:
    return lambda i: function(i["x"], axis=_axes(i), keepdims=bool(i["keep_dims"]))


def _softmax(inputs: Values) -> np.ndarray:
    axis = int(inputs["axis"])
    raised = np.exp(inputs["x"] - inputs["x"].max(axis, keepdims=True))
    return np.asarray(raised / raised.sum(axis, keepdims=True))


def _gelu(inputs: Values) -> np.ndarray:
    x = inputs["x"]
    if inputs["mode"] == "EXACT":
        return np.asarray(x * (1 + _ERF(x / math.sqrt(2))) / 2)
    return np.asarray(x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2)


def _convolution(inputs: Values) -> np.ndarray:
    weight, x = inputs["weight"].astype(np.float32), inputs["x"]
    assert weight.shape[2:] == (1, 1)
    product = np.einsum("oc,bchw->bohw", weight[:, :, 0, 0], x, optimize=True)
    bias = inputs.get("bias")
    return product if bias is None else product + bias.reshape(1, -1, 1, 1)


def _batch_norm(inputs: Values) -> np.ndarray:
    by_channel = {
        name: inputs[name].reshape(1, -1, 1, 1)
        for name in ("mean", "variance", "gamma", "beta")
        if name in inputs
    }
    root = np.sqrt(by_channel["variance"] + inputs["epsilon"])
    normed = (inputs["x"] - by_channel["mean"]) / root * by_channel.get("gamma", 1.0)
    return np.asarray(normed + by_channel.get("beta", 0.0))


def _einsum(inputs: Values) -> np.ndarray:
    left, right = inputs["values"]
    return np.einsum(
        inputs["equation"], left.astype(np.float32), right.astype(np.float32), optimize=True
    )


_OPERATIONS: dict[str, Callable[[Values], Any]] = {
    "abs": lambda i: np.abs(i["x"]),
    "add": lambda i: i["x"] + i["y"],
    "batch_norm": _batch_norm,
    "cast": lambda i: i["x"].astype(_NUMPY[i["dtype"]]),
    "concat": lambda i: np.concatenate(i["values"], int(i["axis"])),
    "conv": _convolution,
    "einsum": _einsum,
    "expand_dims": lambda i: np.expand_dims(i["x"], _axes(i)),
    "gather": lambda i: np.take(i["x"], i["indices"], axis=int(i["axis"])),
    "gelu": _gelu,
    "greater_equal": lambda i: i["x"] >= i["y"],
    "mul": lambda i: i["x"] * i["y"],
    "real_div": lambda i: i["x"] / i["y"],
    "reduce_max": _reduce(np.max),
    "reduce_mean": _reduce(np.mean),
    "reduce_sum": _reduce(np.sum),
    "reshape": lambda i: i["x"].reshape(i["shape"]),
    "rsqrt": lambda i: 1 / np.sqrt(i["x"] + i["epsilon"]),
    "select": lambda i: np.where(i["cond"], i["a"], i["b"]),
    "softmax": _softmax,
    "split": lambda i: np.split(i["x"], int(i["num_splits"]), int(i["axis"])),
    "sub": lambda i: i["x"] - i["y"],
    "transpose": lambda i: np.transpose(i["x"], i["perm"]),
}
