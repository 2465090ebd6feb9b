"""Intervals and tests: known cases, and the laws they must keep."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from evaluation.statistics import (
    Difference,
    Estimate,
    bootstrap,
    compare,
    holm,
    mean,
    permutation_test,
    weights,
)

_ONE = [("set", "repository")] * 40


def test_each_repository_weighs_the_same_in_a_set() -> None:
    strata = [("s", "large")] * 3 + [("s", "small")]
    assert mean(np.array([1.0, 1.0, 1.0, 0.0]), strata) == 0.5


def test_each_set_weighs_the_same_in_an_average() -> None:
    strata = [("a", "x"), ("a", "y"), ("b", "z")]
    assert mean(np.array([1.0, 0.0, 0.0]), strata) == 0.25


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1))
def test_weights_sum_to_one(strata: list[tuple[str, str]]) -> None:
    assert weights(strata).sum() == pytest.approx(1.0)


def test_interval_of_a_fair_coin_is_that_of_the_textbook() -> None:
    values = np.tile([0.0, 1.0], 200)
    found = bootstrap(values, [("s", "r")] * 400)
    half_width = 1.96 * np.sqrt(0.25 / 400)
    assert found.mean == pytest.approx(0.5)
    assert found.count == 400
    assert found.low == pytest.approx(0.5 - half_width, abs=0.005)
    assert found.high == pytest.approx(0.5 + half_width, abs=0.005)


def test_questions_are_drawn_within_their_repository() -> None:
    # Whatever is drawn, the one repository has ones and the other zeros: no spread at all.
    strata = [("s", "x")] * 5 + [("s", "y")] * 5
    found = bootstrap(np.repeat([1.0, 0.0], 5), strata)
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))


def test_same_seed_same_figures() -> None:
    values = np.random.default_rng(1).normal(size=40)
    assert bootstrap(values, _ONE) == bootstrap(values, _ONE)
    assert permutation_test(values, _ONE) == permutation_test(values, _ONE)
    assert bootstrap(values, _ONE, seed=2) != bootstrap(values, _ONE, seed=3)


def test_no_difference_is_never_significant() -> None:
    assert permutation_test(np.zeros(40), _ONE) == 1.0


def test_permutation_test_counts_what_is_as_extreme() -> None:
    # Four equal differences: 2 of the 16 sign patterns are as extreme as the one seen.
    p_value = permutation_test(np.ones(4), [("s", "r")] * 4)
    assert p_value == pytest.approx(2 / 16, abs=0.01)


def test_permutation_test_keeps_its_level_where_there_is_no_difference() -> None:
    generator = np.random.default_rng(102)
    samples = (generator.normal(size=30) for _ in range(1000))
    p_values = np.array([permutation_test(x, _ONE[:30], resamples=500) for x in samples])
    # Two standard errors of a share of 1,000 around the level.
    assert abs(np.mean(p_values < 0.05) - 0.05) < 0.014


def test_holm_of_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_never_shrinks(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    assert np.argsort(adjusted, kind="stable").tolist() or p_values == []
    pairs = sorted(zip(p_values, adjusted, strict=True))
    assert [a for _, a in pairs] == sorted(a for _, a in pairs)


def test_a_steady_gain_is_clear_and_a_coin_toss_is_not() -> None:
    generator = np.random.default_rng(3)
    base = generator.uniform(size=40)
    found = compare(
        {
            "gain": (base + 0.2 + generator.normal(0, 0.05, 40), base, _ONE),
            "noise": (generator.permutation(base), base, _ONE),
        }
    )
    assert found["gain"].is_clear
    assert found["gain"].estimate.mean == pytest.approx(0.2, abs=0.03)
    assert not found["noise"].is_clear
    assert found["noise"].adjusted >= found["noise"].p_value


def test_a_difference_is_clear_only_if_interval_and_test_agree() -> None:
    away = Estimate(0.2, 0.1, 0.3, 40)
    assert Difference(away, 0.01, 0.02).is_clear
    assert not Difference(away, 0.03, 0.09).is_clear
    assert not Difference(Estimate(0.2, -0.1, 0.3, 40), 0.01, 0.02).is_clear
    assert Difference(Estimate(-0.2, -0.3, -0.1, 40), 0.01, 0.02).is_clear
