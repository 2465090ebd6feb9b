"""Intervals and tests for figures of questions: means per repository, then over repositories.

Every mean here is a weighted sum over questions: in a set each repository weighs the same, in an
average over sets each set weighs the same. Differences are paired: the same questions under two
arms. Repositories are taken as given, so an interval speaks of other questions about these
repositories.
"""

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
_SLICE: Final = 500  # resamples at a time: 500 x 2,000 questions are 8 MB


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
    groups = _groups(strata)
    generator = np.random.default_rng(seed)
    totals = np.zeros(resamples)
    for group in groups:
        own = weighted[group]
        for start in range(0, resamples, _SLICE):
            size = min(_SLICE, resamples - start)
            drawn = generator.integers(0, len(own), (size, len(own)))
            totals[start : start + size] += own[drawn].sum(axis=1)
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
    generator = np.random.default_rng(seed)
    # A rounding error of the sums must not make an equal one look smaller.
    threshold = seen - 1e-12 * np.abs(weighted).sum()
    extreme = 0
    for start in range(0, resamples, _SLICE):
        size = min(_SLICE, resamples - start)
        signs = generator.integers(0, 2, (size, len(weighted))) * 2.0 - 1.0
        extreme += int((np.abs(signs @ weighted) >= threshold).sum())
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


def _groups(strata: Sequence[Stratum]) -> list[NDArray[np.intp]]:
    places: dict[Stratum, list[int]] = {}
    for index, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(index)
    return [np.array(own, np.intp) for own in places.values()]
