"""The embedded default: all-MiniLM-L6-v2 as int8 ONNX, shipped with the package, on this CPU."""

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import islice
from typing import Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from codelake.embedding import Embedded, Part, Usage, gather, unit_vectors
from codelake.errors import UsageError
from codelake.hashing import bytes_hash
from codelake.settings import EmbeddingSettings
from resources.embedders.opening import refuse_settings
from resources.models import model_file

MODEL: Final = "minilm.onnx"
TOKENIZER: Final = "minilm_tokenizer.json"
REVISION: Final = "74c0e9ebf07d"  # first digits of the SHA-256 of MODEL; a test compares them
DIMENSION: Final = 384
POSITIONS: Final = 512  # tokens the model can read at all

LEAST_TOKENS: Final = 3  # the two marks around a text, and one of its own

# Tokens of a text that are read by default: docs/embedders.md has the table of recall and cost.
DEFAULT_TOKENS: Final = 256
WINDOW_TEXTS: Final = 256  # texts that are tokenised together
PART_TEXTS: Final = 64  # texts that are answered together, four seconds of work or less
# No token of this vocabulary needs more characters on average, white space included; a longer
# text is cut before it is tokenised, so that a megabyte costs no more than a page.
CHARACTERS_PER_TOKEN: Final = 64
_BEGIN: Final = 101  # [CLS]
_END: Final = 102  # [SEP]


class MiniLMEmbedder:
    """Embed with the shipped model; loaded at the first text, once in a process.

    Args:
        max_tokens: tokens of a text that are read, at most 512.
        threads: texts that are worked on at once; 0 is every core this process may use.
    """

    dimension: int = DIMENSION
    is_remote: bool = False

    def __init__(self, max_tokens: int = DEFAULT_TOKENS, *, threads: int = 0) -> None:
        """Choose how much of a text is read and by how many threads; nothing is loaded yet."""
        if not LEAST_TOKENS <= max_tokens <= POSITIONS:
            message = (
                f"embedding.max_tokens = {max_tokens}: "
                f"minilm reads {LEAST_TOKENS} to {POSITIONS} tokens"
            )
            raise UsageError(message)
        self.max_tokens = max_tokens
        self.model_id = f"minilm-{REVISION}-{max_tokens}"
        self.usage = Usage()
        self._threads = threads or _cores()

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched."""
        return gather(texts, self.embed_parts, self.dimension)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for; this model makes no difference."""
        return self.embed_documents(texts)

    def reading_hashes(self, texts: Sequence[str]) -> list[str]:
        """Return a hash of the tokens that are read of each text."""
        windows = (texts[i : i + WINDOW_TEXTS] for i in range(0, len(texts), WINDOW_TEXTS))
        rows = (row for window in windows for row in self._tokenize(window)[0])
        return [bytes_hash(" ".join(map(str, row)).encode()) for row in rows]

    def embed_ids(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the vectors of texts given as token ids, without the marks around them."""
        marked = [[_BEGIN, *row[: self.max_tokens - 2], _END] for row in rows]
        return np.stack(list(self._vectors(marked)))

    def embed_parts(self, texts: Iterable[str]) -> Iterator[Part]:
        """Embed texts as they come, batch by batch."""
        stream, start = iter(texts), 0
        while window := list(islice(stream, WINDOW_TEXTS)):
            yield from self._window(window, start)
            start += len(window)

    def _window(self, texts: Sequence[str], start: int) -> Iterator[Part]:
        rows, is_cut = self._tokenize(texts)
        vectors = self._vectors(rows)
        for first in range(0, len(rows), PART_TEXTS):
            part = range(first, min(first + PART_TEXTS, len(rows)))
            answer = unit_vectors([next(vectors) for _ in part], DIMENSION)
            cut = tuple(i - first for i in part if is_cut[i])
            self.usage.texts += len(part)
            self.usage.tokens += sum(len(rows[i]) for i in part)
            self.usage.requests += 1
            self.usage.truncated += len(cut)
            positions = [start + i for i in part]
            yield Part(positions, Embedded(answer.vectors, answer.failures, cut))

    def _vectors(self, rows: Sequence[Sequence[int]]) -> Iterator[NDArray[np.float32]]:
        """Run the model on one text after the other, on several threads if there are several.

        Not in batches: the weights are 8-bit and the numbers between the layers are scaled to
        8 bits by the largest of the batch, so that a vector would depend on its company (cosine
        0.989 to itself). Alone, with a thread a text, it is as fast and needs no padding.
        """
        if len(rows) == 1 or self._threads == 1:
            return map(_forward, rows)
        return _pool(self._threads).map(_forward, rows)

    def _tokenize(self, texts: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        limit = self.max_tokens
        longest = limit * CHARACTERS_PER_TOKEN
        found = load_tokenizer().encode_batch_fast([text[:longest] for text in texts])
        rows = [encoding.ids for encoding in found]
        is_cut = [
            len(row) > limit or len(text) > longest for row, text in zip(rows, texts, strict=True)
        ]
        return [row if len(row) <= limit else [*row[: limit - 1], _END] for row in rows], is_cut


def open_minilm(settings: EmbeddingSettings) -> MiniLMEmbedder:
    """Return the embedded default as the settings want it.

    Raises:
        UsageError: a setting that this model does not have.
    """
    refuse_settings(settings, ["model", "base_url", "dimensions", "output_type"])
    return MiniLMEmbedder(settings.max_tokens or DEFAULT_TOKENS, threads=settings.threads)


def _cores() -> int:
    # macOS cannot say which cores a process may use, only how many there are.
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _forward(row: Sequence[int]) -> NDArray[np.float32]:
    vectors: NDArray[np.float32]
    (vectors,) = _session().run(None, {"input_ids": np.array([row], dtype=np.int64)})
    vector: NDArray[np.float32] = vectors[0]
    return vector


# Two threads that ask at once would otherwise load the model twice.
_LOADING: Final = threading.Lock()


def _session() -> onnxruntime.InferenceSession:
    with _LOADING:
        return _load_session()


@lru_cache(maxsize=1)
def _load_session() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the threads of _pool each run a text of their own
    options.inter_op_num_threads = 1
    # Texts have many lengths; a remembered memory plan for each would only grow.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(model_file(MODEL)), options, providers=["CPUExecutionProvider"]
    )


@lru_cache(maxsize=1)
def load_tokenizer() -> Tokenizer:
    """Return the model's tokenizer, which neither cuts nor fills up, read once in a process."""
    tokenizer = Tokenizer.from_file(str(model_file(TOKENIZER)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="minilm")
