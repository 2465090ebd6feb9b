"""Gemma 3's text encoder with attention in both directions, as EmbeddingGemma is one.

Its numbers grow beyond float16, which ends at 65,504. Scaling them is exact, because every branch
ends in a norm that takes the scale out again: the factors, powers of two, go into the embedding,
into the weights of the norms that are added to the state, and into the linear layers before a norm.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from resources.ane.operations import CHANNELS, Array, NumpyOperations, Operations, Value, constant
from resources.ane.packages import Row
from resources.ane.sentences import HIDDEN, attend, hide, pool

# The sum of squares over the channels has to stay below 65,504, which is 256 squared; texts that
# were not tried may be four times as large.
LONGEST: Final = 64.0
_SMALLEST: Final = 1e-7  # float16 has no smaller number than 6e-8
_STATE: Final = "state"
_DEFAULT_BASES: Final = {"full_attention": 1_000_000.0, "sliding_attention": 10_000.0}
_PATTERN: Final = 6  # every sixth layer sees the whole text, where the configuration is silent


class Gemma:
    """A Gemma 3 text encoder with its weights.

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
        self._tokens = tokens
        self._dense = dense
        self._heads = int(config["num_attention_heads"])
        self._groups = int(config["num_key_value_heads"])
        self._width = int(config["head_dim"])
        self._channels = int(config["hidden_size"])
        self._epsilon = float(config.get("rms_norm_eps", 1e-6))
        self._query_scale = float(config["query_pre_attn_scalar"]) ** -0.5
        self._kinds = layer_kinds(config)
        bases = {kind: _base(config, kind) for kind in set(self._kinds)}
        self._turns = {kind: _rotation(base, self._width, tokens) for kind, base in bases.items()}
        # Published windows count both directions; a token sees what is nearer than half and one.
        window = int(config["sliding_window"]) // 2 + 1
        place = np.arange(tokens)
        is_far = np.abs(place[:, None] - place[None, :]) >= window
        self._far = (is_far * np.float32(HIDDEN)).astype(np.float32)[None, :, None, :]
        self._scales: dict[str, float] = {}
        self._table = self._embedding()

    def fit(self, samples: Sequence[Row]) -> None:
        """Choose the scales so that the numbers of these texts stay far below float16's limit."""
        for sample in samples:
            probe = NumpyOperations()
            self.run(probe, sample.ids, sample.mask)
            for name, norm in probe.norms.items():
                # The probe saw scaled numbers if there was a text before.
                scale = self._scale(name)
                needed = 2.0 ** math.floor(math.log2(LONGEST / max(norm / scale, LONGEST)))
                self._scales[name] = min(scale, needed)
            self._table = self._embedding()

    def run(self, operations: Operations[Value], ids: Value, mask: Value) -> Value:
        """Return the sentence vector (1, channels, 1, 1)."""
        rows = operations.rows(self._table, ids)
        state = operations.transpose(rows, (0, 2, 1))
        state = operations.reshape(state, (1, self._channels, 1, self._tokens))
        everywhere = hide(operations, mask, self._tokens)
        nearby = operations.add(everywhere, self._far)
        operations.watch(_STATE, state)
        for layer, kind in enumerate(self._kinds):
            bias = everywhere if kind == "full_attention" else nearby
            state = self._attention(operations, f"layers.{layer}.", state, bias, kind)
            state = self._feed_forward(operations, f"layers.{layer}.", state)
        state = self._norm(operations, "norm", state, self._scale(_STATE))
        return pool(operations, state, mask, self._dense)

    def _embedding(self) -> Array:
        factor = np.float32(math.sqrt(self._channels) * self._scale(_STATE))
        return self._weights["embed_tokens.weight"] * factor

    def _attention(
        self, operations: Operations[Value], prefix: str, state: Value, bias: Value, kind: str
    ) -> Value:
        normed = self._norm(operations, f"{prefix}input_layernorm", state, self._scale(_STATE))
        name = f"{prefix}self_attn."
        queries = self._turned(operations, f"{name}q", normed, kind, self._heads)
        keys = self._turned(operations, f"{name}k", normed, kind, self._groups)
        value = self._linear(operations, f"{name}v_proj", normed, self._scale(f"{name}v"))
        operations.watch(f"{name}v", value)
        attended = attend(
            operations,
            queries,
            [operations.transpose(key, (0, 3, 2, 1)) for key in keys],
            operations.split(value, CHANNELS, self._groups),
            bias,
        )
        factor = self._scale(f"{name}o") / self._scale(f"{name}v")
        attended = self._linear(operations, f"{name}o_proj", attended, factor)
        return self._add(
            operations, f"{prefix}post_attention_layernorm", state, attended, f"{name}o"
        )

    def _feed_forward(self, operations: Operations[Value], prefix: str, state: Value) -> Value:
        normed = self._norm(
            operations, f"{prefix}pre_feedforward_layernorm", state, self._scale(_STATE)
        )
        name = f"{prefix}mlp."
        gate = operations.gelu(
            self._linear(operations, f"{name}gate_proj", normed), "TANH_APPROXIMATION"
        )
        wide = self._linear(operations, f"{name}up_proj", normed, self._scale(f"{name}up"))
        wide = operations.multiply(gate, wide)
        operations.watch(f"{name}up", wide)
        factor = self._scale(f"{name}down") / self._scale(f"{name}up")
        narrow = self._linear(operations, f"{name}down_proj", wide, factor)
        return self._add(
            operations, f"{prefix}post_feedforward_layernorm", state, narrow, f"{name}down"
        )

    def _add(
        self, operations: Operations[Value], norm: str, state: Value, branch: Value, name: str
    ) -> Value:
        """Add a branch to the state, at the state's scale."""
        operations.watch(name, branch)
        branch = self._norm(operations, norm, branch, self._scale(name), self._scale(_STATE))
        state = operations.add(state, branch)
        operations.watch(_STATE, state)
        return state

    def _turned(
        self, operations: Operations[Value], name: str, normed: Value, kind: str, heads: int
    ) -> list[Value]:
        """Return queries or keys by heads: normed, scaled and turned by their place."""
        scale = self._scale(name)
        wide = self._linear(operations, f"{name}_proj", normed, scale)
        factor = self._query_scale if name.endswith("q") else 1.0
        cosine, sine = self._turns[kind]
        found = []
        for part in operations.split(wide, CHANNELS, heads):
            operations.watch(name, part)
            head = self._norm(operations, f"{name}_norm", part, scale, factor)
            first, second = operations.split(head, CHANNELS, 2)
            other = operations.join([operations.multiply(second, constant(-1)), first], CHANNELS)
            found.append(
                operations.add(operations.multiply(head, cosine), operations.multiply(other, sine))
            )
        return found

    def _linear(
        self, operations: Operations[Value], name: str, state: Value, factor: float = 1.0
    ) -> Value:
        return operations.convolve(state, self._weights[f"{name}.weight"] * np.float32(factor))

    def _norm(
        self,
        operations: Operations[Value],
        name: str,
        state: Value,
        scale: float,
        factor: float = 1.0,
    ) -> Value:
        """Divide by the root of the mean square; ``state`` is ``scale`` times what it means."""
        squares = operations.mean(operations.multiply(state, state), CHANNELS)
        epsilon = max(self._epsilon * scale**2, _SMALLEST)
        normed = operations.multiply(state, operations.inverse_root(squares, epsilon))
        weight = (1.0 + self._weights[f"{name}.weight"]) * np.float32(factor)
        return operations.multiply(normed, weight.reshape(1, -1, 1, 1))

    def _scale(self, name: str) -> float:
        return self._scales.get(name, 1.0)


def layer_kinds(config: Mapping[str, Any]) -> list[str]:
    """Return for each layer whether it sees the whole text or what is near."""
    if found := config.get("layer_types"):
        return list(found)
    every = int(config.get("sliding_window_pattern", _PATTERN))
    count = int(config["num_hidden_layers"])
    return [
        "sliding_attention" if (layer + 1) % every else "full_attention" for layer in range(count)
    ]


def _base(config: Mapping[str, Any], kind: str) -> float:
    """Return the base of the rotation, which stands in one of two places."""
    named = (config.get("rope_parameters") or {}).get(kind) or {}
    old = {"full_attention": "rope_theta", "sliding_attention": "rope_local_base_freq"}[kind]
    return float(named.get("rope_theta") or config.get(old) or _DEFAULT_BASES[kind])


def _rotation(base: float, width: int, tokens: int) -> tuple[Array, Array]:
    """Return cosine and sine by channel and token, as (1, width, 1, tokens)."""
    speeds = base ** -(np.arange(0, width, 2) / width)
    angles = np.concatenate([speeds, speeds])[:, None] * np.arange(tokens)[None, :]
    cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return cosine[None, :, None, :], sine[None, :, None, :]
