"""The product's own search over the chunks of one cut, held in memory.

Its rules, its fusion and its walk from hit to hit are :func:`codelake.search.search`. The two
rankings below it are those of the other retrievals, so nothing is embedded or indexed again. There
are no symbols: what is compared are chunks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from codelake.classify import content_flags
from codelake.embedding import Embedded, Usage
from codelake.hashing import content_hash
from codelake.search import Filters, search
from codelake.search.tables import HIT_COLUMNS, ID_COLUMNS
from codelake.settings import SearchSettings
from evaluation.arms import Cut, code_version
from evaluation.metrics import Floats, rank
from resources.rerankers import open_reranker

SETTINGS: Final = SearchSettings()
RERANKER: Final = "maxsim"
# Hits of an answer: the most whose walk still starts from three times as many. Ten chunks of the
# default budget are what a reader of 10,000 nws gets.
RESULTS: Final = SETTINGS.multihop.first_candidates // SETTINGS.multihop.factor
_DECISIVE: Final = (
    *("codelake/search", "codelake/settings.py", "codelake/natural_names.py"),
    *("codelake/classify.py", "codelake/classify.toml", "resources/rerankers/maxsim.py"),
)

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rankings:
    """What the search finds below it, for the chunks of one cut.

    Args:
        model_id: model of the vectors.
        documents: a unit vector a chunk.
        questions: a unit vector a question, by its text.
        words: BM25 of every chunk, by the question's text.
        fused: what orders the chunks that are not among the hits, at most 1, by question.
        dense_weight: of the vectors, where their embedder brings one of its own.
    """

    model_id: str
    documents: Vectors
    questions: Mapping[str, Vectors]
    words: Mapping[str, Floats]
    fused: Mapping[str, Floats]
    dense_weight: float | None = None


def product_scores(cut: Cut, rankings: Rankings, mode: str) -> Floats:
    """Return a row a question and a column a chunk, hits above 1 and all others below.

    Args:
        cut: the chunks.
        rankings: of the same chunks; the questions are those of ``rankings.questions``.
        mode: ``hybrid`` or ``multihop``.
    """
    tables, embedder = _CutTables(cut, rankings), _KeptQuestions(rankings)
    reranker = open_reranker(RERANKER) if mode == "multihop" else None
    own = rankings.dense_weight
    settings = SETTINGS if own is None else SearchSettings(dense_weight=own)
    scores = [np.array(rankings.fused[question]) for question in rankings.questions]
    for question, row in zip(rankings.questions, scores, strict=True):
        found = search(
            question,
            tables=tables,
            embedder=embedder,
            reranker=reranker,
            mode=mode,
            k=RESULTS,
            settings=settings,
        )
        for place, hit in enumerate(found.hits):
            # Scores of hits may tie where their order does not.
            row[int(hit.id)] = 2 - place / RESULTS
    return np.array(scores).reshape(len(scores), len(cut.texts))


def product_version() -> str:
    """Return eight digits over what decides an answer."""
    return code_version(*_DECISIVE)


class _KeptQuestions:
    """The embedder of questions that are embedded already."""

    max_tokens = 0
    is_remote = False

    def __init__(self, rankings: Rankings) -> None:
        self.model_id = rankings.model_id
        self.dimension = rankings.documents.shape[1]
        self.usage = Usage()
        self._vectors = rankings.questions

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        return self.embed_queries(texts)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        return Embedded(np.array([self._vectors[text] for text in texts], np.float32))


class _CutTables:
    """The chunks of a cut as ``SearchTables``: one repository, so no filter is looked at."""

    def __init__(self, cut: Cut, rankings: Rankings) -> None:
        self._chunks = _chunk_table(cut)
        self._rankings = rankings

    def nearest(
        self,
        table: str,
        vectors: Vectors,
        *,
        model_id: str,  # noqa: ARG002 # there is one model
        k: int,
        filters: Filters,  # noqa: ARG002
    ) -> list[pa.Table]:
        if table != "chunks":
            return [_ranked(table, np.empty(0), k)] * len(vectors)
        scores = vectors @ self._rankings.documents.T
        return [_ranked(table, own.astype(np.float64), k) for own in scores]

    def match(self, table: str, text: str, *, k: int, filters: Filters) -> pa.Table:  # noqa: ARG002
        scores = self._rankings.words[text] if table == "chunks" else np.empty(0)
        return _ranked(table, scores, min(k, int((scores > 0).sum())))

    def equal(
        self,
        table: str,
        column: str,
        values: Sequence[str],
        *,
        k: int,
        filters: Filters,  # noqa: ARG002
        columns: Sequence[str] = (),
    ) -> pa.Table:
        if table != "chunks":
            return pa.table({name: [] for name in columns})
        is_wanted = pc.is_in(self._chunks.column(column), value_set=pa.array(values))
        return self._chunks.filter(is_wanted).slice(0, k).select(columns)

    def matches_pattern(self, table: str, pattern: str, *, k: int, filters: Filters) -> pa.Table:  # noqa: ARG002
        chunks = self._chunks if table == "chunks" else self._chunks.slice(0, 0)
        return chunks.filter(pc.match_substring_regex(chunks.column("text"), pattern)).slice(0, k)

    def rows(self, table: str, ids: Sequence[str], *, columns: Sequence[str] = ()) -> pa.Table:
        if table != "chunks":
            return pa.table({name: [] for name in columns})
        return self._chunks.take([int(row_id) for row_id in ids]).select(columns)

    def vectors(self, table: str, ids: Sequence[str], *, model_id: str) -> Vectors:  # noqa: ARG002
        documents = self._rankings.documents
        return documents[[int(row_id) for row_id in ids]] if table == "chunks" else documents[:0]

    def coverage(self, table: str) -> dict[str, int]:
        return {self._rankings.model_id: self._chunks.num_rows} if table == "chunks" else {}


def _ranked(table: str, scores: Floats, k: int) -> pa.Table:
    """Return the ids and scores of the ``k`` best rows; ids ascend with the places."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k] if k else np.inf
        near = np.flatnonzero(scores >= least)
        best = near[rank(scores[near])][:k]
    else:
        best = rank(scores)
    return pa.table({ID_COLUMNS[table]: [_row_id(i) for i in best], "score": scores[best]})


def _row_id(place: int) -> str:
    return f"{place:09d}"


def _chunk_table(cut: Cut) -> pa.Table:
    texts = cut.corpus.texts
    flags = [asdict(content_flags(text.path, text.text)) for text in texts]
    rows = [
        {
            "chunk_id": _row_id(place),
            "repository": "",
            "path": texts[file].path,
            "language": chunk.language or texts[file].language,
            "content_hash": content_hash(chunk.text),
            **{name: getattr(chunk, name) for name in ("start_line", "end_line", "kind", "name")},
            **{name: getattr(chunk, name) for name in ("scope", "text")},
            **flags[file],
        }
        for place, (chunk, file) in enumerate(zip(cut.chunks, cut.pieces.file, strict=True))
    ]
    columns = {name: [row[name] for row in rows] for name in HIT_COLUMNS["chunks"]}
    return pa.table(columns)
