"""BERT's encoder, as all-MiniLM-L6-v2 is one."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from resources.ane.operations import CHANNELS, TOKENS, Array, Operations, Value, constant
from resources.ane.sentences import attend, hide, pool

# float16 has no smaller number than 6e-8; the published 1e-12 would be zero.
_EPSILON: Final = 1e-7
_ALL: Final = (0, 2, 1)


class Bert:
    """A BERT encoder with its weights.

    Args:
        config: the model's ``config.json``.
        weights: by published names, without a prefix.
        tokens: tokens of every text, filled up.
        dense: linear layers after the pooling.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        weights: Mapping[str, Array],
        tokens: int,
        dense: tuple[Array, ...] = (),
    ) -> None:
        """Keep what a run needs."""
        self._weights = weights
        self._layers = int(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._width = int(config["hidden_size"]) // self._heads
        self._tokens = tokens
        self._dense = dense
        places = weights["embeddings.position_embeddings.weight"][:tokens]
        self._places = places + weights["embeddings.token_type_embeddings.weight"][0]

    def run(self, operations: Operations[Value], ids: Value, mask: Value) -> Value:
        """Return the sentence vector (1, channels, 1, 1)."""
        rows = operations.rows(self._weights["embeddings.word_embeddings.weight"], ids)
        rows = operations.add(rows, self._places[None])
        channels = self._heads * self._width
        state = operations.transpose(rows, _ALL)
        state = operations.reshape(state, (1, channels, 1, self._tokens))
        state = self._norm(operations, "embeddings.LayerNorm", state)
        bias = hide(operations, mask, self._tokens)
        for layer in range(self._layers):
            state = self._layer(operations, f"encoder.layer.{layer}.", state, bias)
        return pool(operations, state, mask, self._dense)

    def _layer(
        self, operations: Operations[Value], prefix: str, state: Value, bias: Value
    ) -> Value:
        attended = self._attended(operations, prefix + "attention.self.", state, bias)
        attended = self._linear(operations, prefix + "attention.output.dense", attended)
        state = self._norm(
            operations, prefix + "attention.output.LayerNorm", operations.add(attended, state)
        )
        wide = self._linear(operations, prefix + "intermediate.dense", state)
        narrow = self._linear(operations, prefix + "output.dense", operations.gelu(wide, "EXACT"))
        return self._norm(operations, prefix + "output.LayerNorm", operations.add(narrow, state))

    def _attended(
        self, operations: Operations[Value], prefix: str, state: Value, bias: Value
    ) -> Value:
        scale = np.float32(self._width**-0.5)  # in the weights, so that no operation is spent on it
        query = operations.convolve(
            state,
            self._weights[f"{prefix}query.weight"] * scale,
            self._weights[f"{prefix}query.bias"] * scale,
        )
        keys = operations.transpose(self._linear(operations, f"{prefix}key", state), (0, 3, 2, 1))
        values = self._linear(operations, f"{prefix}value", state)
        return attend(
            operations,
            operations.split(query, CHANNELS, self._heads),
            operations.split(keys, TOKENS, self._heads),
            operations.split(values, CHANNELS, self._heads),
            bias,
        )

    def _linear(self, operations: Operations[Value], name: str, state: Value) -> Value:
        return operations.convolve(
            state, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        )

    def _norm(self, operations: Operations[Value], name: str, state: Value) -> Value:
        minus = operations.multiply(operations.mean(state, CHANNELS), constant(-1))
        centred = operations.add(state, minus)
        variance = operations.mean(operations.multiply(centred, centred), CHANNELS)
        normed = operations.multiply(centred, operations.inverse_root(variance, _EPSILON))
        shape = (1, -1, 1, 1)
        normed = operations.multiply(normed, self._weights[f"{name}.weight"].reshape(shape))
        return operations.add(normed, self._weights[f"{name}.bias"].reshape(shape))
