# ruff: noqa: ANN401 # a value of a program has a type only where coremltools is installed
"""A sentence model as a Core ML program; needs coremltools, runs on Linux too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import coremltools as ct
import coremltools.optimize.coreml as cto
import numpy as np
from coremltools.converters.mil import Builder as mb  # noqa: N813 # the name its documents use
from coremltools.converters.mil.mil import types

from resources.ane.operations import Array, Gelu, Operations, Value
from resources.ane.packages import INPUT_IDS, MASK, OUTPUT, Manifest
from resources.ane.palettes import palette_of

# Weights with fewer numbers are left as they are: norms and biases are small and matter.
_LEAST_PALETTISED: Final = 4096
# One palette of 16 colours for a whole matrix loses too much (cosine 0.95 where eight bits keep
# 0.9996), one for so many output channels does not.
_GROUP: Final = 16
_GROUPED_BITS: Final = 4
_WHOLE: Final = 16  # bits of a float16


class SentenceModel(Protocol):
    """A model that can be written down."""

    def run(self, operations: Operations[Value], ids: Value, mask: Value) -> Value:
        """Return the sentence vector (1, channels, 1, 1)."""
        ...


class ProgramOperations:
    """Write operations down instead of doing them."""

    def rows(self, table: Array, ids: Any) -> Any:
        """Look up rows."""
        return mb.gather(x=table, indices=ids, axis=0, validate_indices=False)

    def numbers(self, mask: Any) -> Any:
        """Turn whole numbers into floats."""
        return mb.cast(x=mask, dtype="fp32")

    def transpose(self, value: Any, order: Sequence[int]) -> Any:
        """Reorder the axes."""
        return mb.transpose(x=value, perm=list(order))

    def reshape(self, value: Any, shape: Sequence[int]) -> Any:
        """Give the numbers another shape."""
        return mb.reshape(x=value, shape=list(shape))

    def convolve(self, value: Any, weight: Array, bias: Array | None = None) -> Any:
        """Apply a convolution of 1x1."""
        kernel = np.ascontiguousarray(weight[:, :, None, None])
        return mb.conv(x=value, weight=kernel, **({} if bias is None else {"bias": bias}))

    def add(self, value: Any, other: Any) -> Any:
        """Add."""
        return mb.add(x=value, y=other)

    def multiply(self, value: Any, other: Any) -> Any:
        """Multiply."""
        return mb.mul(x=value, y=other)

    def divide(self, value: Any, other: Any) -> Any:
        """Divide."""
        return mb.real_div(x=value, y=other)

    def mean(self, value: Any, axis: int) -> Any:
        """Average along an axis."""
        return mb.reduce_mean(x=value, axes=[axis], keep_dims=True)

    def total(self, value: Any, axis: int) -> Any:
        """Add up along an axis."""
        return mb.reduce_sum(x=value, axes=[axis], keep_dims=True)

    def largest(self, value: Any, axis: int) -> Any:
        """Return the largest absolute value along an axis."""
        return mb.reduce_max(x=mb.abs(x=value), axes=[axis], keep_dims=True)

    def inverse_root(self, value: Any, epsilon: float) -> Any:
        """Return ``1 / sqrt(value + epsilon)``."""
        return mb.rsqrt(x=value, epsilon=np.float32(epsilon))

    def softmax(self, value: Any, axis: int) -> Any:
        """Exponentials that add up to one."""
        return mb.softmax(x=value, axis=axis)

    def gelu(self, value: Any, mode: Gelu) -> Any:
        """Apply the activation."""
        return mb.gelu(x=value, mode=mode)

    def contract(self, left: Any, right: Any) -> Any:
        """Multiply matrices where they lie; the Neural Engine does this one without a transpose."""
        return mb.einsum(values=(left, right), equation="nchw,nwhu->nchu")

    def split(self, value: Any, axis: int, count: int) -> list[Any]:
        """Cut into equal parts."""
        return list(mb.split(x=value, num_splits=count, axis=axis)) if count > 1 else [value]

    def join(self, values: Sequence[Any], axis: int) -> Any:
        """Put values side by side."""
        return values[0] if len(values) == 1 else mb.concat(values=list(values), axis=axis)

    def watch(self, name: str, value: Any) -> None:
        """Nothing to see: no number is known yet."""


def write_program(model: SentenceModel, manifest: Manifest, path: Path) -> None:
    """Save ``model`` as a package that takes ids and mask of one text and gives its vector.

    Args:
        model: the model.
        manifest: tokens of a text, numbers of the vector, and bits of a weight: 16 for float16,
            8 or 4 for palettes of 256 or 16 values.
        path: ends in ``.mlpackage``.
    """
    specs = [
        mb.TensorSpec(shape=(1, manifest.tokens), dtype=types.int32) for _ in (INPUT_IDS, MASK)
    ]
    # Palettes for groups of channels need macOS 15; everything else runs on macOS 14.
    target = ct.target.macOS15 if manifest.bits == _GROUPED_BITS else ct.target.macOS14

    @mb.program(input_specs=specs, opset_version=target)  # type: ignore[untyped-decorator]
    def program(input_ids: Any, attention_mask: Any) -> Any:
        vector = model.run(ProgramOperations(), input_ids, attention_mask)
        return mb.reshape(x=vector, shape=[1, manifest.dimension], name=OUTPUT)

    converted = ct.convert(
        program,
        convert_to="mlprogram",
        minimum_deployment_target=target,
        compute_precision=ct.precision.FLOAT16,
        compute_units=ct.ComputeUnit.CPU_AND_NE,
        skip_model_load=True,
    )
    if manifest.bits != _WHOLE:
        converted = cto.palettize_weights(converted, _compression(manifest.bits))
    converted.save(str(path))


def _compression(bits: int) -> cto.OptimizationConfig:
    """Return how weights are packed; a table of rows never has fewer than eight bits."""
    eight = cto.OpPalettizerConfig(
        mode="custom", lut_function=palette_of(8), weight_threshold=_LEAST_PALETTISED
    )
    linear = eight
    if bits == _GROUPED_BITS:
        linear = cto.OpPalettizerConfig(
            mode="custom",
            lut_function=palette_of(bits),
            granularity="per_grouped_channel",
            group_size=_GROUP,
            weight_threshold=_LEAST_PALETTISED,
        )
    return cto.OptimizationConfig(op_type_configs={"conv": linear, "gather": eight})
