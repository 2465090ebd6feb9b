"""Write reference vectors of all-MiniLM-L6-v2, computed in float32 by numpy alone.

``python -m resources.models.reference_minilm tests/minilm_reference.json`` needs the optional
dependencies ``models``. It shares no code with the ONNX graph, so that a test which compares the
two would notice a mistake in either.
"""

import json
import logging
import math
import sys
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from resources.models import model_file
from resources.models.build_minilm import HEADS, LAYERS, Weights, load_weights

Array = NDArray[np.float32]

_LOG: Final = logging.getLogger(__name__)

TEXTS: Final = (
    "where are retries handled",
    "def add(a, b):\n    return a + b",
    "# Stack.pop\nfn pop(&mut self) -> Option<T> { self.items.pop() }",
    "demo: JSONResponseParser json response parser Parse a JSON answer into records.",
    "Gibt die Größe einer Datei in Bytes zurück (naïve Zählung, ±1).",
)
_ERF: Final = np.vectorize(math.erf, otypes=[np.float32])


def sentence_vector(weights: Weights, ids: list[int]) -> Array:
    """Return the unit vector of one text, its tokens given with both marks."""
    state = weights["embeddings.word_embeddings.weight"][ids]
    state = state + weights["embeddings.position_embeddings.weight"][: len(ids)]
    state = state + weights["embeddings.token_type_embeddings.weight"][0]
    state = _norm(weights, "embeddings.LayerNorm", state)
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        attended = _attend(weights, f"{prefix}attention.self.", state)
        attended = _dense(weights, f"{prefix}attention.output.dense", attended)
        middle = _norm(weights, f"{prefix}attention.output.LayerNorm", attended + state)
        wide = _dense(weights, f"{prefix}intermediate.dense", middle)
        wide = wide * (1 + _ERF(wide / math.sqrt(2))) / 2
        wide = _dense(weights, f"{prefix}output.dense", wide)
        state = _norm(weights, f"{prefix}output.LayerNorm", wide + middle)
    mean: Array = state.mean(axis=0)
    return mean / np.float32(np.linalg.norm(mean))


def _dense(weights: Weights, name: str, state: Array) -> Array:
    product: Array = state @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return product


def _norm(weights: Weights, name: str, state: Array) -> Array:
    centred = state - state.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
    normed: Array = centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return normed


def _attend(weights: Weights, prefix: str, state: Array) -> Array:
    parts = []
    names = ("query", "key", "value")
    projected = [np.split(_dense(weights, prefix + name, state), HEADS, axis=1) for name in names]
    for query, key, value in zip(*projected, strict=True):
        scores = query @ key.T / np.float32(math.sqrt(query.shape[1]))
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        parts.append(scores / scores.sum(axis=1, keepdims=True) @ value)
    return np.concatenate(parts, axis=1)


def main(output: Path) -> None:
    """Write texts and vectors to ``output`` as JSON."""
    tokenizer = Tokenizer.from_file(str(model_file("minilm_tokenizer.json")))
    tokenizer.no_padding()
    weights = load_weights()
    vectors = [sentence_vector(weights, tokenizer.encode(text).ids) for text in TEXTS]
    rows = [
        {"text": text, "vector": [round(float(number), 5) for number in vector]}
        for text, vector in zip(TEXTS, vectors, strict=True)
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    output.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    _LOG.info("%s: %d vectors", output, len(rows))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main(Path(sys.argv[1]))
