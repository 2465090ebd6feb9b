"""A tiny Gemma 3 sentence model of random weights, and its vectors by Hugging Face's own code.

``python -m resources.models.reference_gemma tests/gemma_reference.json`` needs torch and
transformers, which nothing else here does: the vectors are kept, so that a test can compare with
them anywhere. The model has what EmbeddingGemma has: attention in both directions, a window that
every sixth layer lifts, one key head for three query heads, pooling by the mean, two dense layers.
"""

import json
import logging
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from resources.models.tensors import write_tensors

Array = NDArray[np.float32]

TOKENS: Final = 64
LENGTHS: Final = (5, 21, 64)  # tokens of the texts
_LOG: Final = logging.getLogger(__name__)

CONFIG: Final[Mapping[str, Any]] = {
    "architectures": ["Gemma3TextModel"],
    "model_type": "gemma3_text",
    "vocab_size": 320,
    "hidden_size": 48,
    "intermediate_size": 72,
    "num_hidden_layers": 7,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "sliding_window": 24,
    "use_bidirectional_attention": True,
    "query_pre_attn_scalar": 16,
    "hidden_activation": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1_000_000.0,
    "rope_local_base_freq": 10_000.0,
    "pad_token_id": 0,
}
_DENSE: Final = ((96, 48), (48, 96))


def random_weights() -> dict[str, Array]:
    """Return the encoder's weights by published names, the same every time."""
    # The old generator: its numbers are promised never to change.
    noise = np.random.RandomState(3)
    size, wide, head = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["head_dim"]
    heads = CONFIG["num_attention_heads"] * head
    shapes: dict[str, tuple[int, ...]] = {
        "embed_tokens": (CONFIG["vocab_size"], size),
        "norm": (size,),
    }
    for layer in range(CONFIG["num_hidden_layers"]):
        prefix = f"layers.{layer}."
        for name, shape in (("q", (heads, size)), ("k", (head, size)), ("v", (head, size))):
            shapes[f"{prefix}self_attn.{name}_proj"] = shape
        shapes[f"{prefix}self_attn.o_proj"] = (size, heads)
        shapes[f"{prefix}self_attn.q_norm"] = shapes[f"{prefix}self_attn.k_norm"] = (head,)
        for name in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
            shapes[f"{prefix}{name}_layernorm"] = (size,)
        shapes[f"{prefix}mlp.gate_proj"] = shapes[f"{prefix}mlp.up_proj"] = (wide, size)
        shapes[f"{prefix}mlp.down_proj"] = (size, wide)
    return {
        f"{name}.weight": (noise.standard_normal(shape) * 0.3).astype(np.float32)
        for name, shape in shapes.items()
    }


def dense_weights() -> list[Array]:
    """Return the weights of the dense layers."""
    noise = np.random.RandomState(4)  # as above
    return [(noise.standard_normal(shape) * 0.2).astype(np.float32) for shape in _DENSE]


def samples() -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Return ids and mask of texts of several lengths."""
    noise = np.random.RandomState(5)  # as above
    masks = [(np.arange(TOKENS) < length).astype(np.int32)[None] for length in LENGTHS]
    ids = [noise.randint(3, CONFIG["vocab_size"], (1, TOKENS)).astype(np.int32) for _ in masks]
    return [(row * mask, mask) for row, mask in zip(ids, masks, strict=True)]


def amplified(weights: Mapping[str, Array], factor: float) -> dict[str, Array]:
    """Return weights that make the numbers inside ``factor`` times as large, and change no vector.

    What is added to the state comes out of the embedding and of the norms behind each branch.
    """
    changed = dict(weights)
    changed["embed_tokens.weight"] = weights["embed_tokens.weight"] * np.float32(factor)
    for name, values in weights.items():
        if ".post_" in name:
            changed[name] = (1 + values) * np.float32(factor) - 1
    return changed


def write_folder(folder: Path, weights: Mapping[str, Array], tokenizer: str) -> None:
    """Write the model as sentence-transformers publishes one; ``tokenizer`` is its file's text."""
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense")]
    modules += [("Dense", "3_Dense"), ("Normalize", "4_Normalize")]
    files: dict[str, object] = {
        "config.json": CONFIG,
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(modules)
        ],
        "config_sentence_transformers.json": {
            "prompts": {"query": "task: search result | query: ", "document": "title: none | "}
        },
        "1_Pooling/config.json": {
            "word_embedding_dimension": CONFIG["hidden_size"],
            "pooling_mode_mean_tokens": True,
        },
        "sentence_bert_config.json": {"max_seq_length": TOKENS},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "model.safetensors", weights)
    for place, weight in zip(("2_Dense", "3_Dense"), dense_weights(), strict=True):
        (folder / place).mkdir()
        write_tensors(folder / place / "model.safetensors", {"linear.weight": weight})
        files[f"{place}/config.json"] = {
            "in_features": weight.shape[1],
            "out_features": weight.shape[0],
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
        }
    (folder / "1_Pooling").mkdir()
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")


def main(output: Path) -> None:
    """Write the vectors of the samples to ``output`` as JSON."""
    torch, transformers = import_module("torch"), import_module("transformers")
    with tempfile.TemporaryDirectory() as name:
        write_folder(Path(name), random_weights(), "{}")
        model = transformers.Gemma3TextModel.from_pretrained(
            name, attn_implementation="eager", dtype=torch.float32
        ).eval()
    vectors = []
    for ids, mask in samples():
        with torch.no_grad():
            answer = model(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask))
        state = answer.last_hidden_state.numpy()[0][mask[0] == 1]
        vector = state.mean(axis=0)
        for weight in dense_weights():
            vector = weight @ vector
        vectors.append([round(float(x), 6) for x in vector / np.linalg.norm(vector)])
    lines = ",\n".join(json.dumps(vector) for vector in vectors)
    output.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    _LOG.info("%s: %d vectors", output, len(vectors))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main(Path(sys.argv[1]))
