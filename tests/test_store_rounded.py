"""Rounded vectors leave out no row that is among the nearest, and few others stay."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resources.store.resident import ResidentVectors
from resources.store.rounded import RoundedVectors

ROWS = 2200


def vectors(seed: int, dimension: int, centres: int = 0, rows: int = ROWS) -> np.ndarray:
    chance = np.random.default_rng(seed)
    found = chance.standard_normal((rows, dimension))
    if centres:
        found = (
            0.2 * found + chance.standard_normal((centres, dimension))[np.arange(rows) % centres]
        )
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    dimension=st.sampled_from([8, 33, 96]),
    centres=st.sampled_from([0, 1, 40]),
    k=st.sampled_from([1, 10, 200]),
    share=st.sampled_from([None, 0.5, 0.02]),
)
def test_the_nearest_rows_are_candidates(
    seed: int, dimension: int, centres: int, k: int, share: float | None
) -> None:
    stored = vectors(seed, dimension, centres).astype(np.float16)
    queries = vectors(seed + 1, dimension, centres, rows=4).astype(np.float32)
    allowed = None if share is None else np.random.default_rng(seed).random(ROWS) < share
    count = k if allowed is None else min(k, int(allowed.sum()))
    exact = queries @ stored.astype(np.float32).T
    if allowed is not None:
        exact[:, ~allowed] = -np.inf
    found = RoundedVectors(stored).candidates(queries, count, allowed)
    for rows, scores in zip(found, exact, strict=True):
        assert set(np.argsort(-scores, kind="stable")[:count]) <= set(rows)


def test_few_rows_are_compared_again() -> None:
    stored = vectors(0, 384).astype(np.float16)
    (rows,) = RoundedVectors(stored).candidates(
        vectors(1, 384, rows=1).astype(np.float32), 10, None
    )
    assert len(rows) < ROWS // 20


def test_rows_and_questions_of_nothing_but_zeros_are_no_error() -> None:
    stored = np.zeros((50, 16), np.float16)
    stored[0, 0] = 1
    queries = np.array([[1.0, *[0.0] * 15], [0.0] * 16], np.float32)
    first, second = RoundedVectors(stored).candidates(queries, 1, None)
    assert first.tolist() == [0]
    assert 0 in second


@pytest.mark.parametrize("share", [None, 0.3])
def test_rounding_changes_no_answer(share: float | None) -> None:
    stored = vectors(3, 64, 30).astype(np.float16)
    stored[100:140] = stored[7]  # ties
    ids = pa.array([f"{n * 7919 % ROWS:05}" for n in range(ROWS)])
    allowed = None if share is None else np.random.default_rng(0).random(ROWS) < share
    held = ResidentVectors(ids, stored)
    queries = stored[[7, 500]].astype(np.float32)
    before = held.nearest(queries, 20, allowed)
    held.round()
    assert held.nearest(queries, 20, allowed) == before
