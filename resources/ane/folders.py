"""Read a sentence model's folder as sentence-transformers publishes it; needs numpy alone."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from codelake.errors import UsageError
from resources.ane.bert import Bert
from resources.ane.gemma import Gemma
from resources.ane.operations import Array
from resources.models.tensors import read_tensors

WEIGHTS: Final = "model.safetensors"
TOKENIZER: Final = "tokenizer.json"
_PREFIXES: Final = ("model.", "bert.", "0.auto_model.")

Model = Bert | Gemma


@dataclass(frozen=True, slots=True)
class SentenceFolder:
    """What a folder says.

    Args:
        name: the folder's name.
        config: its ``config.json``.
        weights: the encoder's, by published names without a prefix.
        dense: linear layers after the pooling.
        prompts: what stands in front of a ``query`` and of a ``document``.
        tokenizer: the file of the tokenizer.
        revision: first digits of the SHA-256 of weights and configuration.
    """

    name: str
    config: Mapping[str, Any]
    weights: Mapping[str, Array]
    dense: tuple[Array, ...]
    prompts: Mapping[str, str]
    tokenizer: Path
    revision: str

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        last = self.dense[-1].shape[0] if self.dense else self.config["hidden_size"]
        return int(last)

    @property
    def architecture(self) -> str:
        """What kind of encoder it is."""
        return str(self.config["model_type"])

    def build(self, tokens: int) -> Model:
        """Return the model for texts of ``tokens`` tokens.

        Raises:
            UsageError: it reads fewer.
        """
        most = int(self.config["max_position_embeddings"])
        if not 1 <= tokens <= most:
            message = f"{tokens} tokens: {self.name} reads 1 to {most}"
            raise UsageError(message)
        return _ARCHITECTURES[self.architecture].make(self.config, self.weights, tokens, self.dense)


@dataclass(frozen=True, slots=True)
class _Architecture:
    """A kind of encoder, and what its configuration has to say for it to be that kind."""

    make: Callable[[Mapping[str, Any], Mapping[str, Array], int, tuple[Array, ...]], Model]
    wanted: Mapping[str, Any]


_ARCHITECTURES: Final = {
    "bert": _Architecture(Bert, {"hidden_act": "gelu", "position_embedding_type": "absolute"}),
    "gemma3_text": _Architecture(
        Gemma, {"hidden_activation": "gelu_pytorch_tanh", "use_bidirectional_attention": True}
    ),
}
_DEFAULTS: Final = {"position_embedding_type": "absolute", "hidden_activation": "gelu_pytorch_tanh"}


def read_folder(folder: Path) -> SentenceFolder:
    """Return the model in ``folder``.

    Raises:
        UsageError: no such folder, or a model of another make than can be converted.
    """
    config = _read(folder / "config.json")
    kind = config.get("model_type")
    architecture = _ARCHITECTURES.get(str(kind))
    if architecture is None:
        message = (
            f"{folder}: a model of type {kind!r} cannot be converted; there are "
            f"{', '.join(_ARCHITECTURES)} (MiniLM, EmbeddingGemma)"
        )
        raise UsageError(message)
    for name, wanted in architecture.wanted.items():
        if config.get(name, _DEFAULTS.get(name)) != wanted:
            message = f"{folder}: {name} = {config.get(name)!r} in config.json, expected {wanted!r}"
            raise UsageError(message)
    for turn in (config.get("rope_parameters") or {}).values():
        if isinstance(turn, dict) and turn.get("rope_type", "default") != "default":
            message = f"{folder}: rope_type = {turn['rope_type']!r}, expected 'default'"
            raise UsageError(message)
    dense = _dense_layers(folder)
    stored = folder / WEIGHTS
    if not stored.is_file() or not (folder / TOKENIZER).is_file():
        message = f"{folder}: expected {WEIGHTS} in one piece and {TOKENIZER}"
        raise UsageError(message)
    weights = {_short(name): np.asarray(a, np.float32) for name, a in read_tensors(stored).items()}
    return SentenceFolder(
        folder.resolve().name,
        config,
        weights,
        dense,
        _prompts(folder),
        folder / TOKENIZER,
        _revision(folder),
    )


def _dense_layers(folder: Path) -> tuple[Array, ...]:
    """Return the linear layers of ``modules.json``, and refuse what is no sentence model."""
    found: list[Array] = []
    for module in _read(folder / "modules.json", list):
        kind, place = str(module["type"]).rpartition(".")[2], folder / str(module["path"])
        if kind == "Pooling":
            pooling = _read(place / "config.json")
            modes = [k for k, v in pooling.items() if k.startswith("pooling_mode_") and v]
            mode = pooling.get("pooling_mode")
            if modes not in ([], ["pooling_mode_mean_tokens"]) or mode not in {None, "mean"}:
                message = f"{place}: pools by {mode or ', '.join(modes)}, expected the mean alone"
                raise UsageError(message)
        elif kind == "Dense":
            layer = _read(place / "config.json")
            if layer.get("bias") or not str(layer["activation_function"]).endswith("Identity"):
                message = f"{place}: expected a linear layer without bias and activation"
                raise UsageError(message)
            (weight,) = read_tensors(place / WEIGHTS).values()
            found.append(np.asarray(weight, np.float32))
        elif kind not in {"Transformer", "Normalize"}:
            message = f"{folder}: a module of type {kind!r} cannot be converted"
            raise UsageError(message)
    return tuple(found)


def _prompts(folder: Path) -> dict[str, str]:
    path = folder / "config_sentence_transformers.json"
    prompts = (_read(path).get("prompts") or {}) if path.is_file() else {}
    return {name: str(prompts.get(name) or "") for name in ("query", "document")}


def _short(name: str) -> str:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name


def _revision(folder: Path) -> str:
    """Hash everything that changes a vector."""
    digest = hashlib.sha256()
    parts = [folder / "config.json", folder / TOKENIZER, *sorted(folder.rglob(WEIGHTS))]
    for path in parts:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _read(path: Path, kind: type = dict) -> Any:  # noqa: ANN401 # JSON
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read ({error}); expected a sentence-transformers folder"
        raise UsageError(message) from None
    if not isinstance(value, kind):
        message = f"{path}: expected a JSON {'list' if kind is list else 'object'}"
        raise UsageError(message)
    return value
