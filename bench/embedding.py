"""The embedded default model: tokens, chunks and symbols a second, and one question."""

import os
import statistics
import time
from collections.abc import Callable, Sequence

from bench.figures import Figure
from bench.trees import Source
from codelake.chunking import chunk
from resources.embedders.minilm import MiniLMEmbedder

_CHUNKS = 512
_SYMBOLS = 2048
_QUESTIONS = 200


def measure(sources: list[Source]) -> list[Figure]:
    """Embed real chunks and symbol-like texts with one and with two threads."""
    chunks = _chunk_texts(sources)
    symbols = [text[:160] for text in chunks * (1 + _SYMBOLS // max(1, len(chunks)))][:_SYMBOLS]
    figures = []
    for threads in sorted({1, min(2, len(os.sched_getaffinity(0)))}):
        embedder = MiniLMEmbedder(threads=threads)
        embedder.embed_queries(["load the model before anything is measured"])
        figures += _rates(embedder, chunks, f"chunks, {threads} thread(s)")
        figures += _rates(embedder, symbols, f"symbols, {threads} thread(s)")
    figures.append(_question(embedder))
    return figures


def _chunk_texts(sources: list[Source]) -> list[str]:
    """Return chunks from files spread over the whole tree."""
    step = max(1, len(sources) // _CHUNKS)
    texts: list[str] = []
    for source in sources[::step]:
        found = chunk(source.content, source.language)
        texts += [part.text for part in found[len(found) // 2 :][:2]]
    return texts[:_CHUNKS]


def _rates(embedder: MiniLMEmbedder, texts: Sequence[str], name: str) -> list[Figure]:
    tokens = embedder.usage.tokens
    cpu, wall = _spent(lambda: embedder.embed_documents(texts))
    tokens = embedder.usage.tokens - tokens
    return [
        Figure(f"{name}: texts", len(texts) / wall, "a second"),
        Figure(f"{name}: texts", len(texts) / cpu, "a CPU second"),
        Figure(f"{name}: tokens", tokens / cpu, "a CPU second"),
        Figure(f"{name}: tokens of a text", tokens / len(texts)),
    ]


def _question(embedder: MiniLMEmbedder) -> Figure:
    times = []
    for number in range(_QUESTIONS):
        question = [f"where are the retries of request {number} handled"]
        start = time.perf_counter()
        embedder.embed_queries(question)
        times.append(time.perf_counter() - start)
    return Figure("one question, median", statistics.median(times) * 1000, "ms")


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU and the wall seconds of ``work``."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall
