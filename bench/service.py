"""What our way to an embeddings service costs above the service's own client."""

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from openai import OpenAI

from bench.figures import Figure
from bench.pipeline import stub_server
from bench.trees import Source
from codelake.embedding import embed_texts
from codelake.settings import EmbeddingSettings
from resources.embedders import open_embedder

_TEXTS: Final = 4096
_BATCH: Final = 128  # texts of a request, what our side sends a server it does not know
_ROUNDS: Final = 3


def measure(sources: list[Source]) -> list[Figure]:
    """Embed the same texts with a bare client loop and with ours, in turns."""
    texts = [source.content[:1200].decode("utf-8", "replace") for source in sources]
    texts = [f"{number} {texts[number % len(texts)]}" for number in range(_TEXTS)]
    with stub_server() as port:
        spent = [_round(f"http://127.0.0.1:{port}/v1", texts) for _ in range(_ROUNDS)]
    bare, ours = (min(column) for column in zip(*spent, strict=True))
    return [
        Figure("bare client loop", bare, "CPU s"),
        Figure("embed_texts, vectors checked and in a table", ours, "CPU s"),
        Figure("ratio", ours / bare, goal="at most 1.15"),
    ]


def _round(url: str, texts: list[str]) -> tuple[float, float]:
    return _spent(lambda: _bare(url, texts)), _spent(lambda: _ours(url, texts))


def _bare(url: str, texts: list[str]) -> None:
    client = OpenAI(api_key="none", base_url=url)
    for start in range(0, len(texts), _BATCH):
        answer = client.embeddings.create(model="stub", input=texts[start : start + _BATCH])
        np.array([item.embedding for item in answer.data], dtype=np.float32)
    client.close()


def _ours(url: str, texts: list[str]) -> None:
    settings = EmbeddingSettings(embedder="openai-compatible", base_url=url, model="stub")
    embedder: Any = open_embedder(settings)
    embedder.service.width = 1
    slices = embed_texts(((str(i), text) for i, text in enumerate(texts)), embedder)
    stored = sum(part.table.num_rows for part in slices)
    embedder.close()
    if stored != len(texts):
        message = f"{len(texts) - stored} texts have no vector"
        raise RuntimeError(message)


def _spent(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
