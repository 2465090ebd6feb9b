"""From rows of questions to means with intervals, differences with tests, and a verdict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from codelake.schemas import column
from evaluation.metrics import MEASURES, Floats
from evaluation.statistics import Difference, Estimate, Stratum, bootstrap, compare

PRIMARY: Final = "gold_nws"
"""The measure of the verdict: what a reader of a fixed number of characters gets of the answer."""

EVERY_SET: Final = "every set"

# Which ranking is held against which: a combination against its parts, and each step of the
# product against the one before.
_STEPS: Final = (
    *(("hybrid", "bm25"), ("hybrid", "dense")),
    *(("search", "hybrid"), ("multihop", "search")),
)

Row = Mapping[str, Any]
_S, _I, _F = pa.string(), pa.int64(), pa.float64()

SUMMARY: Final = pa.schema(
    (
        column("set", _S, "retrieval set; 'every set' is the mean over sets"),
        column("chunker", _S, "chunker, with size and overlap"),
        column("header", _S, "context line in front of the embedded body"),
        column("retrieval", _S, "bm25, dense, hybrid with its weight, search or multihop"),
        column("model_id", _S, "model of the vectors; empty for bm25"),
        column("measure", _S, "name in docs/evaluation.md"),
        column("mean", _F, "mean per repository, then over repositories (and over sets)"),
        column("low", _F, "lower end of its 95 % bootstrap interval"),
        column("high", _F, "upper end"),
        column("questions", _I, "questions behind it"),
        column("baseline", _S, "chunker it is compared with; empty for the baseline itself"),
        column("difference", _F, "mean paired difference to the baseline"),
        column("difference_low", _F, "lower end of its 95 % bootstrap interval"),
        column("difference_high", _F, "upper end"),
        column("p_value", _F, "two-sided permutation test"),
        column("p_adjusted", _F, "after Holm's correction for all comparisons of the measure"),
        column("is_clear", pa.bool_(), "the interval excludes zero and p_adjusted is below 0.05"),
    )
)


@dataclass(frozen=True, slots=True, order=True)
class System:
    """What is compared on the same questions: an arm and how its chunks are ranked."""

    chunker: str
    header: str
    retrieval: str
    model_id: str

    @property
    def ranking(self) -> tuple[str, str]:
        """Return what a system must share with the baseline it is compared with."""
        return self.retrieval, self.model_id

    @property
    def kind(self) -> str:
        """Return the ranking without its weight."""
        return self.retrieval.partition(":")[0]

    @property
    def label(self) -> str:
        """Return a short name of the arm, with its header if it has one."""
        return self.chunker if self.header == "none" else f"{self.chunker} {self.header}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system against the baseline of its ranking."""

    set_name: str
    system: System
    baseline: System
    difference: Difference


class Outcome:
    """The rows of a benchmark by system and set, questions aligned."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Group ``rows``, in the order in which systems and sets come."""
        self._rows: dict[System, dict[str, dict[str, Row]]] = {}
        # Tables, plots and the summary ask for the same figures.
        self._estimates: dict[tuple[System, str, str], Estimate] = {}
        self._compared: dict[tuple[str, str], list[Comparison]] = {}
        for row in rows:
            system = System(row["chunker"], row["header"], row["retrieval"], row["model_id"])
            own = self._rows.setdefault(system, {}).setdefault(row["set"], {})
            own[row["question_id"]] = row

    @property
    def systems(self) -> list[System]:
        """Return the systems in the order of the rows."""
        return list(self._rows)

    @property
    def sets(self) -> list[str]:
        """Return the names of the sets in the order of the rows."""
        return list(dict.fromkeys(name for own in self._rows.values() for name in own))

    def rows(self, system: System, set_name: str) -> list[Row]:
        """Return the rows of a system in one set or in every set."""
        names = self.sets if set_name == EVERY_SET else [set_name]
        return [row for name in names for row in self._rows[system].get(name, {}).values()]

    def estimate(self, system: System, set_name: str, measure: str) -> Estimate:
        """Return a mean with its interval."""
        key = (system, set_name, measure)
        if key not in self._estimates:
            rows = self.rows(system, set_name)
            self._estimates[key] = bootstrap(_values(rows, measure), _strata(rows))
        return self._estimates[key]

    def comparisons(self, baseline: str, measure: str) -> list[Comparison]:
        """Compare every system with the ``baseline`` chunker under the same ranking.

        All comparisons of the measure are corrected together.
        """
        key = (baseline, measure)
        if key not in self._compared:
            bases = self._bases(baseline)
            pairs = [(s, bases[s.ranking]) for s in self.systems if s.ranking in bases]
            self._compared[key] = self._differences(pairs, measure)
        return self._compared[key]

    def ranking_comparisons(self, measure: str, *, fewest: int = 1) -> list[Comparison]:
        """Compare rankings of the same chunks, over questions with at least ``fewest`` golds."""
        pairs = [
            (system, base)
            for own, other in _STEPS
            for system in self.systems
            for base in self.systems
            if (system.kind, base.kind) == (own, other) and _has_same_chunks(system, base)
        ]
        return self._differences(pairs, measure, fewest)

    def _differences(
        self, compared: Sequence[tuple[System, System]], measure: str, fewest: int = 1
    ) -> list[Comparison]:
        pairs: dict[str, tuple[Floats, Floats, Sequence[Stratum]]] = {}
        found: dict[str, tuple[str, System, System]] = {}
        for name in self._scopes():
            for system, base in compared:
                rows = [row for row in self.rows(system, name) if row["golds"] >= fewest]
                others = [row for row in self.rows(base, name) if row["golds"] >= fewest]
                if rows and base != system:
                    key = str(len(pairs))
                    found[key] = (name, system, base)
                    own, other = _values(rows, measure), _values(others, measure)
                    pairs[key] = (own, other, _strata(rows))
        tested = compare(pairs)
        return [Comparison(*found[key], tested[key]) for key in found]

    def _bases(self, baseline: str) -> dict[tuple[str, str], System]:
        """Return the baseline of each ranking; where it has several headers, the first."""
        bases: dict[tuple[str, str], System] = {}
        for system in self.systems:
            if system.chunker == baseline:
                bases.setdefault(system.ranking, system)
        return bases

    def _scopes(self) -> list[str]:
        return [*self.sets, EVERY_SET] if len(self.sets) > 1 else self.sets

    def summary(self, baseline: str, measures: Sequence[str] = tuple(MEASURES)) -> pa.Table:
        """Return every mean and difference as a table of :data:`SUMMARY`."""
        rows: list[dict[str, Any]] = []
        for measure in measures:
            tested = {(c.set_name, c.system): c for c in self.comparisons(baseline, measure)}
            for name in self._scopes():
                for system in self.systems:
                    estimate = self.estimate(system, name, measure)
                    comparison = tested.get((name, system))
                    rows.append(_summary_row(name, system, measure, estimate, comparison))
        return pa.Table.from_pylist(rows, schema=SUMMARY)

    def breakdown(self, key: str, measure: str = PRIMARY) -> dict[str, dict[System, Estimate]]:
        """Return means by language or repository, over every set, with their intervals."""
        groups: dict[str, dict[System, list[Row]]] = {}
        for system in self.systems:
            for row in self.rows(system, EVERY_SET):
                own = groups.setdefault(_group(row, key), {})
                own.setdefault(system, []).append(row)
        return {
            name: {s: bootstrap(_values(r, measure), _strata(r)) for s, r in groups[name].items()}
            for name in sorted(groups)
        }


def _has_same_chunks(one: System, other: System) -> bool:
    """Say whether two systems rank the same chunks, with the same vectors if both have some."""
    is_same_model = one.model_id == other.model_id or "" in (one.model_id, other.model_id)
    return is_same_model and (one.chunker, one.header) == (other.chunker, other.header)


def verdict(comparisons: Sequence[Comparison], measure: str = PRIMARY) -> list[str]:
    """Return what the intervals say on the widest set there is, what is clear first.

    Args:
        comparisons: from :meth:`Outcome.comparisons`.
        measure: what was compared.
    """
    widest = EVERY_SET if any(c.set_name == EVERY_SET for c in comparisons) else None
    told = [c for c in comparisons if not widest or c.set_name == widest]
    if not told:
        return []
    clear = [c for c in told if c.difference.is_clear]
    base = told[0].baseline.label
    count, verb = (len(clear), "are") if clear else ("None", "is")
    of = f"{len(told)} differences to {base} in {measure}, {told[0].set_name},"
    found = [f"{count} of {of} {verb} clear."]
    found += [_sentence(comparison, measure) for comparison in clear]
    for ranking in dict.fromkeys(c.system.ranking for c in told):
        rest = [c for c in told if c.system.ranking == ranking and not c.difference.is_clear]
        if rest:
            named = "; ".join(f"{c.system.label} {_points(c.difference)}" for c in rest)
            found.append(
                f"{' '.join(ranking).strip()}: not clearly different from {base}: {named}."
            )
    return found


def _sentence(comparison: Comparison, measure: str) -> str:
    difference = comparison.difference
    estimate = difference.estimate
    word = "more" if estimate.mean > 0 else "less"
    said = (
        f"{comparison.system.label} finds {abs(100 * estimate.mean):.1f} points {word} than "
        f"{comparison.baseline.label} in {measure}"
    )
    facts = f"n = {estimate.count:,}, corrected p = {difference.adjusted:.4f}"
    ranking = " ".join(comparison.system.ranking).strip()
    return f"{ranking}: {said}: {_points(difference)}, {facts}."


def _points(difference: Difference) -> str:
    estimate = difference.estimate
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.mean:+.1f} ({low:+.1f} to {high:+.1f})"


def _summary_row(
    name: str, system: System, measure: str, estimate: Estimate, comparison: Comparison | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "set": name,
        "chunker": system.chunker,
        "header": system.header,
        "retrieval": system.retrieval,
        "model_id": system.model_id,
        "measure": measure,
        "mean": estimate.mean,
        "low": estimate.low,
        "high": estimate.high,
        "questions": estimate.count,
        "baseline": "",
        "difference": 0.0,
        "difference_low": 0.0,
        "difference_high": 0.0,
        "p_value": 1.0,
        "p_adjusted": 1.0,
        "is_clear": False,
    }
    if comparison is None:
        return row
    difference = comparison.difference
    return row | {
        "baseline": comparison.baseline.label,
        "difference": difference.estimate.mean,
        "difference_low": difference.estimate.low,
        "difference_high": difference.estimate.high,
        "p_value": difference.p_value,
        "p_adjusted": difference.adjusted,
        "is_clear": difference.is_clear,
    }


def _values(rows: Sequence[Row], measure: str) -> Floats:
    return np.array([row[measure] for row in rows], np.float64)


def _strata(rows: Sequence[Row]) -> list[Stratum]:
    return [(row["set"], row["repository"]) for row in rows]


def _group(row: Row, key: str) -> str:
    return f"{row['set']}: {row['repository']}" if key == "repository" else str(row[key])
