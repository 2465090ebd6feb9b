"""Walks over vectors on a circle, where every neighbour is known."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from codelake.embedding import Embedded
from codelake.errors import EmbeddingError
from codelake.search import Answer, Filters, search
from codelake.search.multihop import STOP_REASONS
from codelake.settings import SearchSettings
from resources.store import LanceStore, LanceTables
from tests.lake import chunk, embed, fill


class AngleEmbedder:
    """Texts that end in a number of degrees become directions."""

    model_id = "angle"
    dimension = 8
    max_tokens = 1000
    is_remote = False

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        angles = [math.radians(float(text.split()[-1])) for text in texts]
        rows = [[math.cos(a), math.sin(a), *[0.0] * 6] for a in angles]
        return Embedded(np.array(rows, np.float32))

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        return self.embed_documents(texts)


class TextReranker:
    """Scores each text by a function of its degrees and of how often it was asked."""

    model_id = "by-degrees"
    is_remote = False

    def __init__(self, score: Callable[[float, int], float]) -> None:
        self.score = score
        self.calls: list[int] = []

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        assert query
        self.calls.append(len(texts))
        degrees = [float(text.split()[-1]) for text in texts]
        return np.array([self.score(d, len(self.calls)) for d in degrees], np.float32)


EMBEDDER = AngleEmbedder()


def nearer_is_better(degrees: float, _: int) -> float:
    return 1 - degrees / 360


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> LanceTables:
    rows = [
        chunk(f"{degrees:03}.py", f"step {degrees}", repository="left" if degrees < 90 else "right")
        for degrees in range(0, 180, 2)
    ]
    return fill(tmp_path_factory.mktemp("circle"), rows, [], EMBEDDER)


def walk(
    tables: LanceTables,
    score: Callable[[float, int], float] = nearer_is_better,
    *,
    clock: Callable[[], float] = float,
    k: int = 3,
    mode: str = "hybrid",
    filters: Filters = Filters(),  # noqa: B008 - frozen
    **numbers: float,
) -> tuple[Answer, TextReranker]:
    hop = SearchSettings().multihop.model_copy(update=numbers)
    settings = SearchSettings().model_copy(update={"multihop": hop, "depth": 6})
    reranker = TextReranker(score)
    answer = search(
        "degrees 0",
        tables=tables,
        embedder=EMBEDDER,
        reranker=reranker,
        mode=mode,
        k=k,
        filters=filters,
        settings=settings,
        clock=clock,
    )
    return answer, reranker


def test_a_reranker_makes_hybrid_walk_and_reranks_three_times_the_wanted(
    tables: LanceTables,
) -> None:
    answer, reranker = walk(tables, k=4)
    assert answer.mode == "multihop"
    assert answer.stopped in STOP_REASONS
    assert reranker.calls[0] == 12


def test_the_first_search_takes_at_most_a_hundred(tables: LanceTables) -> None:
    _, reranker = walk(tables, k=40, first_candidates=50, batch=500)
    assert reranker.calls[0] == 50


def test_hits_come_from_farther_with_each_hop_and_name_their_seed(tables: LanceTables) -> None:
    def sixty_is_right(degrees: float, _: int) -> float:
        return 1.0 if degrees >= 60 else 0.1 + degrees / 1000

    answer, _ = walk(tables, sixty_is_right, neighbours=20, rerank_weight=1, high_score=0.1)
    assert answer.hits[0].path == "060.py"
    assert answer.hits[0].hop > 1
    assert answer.hits[0].seed
    assert [h.score for h in answer.hits] == sorted((h.score for h in answer.hits), reverse=True)


def test_no_seed_is_expanded_twice_and_nothing_new_ends(tables: LanceTables) -> None:
    answer, reranker = walk(
        tables,
        lambda *_: 1.0,
        neighbours=4,
        filters=Filters(repositories=("left",)),
        candidates=500,
    )
    assert answer.stopped in {"nothing-new", "few-candidates"}
    assert len(reranker.calls) < 20


def test_few_high_scoring_candidates_end_it(tables: LanceTables) -> None:
    answer, reranker = walk(tables, lambda degrees, _: 1.0 if degrees < 8 else 0.1)
    assert answer.stopped == "few-candidates"
    assert len(reranker.calls) == 1
    assert all(h.hop == 0 for h in answer.hits)


def test_a_falling_top_score_ends_it(tables: LanceTables) -> None:
    answer, reranker = walk(tables, lambda degrees, call: 0.9 - 0.2 * (call > 1 and degrees == 2))
    assert answer.stopped == "score-drop"
    assert len(reranker.calls) == 2
    answer, reranker = walk(tables, lambda degrees, call: 0.9 - 0.1 * (call > 1 and degrees == 2))
    assert answer.stopped != "score-drop"


def test_the_number_of_candidates_ends_it(tables: LanceTables) -> None:
    answer, reranker = walk(tables, lambda *_: 1.0, candidates=30, neighbours=30)
    assert answer.stopped == "candidates"
    assert max(reranker.calls) == 30


def test_time_ends_it_between_rounds_and_inside_one(tables: LanceTables) -> None:
    ticks: Iterator[int] = count()
    answer, _ = walk(tables, lambda *_: 1.0, clock=lambda: float(next(ticks)), seconds=1.0)
    assert answer.stopped == "time"
    assert answer.hits
    ticks = count()
    answer, reranker = walk(
        tables, lambda *_: 1.0, clock=lambda: float(next(ticks)), seconds=2.0, batch=4
    )
    assert answer.stopped == "time"
    assert reranker.calls == [4, 4]
    assert len(answer.hits) == 3
    ticks = count()
    answer, reranker = walk(
        tables, lambda *_: 1.0, clock=lambda: float(next(ticks)), seconds=5.0, batch=4
    )
    assert answer.stopped == "time"
    assert reranker.calls[:4] == [4, 4, 1, 4]


def test_rows_without_a_vector_seed_nothing(tmp_path: Path) -> None:
    rows = [chunk(f"{n}.py", f"degrees {n}") for n in range(30)]
    fill(tmp_path, rows)
    store = LanceStore(tmp_path)
    embed(store, EMBEDDER, most=1)
    answer, _ = walk(store.search_tables(), lambda *_: 1.0, k=10)
    assert answer.mode == "multihop"
    assert answer.stopped == "nothing-new"


def test_each_question_of_a_batch_walks(tables: LanceTables) -> None:
    reranker = TextReranker(nearer_is_better)
    answer = search(
        ["degrees 0", "degrees 178"], tables=tables, embedder=EMBEDDER, reranker=reranker
    )
    assert answer.mode == "multihop"
    assert {q for h in answer.hits for q in h.matched_queries} == {"degrees 0", "degrees 178"}


def test_it_can_be_refused_and_falls_back_with_a_notice(tables: LanceTables) -> None:
    answer, reranker = walk(tables, when="never")  # type: ignore[arg-type]
    assert (answer.mode, answer.stopped, reranker.calls) == ("hybrid", None, [])
    answer, _ = walk(tables, mode="multihop", when="never")  # type: ignore[arg-type]
    assert answer.mode == "multihop"
    answer = search("degrees 0", tables=tables, embedder=EMBEDDER, mode="multihop")
    assert answer.mode == "hybrid"
    assert "No reranker" in answer.notices[0]


def test_a_failing_reranker_leaves_the_regular_answer(tables: LanceTables) -> None:
    def fail(*_: object) -> float:
        message = "no answer from the server"
        raise EmbeddingError(message)

    answer, _ = walk(tables, fail)
    assert (answer.mode, answer.stopped) == ("hybrid", None)
    assert answer.hits[0].path == "000.py"
    assert "no answer from the server" in answer.notices[0]
    answer, _ = walk(tables, lambda *_: math.nan)
    assert "no numbers" in answer.notices[0]


def test_without_vectors_it_falls_back(tmp_path: Path) -> None:
    tables = fill(tmp_path, [chunk("a.py", "degrees 3")])
    answer = search(
        "degrees 3",
        tables=tables,
        embedder=EMBEDDER,
        reranker=TextReranker(nearer_is_better),
        mode="multihop",
    )
    assert answer.mode == "hybrid"
    assert len(answer.notices) == 2
    assert answer.hits[0].path == "a.py"


def test_the_order_is_made_of_both_scores(tables: LanceTables) -> None:
    def farther_is_better(degrees: float, _: int) -> float:
        return 0.5 + degrees / 360

    answer, _ = walk(tables, farther_is_better, neighbours=20, rerank_weight=0.0)
    hybrid = search(
        "degrees 0", tables=tables, embedder=EMBEDDER, k=len(answer.hits), mode="hybrid"
    )
    assert [hit.path for hit in answer.hits] == [hit.path for hit in hybrid.hits]
