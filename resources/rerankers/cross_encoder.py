"""A cross-encoder of one's own: an ONNX model and its tokenizer in a folder, on this CPU."""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from codelake.errors import EmbeddingError, UsageError
from codelake.settings import RerankingSettings

_MODELS: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx")
_TOKENIZER: Final = "tokenizer.json"
_TOKENS: Final = 512  # of a pair, where the folder does not say what the model reads
_MOST_TOKENS: Final = 8192  # some folders say 10^30
_BATCH: Final = 16  # pairs that are padded to one length
_CHARACTERS_PER_TOKEN: Final = 64  # a longer text is cut before it is tokenised
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})

Array = NDArray[np.float32]


class CrossEncoderReranker:
    """Score with a model that reads a question and a text together.

    Args:
        folder: where the model and ``tokenizer.json`` are, as exported for ONNX.
    """

    is_remote: bool = False

    def __init__(self, folder: Path) -> None:
        """Find the files; nothing is loaded yet."""
        self._model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
        self._folder = folder
        if self._model is None or not (folder / _TOKENIZER).is_file():
            message = (
                f"search.reranking.model = {str(folder)!r}: expected a folder with {_TOKENIZER} "
                f"and one of {', '.join(_MODELS)}"
            )
            raise UsageError(message)

    @cached_property
    def model_id(self) -> str:
        """Name of the folder and first digits of the model's SHA-256."""
        assert self._model is not None  # noqa: S101 # __init__ has looked
        with self._model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"onnx-{self._folder.resolve().name}-{digest[:12]}"

    def rerank(self, query: str, texts: Sequence[str]) -> Array:
        """Return a score between 0 and 1 for each text; 0 for a blank one.

        Raises:
            EmbeddingError: the model cannot be loaded, or answers something else than a score.
        """
        scores = np.zeros(len(texts), dtype=np.float32)
        asked = [row for row, text in enumerate(texts) if text.strip() and query.strip()]
        # Neighbours of like length are padded least.
        asked.sort(key=lambda row: len(texts[row]))
        for start in range(0, len(asked), _BATCH):
            rows = asked[start : start + _BATCH]
            scores[rows] = self._scores(query, [texts[row] for row in rows])
        return scores

    def _scores(self, query: str, texts: Sequence[str]) -> Array:
        longest = _CHARACTERS_PER_TOKEN * _MOST_TOKENS
        pairs = [(query[:longest], text[:longest]) for text in texts]
        encodings = self._tokenizer.encode_batch(pairs)
        values = {
            "input_ids": [e.ids for e in encodings],
            "attention_mask": [e.attention_mask for e in encodings],
            "token_type_ids": [e.type_ids for e in encodings],
        }
        names = [node.name for node in self._session.get_inputs()]
        feeds = {name: np.array(values[name], dtype=np.int64) for name in names}
        logits = np.asarray(self._session.run(None, feeds)[0], dtype=np.float64)
        if logits.shape not in {(len(texts),), (len(texts), 1), (len(texts), 2)}:
            message = (
                f"the model in {self._folder} answers {len(texts)} pairs with an array of shape "
                f"{logits.shape}, expected one score a pair, or two classes"
            )
            raise EmbeddingError(message)
        # Two classes are "does not fit" and "fits": their difference is one score.
        is_pair = logits.shape[1:] == (2,)
        raw = logits[:, 1] - logits[:, 0] if is_pair else logits.reshape(-1)
        if not np.isfinite(raw).all():
            message = f"the model in {self._folder} gives a score that is no number"
            raise EmbeddingError(message)
        found: Array = (0.5 * (1.0 + np.tanh(raw / 2.0))).astype(np.float32)
        return found

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer: Tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER))
        tokenizer.enable_truncation(_most_tokens(self._folder))
        padding = tokenizer.padding or {}
        tokenizer.enable_padding(**{**padding, "length": None})
        return tokenizer

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.enable_mem_pattern = False  # batches have many lengths
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            session = onnxruntime.InferenceSession(
                str(self._model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's errors have no other base
            message = f"the model {self._model} cannot be loaded: {error}"
            raise EmbeddingError(message) from error
        unknown = {node.name for node in session.get_inputs()} - _INPUTS
        if unknown:
            message = (
                f"the model {self._model} wants {', '.join(sorted(unknown))}, expected a "
                f"cross-encoder with no other inputs than {', '.join(sorted(_INPUTS))}"
            )
            raise EmbeddingError(message)
        return session


def open_cross_encoder(settings: RerankingSettings) -> CrossEncoderReranker:
    """Return the cross-encoder in the folder ``search.reranking.model``.

    Raises:
        UsageError: no folder, or one without a model.
    """
    if not settings.model:
        message = "the reranker 'onnx' needs search.reranking.model, the folder of the model"
        raise UsageError(message)
    if settings.base_url or settings.raw_scores:
        message = "search.reranking.base_url and raw_scores are for services, not for 'onnx'"
        raise UsageError(message)
    return CrossEncoderReranker(Path(settings.model).expanduser())


def _most_tokens(folder: Path) -> int:
    """Return the tokens a model reads, as its folder says."""
    found: list[int] = []
    for name, key in (
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        try:
            values: Any = json.loads((folder / name).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        value = values.get(key) if isinstance(values, dict) else None
        if isinstance(value, int | float) and 0 < value <= _MOST_TOKENS:
            found.append(int(value))
    return min(found, default=_TOKENS)
