"""The shipped embedders: tokens, chunks and symbols a second, and one question."""

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from bench.figures import Figure
from bench.measure import run_measured
from bench.trees import Source
from codelake.chunking import chunk
from codelake.embedding import Embedder
from resources.embedders.minilm import MiniLMEmbedder
from resources.embedders.static import StaticEmbedder

_CHUNKS = 512
_SYMBOLS = 2048
_QUESTIONS = 200
# Code has 3.3 characters a token: these are texts of some 300 and of some 30.
_CHUNK_CHARACTERS = 1000
_SYMBOL_CHARACTERS = 100
_STARTS = 3
_START = """
from codelake.settings import EmbeddingSettings
from resources.embedders import open_embedder
open_embedder(EmbeddingSettings()).embed_queries(["where are retries handled"])
"""


def measure(sources: list[Source]) -> list[Figure]:
    """Embed real chunks and symbol-like texts with one and with two threads."""
    chunks = _chunk_texts(sources)
    symbols = [
        text[:_SYMBOL_CHARACTERS] for text in chunks * (1 + _SYMBOLS // max(1, len(chunks)))
    ][:_SYMBOLS]
    figures = []
    for threads in sorted({1, min(2, len(os.sched_getaffinity(0)))}):
        embedder = MiniLMEmbedder(threads=threads)
        embedder.embed_queries(["load the model before anything is measured"])
        figures += _rates(embedder, chunks, f"chunks, {threads} thread(s)")
        figures += _rates(embedder, symbols, f"symbols, {threads} thread(s)")
    return [*figures, *_question(embedder, ""), _start(), *_measure_table(chunks, symbols)]


def _measure_table(chunks: Sequence[str], symbols: Sequence[str]) -> list[Figure]:
    """Embed the same texts with the token table, whose tokens are words and fewer."""
    table = StaticEmbedder()
    table.embed_queries(["load the table before anything is measured"])
    rates = [*_rates(table, chunks, "static, chunks"), *_rates(table, symbols, "static, symbols")]
    return [*rates, *_question(table, "static, ")]


def _chunk_texts(sources: list[Source]) -> list[str]:
    """Return chunks from files spread over the whole tree."""
    step = max(1, len(sources) // _CHUNKS)
    texts: list[str] = []
    for source in sources[::step]:
        found = chunk(source.content, source.language)
        long = [part.text for part in found if len(part.text) >= _CHUNK_CHARACTERS]
        texts += [text[:_CHUNK_CHARACTERS] for text in long[len(long) // 2 :][:2]]
    return texts[:_CHUNKS]


def _rates(embedder: Embedder, texts: Sequence[str], name: str) -> list[Figure]:
    tokens = embedder.usage.tokens
    cpu, wall = _spent(lambda: embedder.embed_documents(texts))
    tokens = embedder.usage.tokens - tokens
    return [
        Figure(f"{name}: texts", len(texts) / wall, "a second"),
        Figure(f"{name}: texts", len(texts) / cpu, "a CPU second"),
        Figure(f"{name}: tokens", tokens / cpu, "a CPU second"),
        Figure(f"{name}: tokens of a text", tokens / len(texts)),
    ]


def _question(embedder: Embedder, name: str) -> list[Figure]:
    spent = []
    for number in range(_QUESTIONS):
        question = [f"where are the retries of request {number} handled"]
        spent.append(_spent(partial(embedder.embed_queries, question)))
    cpu, wall = (statistics.median(column) * 1000 for column in zip(*spent, strict=True))
    return [
        Figure(f"{name}one question, median", wall, "ms"),
        Figure(f"{name}one question, median", cpu, "CPU ms"),
    ]


def _start() -> Figure:
    """Measure a new process up to the answer of its first question."""
    costs = [run_measured([sys.executable, "-c", _START]).cpu_seconds for _ in range(_STARTS)]
    return Figure("start and first question, median", statistics.median(costs), "CPU s")


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU and the wall seconds of ``work``."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall
