"""The stream of texts, the slices that come out, and what is refused."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.embedding import (
    BLANK,
    Embedded,
    EmbeddingSlice,
    Part,
    Usage,
    embed_texts,
    gather,
    unit_vectors,
)
from codelake.errors import EmbeddingError
from codelake.schemas import EMBEDDINGS
from resources.embedders.hashing import HashEmbedder

TEXTS = [(f"hash{i}", f"text number {i}") for i in range(10)]


class Streaming(HashEmbedder):
    """Answers two texts at a time, the later one first, and may stop."""

    def __init__(self, *, stop_after: int | None = None, is_remote: bool = False) -> None:
        super().__init__(8)
        self.is_remote = is_remote
        self.stop_after = stop_after
        self.seen: list[str] = []

    def embed_parts(self, texts: Iterable[str]) -> Iterator[Part]:
        pending: list[tuple[int, str]] = []
        for position, text in enumerate(texts):
            if position == self.stop_after:
                message = "the server is gone"
                raise EmbeddingError(message)
            self.seen.append(text)
            pending.append((position, text))
            if len(pending) == 2:
                yield self._answer(pending[::-1])
                pending = []
        if pending:
            yield self._answer(pending)

    def _answer(self, pending: list[tuple[int, str]]) -> Part:
        return Part([p for p, _ in pending], self.embed_documents([text for _, text in pending]))


class Faulty(HashEmbedder):
    """Gives the vectors it was made with."""

    def __init__(self, vectors: Sequence[Sequence[float]]) -> None:
        super().__init__(len(vectors[0]))
        self.vectors = np.array(vectors, dtype=np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        return Embedded(self.vectors[: len(texts)], {}, truncated=(0,))


def hashes(slices: Iterable[EmbeddingSlice]) -> list[str]:
    return [h for part in slices for h in part.table["text_hash"].to_pylist()]


def test_every_text_comes_out_once_with_its_own_vector() -> None:
    embedder = HashEmbedder(8)
    (only,) = embed_texts(TEXTS, embedder)
    EMBEDDINGS.check(only.table)
    assert only.table["text_hash"].to_pylist() == [h for h, _ in TEXTS]
    assert set(only.table["model_id"].to_pylist()) == {"hash2-8"}
    stored = np.array(only.table["vector"].to_pylist(), dtype=np.float32)
    wanted = embedder.embed_documents([text for _, text in TEXTS]).vectors
    np.testing.assert_allclose(stored, wanted, atol=1e-3)


def test_slices_are_cut_at_their_size() -> None:
    slices = embed_texts(TEXTS, HashEmbedder(8), slice_texts=4)
    assert [len(s.table) for s in slices] == [4, 4, 2]


def test_a_fast_embedder_fills_eight_slices_at_once() -> None:
    clock = iter(range(100)).__next__
    slices = embed_texts(TEXTS, HashEmbedder(8), slice_texts=1, slice_seconds=50, clock=clock)
    assert [len(s.table) for s in slices] == [8, 2]


def test_a_slice_waits_no_longer_than_it_may() -> None:
    clock = iter(range(100)).__next__  # a second between two looks
    slices = embed_texts(TEXTS, HashEmbedder(8), slice_texts=1, slice_seconds=3, clock=clock)
    assert [len(s.table) for s in slices] == [3, 3, 3, 1]


def test_parts_out_of_order_find_their_hash() -> None:
    slices = list(embed_texts(TEXTS, Streaming(), slice_texts=6))
    assert [len(s.table) for s in slices] == [6, 4]
    by_hash = dict(
        zip(hashes(slices), [v for s in slices for v in s.table["vector"].to_pylist()], strict=True)
    )
    wanted = HashEmbedder(8).embed_documents([text for _, text in TEXTS]).vectors
    np.testing.assert_allclose([by_hash[h] for h, _ in TEXTS], wanted, atol=1e-3)


def test_paid_parts_are_yielded_at_once() -> None:
    slices = embed_texts(TEXTS, Streaming(is_remote=True), slice_texts=1000)
    assert hashes([next(slices)]) == ["hash1", "hash0"]


def test_an_embedder_that_stops_loses_nothing_it_had_finished() -> None:
    finished: list[EmbeddingSlice] = []
    with pytest.raises(EmbeddingError, match="server is gone"):
        finished.extend(embed_texts(TEXTS, Streaming(stop_after=5)))
    assert sorted(hashes(finished)) == ["hash0", "hash1", "hash2", "hash3"]


def test_blank_texts_are_reported_and_never_sent() -> None:
    embedder = Streaming()
    texts = [("a", ""), ("b", "words"), ("c", " \n\t"), ("d", "more words")]
    (only,) = embed_texts(texts, embedder)
    assert embedder.seen == ["words", "more words"]
    assert only.failures == {"a": BLANK, "c": BLANK}
    assert only.table["text_hash"].to_pylist() == ["d", "b"]


def test_only_blank_texts_make_an_empty_table() -> None:
    (only,) = embed_texts([("a", "")], HashEmbedder(8))
    EMBEDDINGS.check(only.table)
    assert len(only.table) == 0
    assert only.failures == {"a": BLANK}


def test_no_texts_make_no_slice() -> None:
    assert list(embed_texts([], HashEmbedder(8))) == []


def test_progress_counts_every_text_once() -> None:
    told: list[int] = []
    list(embed_texts(TEXTS, Streaming(), progress=told.append))
    assert told == [2, 2, 2, 2, 2]


def test_vectors_that_are_none_are_never_stored() -> None:
    nan, inf = float("nan"), float("inf")
    embedder = Faulty([[3, 4], [nan, 1], [inf, 1], [0, 0], [0, 2]])
    (only,) = embed_texts(TEXTS[:5], embedder)
    assert only.table["text_hash"].to_pylist() == ["hash0", "hash4"]
    stored = np.array(only.table["vector"].to_pylist())
    np.testing.assert_allclose(stored, [[0.6, 0.8], [0, 1]], atol=1e-3)
    assert sorted(only.failures) == ["hash1", "hash2", "hash3"]
    assert only.truncated == ("hash0",)


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ([1.0], "wrong dimension: 1 numbers instead of 2"),
        ([1.0, 2.0, 3.0], "wrong dimension: 3 numbers instead of 2"),
        ([[1.0, 2.0]], "wrong dimension: 2 numbers instead of 2"),
        ([float("nan"), 1.0], "not finite"),
        ([1.0, float("-inf")], "not finite"),
        ([0.0, -0.0], "all zero"),
    ],
    ids=["short", "long", "nested", "nan", "infinite", "zero"],
)
def test_a_vector_is_refused_with_its_reason(vector: list[float], reason: str) -> None:
    answer = unit_vectors([[3.0, 4.0], vector], 2)
    assert list(answer.failures) == [1]
    assert reason in answer.failures[1]
    np.testing.assert_allclose(answer.vectors, [[0.6, 0.8], [0, 0]], atol=1e-6)


@given(st.lists(st.lists(st.floats(allow_nan=True, width=32), min_size=3, max_size=3), min_size=1))
def test_a_row_is_a_unit_vector_or_a_failure(raw: list[list[float]]) -> None:
    answer = unit_vectors(raw, 3)
    lengths = np.linalg.norm(answer.vectors.astype(np.float64), axis=1)
    for row, length in enumerate(lengths):
        assert length == pytest.approx(0.0 if row in answer.failures else 1.0, abs=1e-5)


def test_gather_orders_parts_and_keeps_failures_and_marks() -> None:
    def parts(texts: Iterable[str]) -> Iterator[Part]:
        assert list(texts) == ["one", "two", "three"]
        yield Part([2, 0], Embedded(np.array([[1, 0], [0, 0]], np.float32), {1: "bad"}, (0,)))
        yield Part([1], Embedded(np.array([[0, 1]], np.float32), {}, (0,)))

    answer = gather(["one", " ", "two", "three"], parts, 2)
    np.testing.assert_array_equal(answer.vectors, [[0, 0], [0, 0], [0, 1], [1, 0]])
    assert answer.failures == {0: "bad", 1: BLANK}
    assert answer.truncated == (2, 3)


def test_usage_starts_at_nothing() -> None:
    assert Usage() == Usage(texts=0, tokens=0, requests=0, retries=0, truncated=0, cost=0.0)
