"""Intervals and tests for figures of questions: means per repository, then over repositories.

Every mean here is a weighted sum over questions: in a set each repository weighs the same, in an
average over sets each set weighs the same. Differences are paired: the same questions under two
arms. Repositories are taken as given, so an interval speaks of other questions about these
repositories.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Stratum = tuple[str, str]
"""Set and repository of a question."""

RESAMPLES: Final = 10_000  # the error of a 95 % bound is below a hundredth of the interval's width
SEED: Final = 20_250_615  # any fixed number: the same figures in every run
LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval at :data:`LEVEL`; ``count`` questions stand behind it."""

    mean: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The paired difference of two arms.

    Args:
        estimate: of the difference.
        p_value: of the two-sided permutation test.
        adjusted: the p value after Holm's correction for all comparisons made together.
    """

    estimate: Estimate
    p_value: float
    adjusted: float = 1.0

    @property
    def is_clear(self) -> bool:
        """Say whether the interval excludes zero and the corrected test agrees."""
        excludes = self.estimate.low > 0 or self.estimate.high < 0
        return excludes and self.adjusted < 1 - LEVEL


def weights(strata: Sequence[Stratum]) -> Floats:
    """Return the weight of each question in the mean over sets of means over repositories."""
    repositories: dict[str, set[str]] = {}
    counts: dict[Stratum, int] = {}
    for stratum in strata:
        repositories.setdefault(stratum[0], set()).add(stratum[1])
        counts[stratum] = counts.get(stratum, 0) + 1
    shares = [len(repositories) * len(repositories[s[0]]) * counts[s] for s in strata]
    return 1.0 / np.array(shares, np.float64)


def mean(values: Floats, strata: Sequence[Stratum]) -> float:
    """Return the mean over sets of the means over repositories."""
    return float(values @ weights(strata))


def bootstrap(
    values: Floats, strata: Sequence[Stratum], *, seed: int = SEED, resamples: int = RESAMPLES
) -> Estimate:
    """Return the mean with a percentile interval.

    Questions are drawn anew within each repository. Give differences of two arms for a paired
    interval.
    """
    weighted = values * weights(strata)
    totals = _draws(tuple(strata), seed, resamples) @ weighted.astype(np.float32)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(totals, [tail, 1 - tail])
    return Estimate(float(weighted.sum()), float(low), float(high), len(values))


def permutation_test(
    differences: Floats,
    strata: Sequence[Stratum],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> float:
    """Return the two-sided p value of "the arms are the same".

    If they are, the sign of each question's difference is a coin toss.
    """
    weighted = differences * weights(strata)
    seen = abs(weighted.sum())
    # A rounding error of the sums must not make an equal one look smaller.
    threshold = seen - 1e-6 * np.abs(weighted).sum()
    totals = _signs(len(weighted), seed, resamples) @ weighted.astype(np.float32)
    extreme = int((np.abs(totals) >= threshold).sum())
    return (extreme + 1) / (resamples + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values corrected for their number, in their order (Holm's step-down)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def compare(
    pairs: Mapping[str, tuple[Floats, Floats, Sequence[Stratum]]], *, seed: int = SEED
) -> dict[str, Difference]:
    """Return first minus second for each named pair, corrected for the number of pairs.

    Args:
        pairs: values of two arms over the same questions, and the questions' strata.
        seed: of every resampling.
    """
    found: dict[str, Difference] = {}
    for name, (first, second, strata) in pairs.items():
        differences = first - second
        estimate = bootstrap(differences, strata, seed=seed)
        found[name] = Difference(estimate, permutation_test(differences, strata, seed=seed))
    adjusted = holm([difference.p_value for difference in found.values()])
    return {
        name: Difference(difference.estimate, difference.p_value, value)
        for (name, difference), value in zip(found.items(), adjusted, strict=True)
    }


# One report asks hundreds of times about the same questions: 10,000 x 1,200 are 48 MB.
@functools.lru_cache(8)
def _draws(strata: tuple[Stratum, ...], seed: int, resamples: int) -> NDArray[np.float32]:
    """Return how often each resample (row) draws each question (column)."""
    generator = np.random.default_rng(seed)
    counts = np.zeros((resamples, len(strata)), np.float32)
    for stratum in dict.fromkeys(strata):
        own = [index for index, other in enumerate(strata) if other == stratum]
        counts[:, own] = generator.multinomial(len(own), [1 / len(own)] * len(own), resamples)
    return counts


@functools.lru_cache(8)
def _signs(count: int, seed: int, resamples: int) -> NDArray[np.float32]:
    """Return a random sign for each resample (row) and question (column)."""
    generator = np.random.default_rng(seed)
    return (generator.integers(0, 2, (resamples, count)) * 2 - 1).astype(np.float32)
