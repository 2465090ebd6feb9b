"""Questions over the tables of the tree: milliseconds without the question's own embedding."""

import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.figures import Figure
from bench.pipeline import index
from bench.trees import Source, write_repositories
from codelake.embedding import Embedded, Embedder
from codelake.search import search
from resources.embedders.hashing import HashEmbedder
from resources.store import LanceStore, LanceTables

_QUESTIONS: Final = 200
_GOALS: Final = {"hybrid": "<= 15", "multihop": "<= 150", "vector": "", "text": "", "symbol": ""}
_ASKERS: Final = 100  # who ask at once
_SCORES: Final = 997  # different scores that texts get
_DIMENSION: Final = 384


class _Remembered:
    """An embedder that has seen every question before, so that only the search is measured."""

    def __init__(self, questions: Sequence[str]) -> None:
        self._inner = HashEmbedder(_DIMENSION)
        vectors = self._inner.embed_queries(questions).vectors
        self._vectors = dict(zip(questions, vectors, strict=True))
        self.model_id, self.dimension = self._inner.model_id, _DIMENSION
        self.max_tokens, self.is_remote, self.usage = 512, False, self._inner.usage

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed as the index did."""
        return self._inner.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Return what is remembered."""
        return Embedded(np.stack([self._vectors[text] for text in texts]))


class _Free:
    """A reranker that costs next to nothing: what is left is the walk itself."""

    model_id: str = "free"
    is_remote: bool = False

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return scores above a half, by the lengths of the texts."""
        del query
        lengths = np.array([len(text) for text in texts])
        return (0.5 + lengths % _SCORES / (2 * _SCORES)).astype(np.float32)


def measure(sources: list[Source]) -> list[Figure]:
    """Index ``sources`` and ask for what its own doc comments say."""
    with tempfile.TemporaryDirectory(prefix="codelake-search-") as name:
        folder = Path(name)
        write_repositories(sources, folder / "tree")
        config = folder / "codelake.toml"
        config.write_text(
            f"[embedding]\nembedder = 'hash'\ndimensions = {_DIMENSION}\n", encoding="utf-8"
        )
        index(folder / "tree", folder / "store", config)
        store = LanceStore(folder / "store")
        questions = _questions(store)
        tables = store.search_tables()
        embedder = _Remembered(questions)
        figures = [Figure(f"{t}", store.summary()[t], "rows") for t in ("chunks", "symbols")]
        for mode in _GOALS:
            figures += _times(mode, questions, tables, embedder)
        return [*figures, _together(questions, tables, embedder)]


def _questions(store: LanceStore) -> list[str]:
    """Return first sentences of doc comments, spread over the table."""
    docs = store.read("symbols", columns=["doc", "symbol_id"]).sort_by("symbol_id")["doc"]
    lines = [doc.split("\n")[0].strip() for doc in docs.to_pylist() if doc]
    good = list(dict.fromkeys(line for line in lines if 20 <= len(line) <= 120))  # noqa: PLR2004 # as long as a question
    return good[:: max(1, len(good) // _QUESTIONS)][:_QUESTIONS]


def _times(
    mode: str, questions: Sequence[str], tables: LanceTables, embedder: Embedder
) -> list[Figure]:
    reranker = _Free() if mode == "multihop" else None

    def ask(question: str) -> None:
        search(question, tables=tables, embedder=embedder, reranker=reranker, mode=mode)

    for question in questions[:5]:
        ask(question)
    times = []
    cpu = time.process_time()
    for question in questions:
        start = time.perf_counter()
        ask(question)
        times.append(1000 * (time.perf_counter() - start))
    cpu = 1000 * (time.process_time() - cpu) / len(questions)
    return [
        Figure(f"{mode}: median", statistics.median(times), "ms", _GOALS[mode]),
        Figure(f"{mode}: mean of CPU time, all threads", cpu, "ms"),
        Figure(f"{mode}: 95th percentile", statistics.quantiles(times, n=20)[-1], "ms"),
    ]


def _together(questions: Sequence[str], tables: LanceTables, embedder: Embedder) -> Figure:
    """Ask by many at once; an answer that differs from the one alone counts as an error."""

    def ask(number: int) -> list[str]:
        question = questions[number % len(questions)]
        return [hit.id for hit in search(question, tables=tables, embedder=embedder).hits]

    alone = [ask(number) for number in range(_ASKERS)]
    with ThreadPoolExecutor(_ASKERS) as pool:
        together = list(pool.map(ask, range(_ASKERS)))
    wrong = sum(one != other for one, other in zip(alone, together, strict=True))
    return Figure(f"{_ASKERS} askers at once: wrong answers", wrong, "", "0")
