"""The report: one HTML page that needs nothing else, and the same as Markdown and Parquet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from evaluation.metrics import MEASURES
from evaluation.pages import Section, as_html, as_markdown
from evaluation.plots import Mark, curve_plot, interval_plot, size_plot
from evaluation.retrieval_sets import Question
from evaluation.statistics import Estimate
from evaluation.summary import EVERY_SET, PRIMARY, Comparison, Outcome, System, verdict

RANKINGS: Final = "gold_recall@10"  # the measure rankings are compared by
WORST: Final = 8  # questions shown side by side
_TEXT: Final = 400  # characters of a question that are shown
_LINE_MAPPED: Final = ("line_max_recall@5", "line_mean_recall@5")
# Of the sizes of chunks.
_SHARES: Final = {"10 %": 0.1, "median": 0.5, "90 %": 0.9, "largest": 1.0}

Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Report:
    """What a benchmark found, ready to be written."""

    sections: tuple[Section, ...]
    summary: pa.Table
    questions: pa.Table
    cuts: pa.Table

    def write(self, folder: Path) -> Path:
        """Write ``report.html``, ``report.md`` and three Parquet tables; return the page."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("summary", "questions", "cuts"):
            pq.write_table(getattr(self, name), folder / f"{name}.parquet")
        (folder / "report.md").write_text(as_markdown(self.sections), "utf-8")
        page = folder / "report.html"
        page.write_text(as_html(self.sections), "utf-8")
        return page


def build_report(
    rows: pa.Table, cuts: pa.Table, baseline: str, questions: Mapping[tuple[str, str], Question]
) -> Report:
    """Make the report of a benchmark.

    Args:
        rows: a row a question, of :data:`evaluation.benchmark.ROWS`.
        cuts: a row a cut corpus, of :data:`evaluation.benchmark.CUTS`.
        baseline: the chunker that the others are compared with.
        questions: by set and id, for the questions that went worst.
    """
    records = rows.to_pylist()
    outcome = Outcome(records)
    compared = outcome.comparisons(baseline, PRIMARY)
    indexes = _indexes(cuts)
    sections = (
        _verdict(compared, records),
        _differences(compared),
        _means(outcome, PRIMARY),
        _line_mapped(outcome, baseline),
        _rankings(outcome),
        _by_size(outcome, indexes),
        _by_cost(outcome, indexes),
        _sizes(indexes),
        _breakdown(outcome, "language"),
        _breakdown(outcome, "repository"),
        _worst(outcome, questions),
        *(_means(outcome, measure) for measure in MEASURES if measure != PRIMARY),
        _lineage(records),
    )
    return Report(sections, outcome.summary(baseline), rows, cuts)


def _verdict(compared: Sequence[Comparison], records: Sequence[Mapping[str, Any]]) -> Section:
    commits = ", ".join(sorted({row["code_commit"] for row in records}))
    how = (
        f"{PRIMARY} is the {MEASURES[PRIMARY]}. Made by code {commits}. Means per repository "
        "first, then over repositories, then over sets. Intervals are 95 % paired bootstrap over "
        "questions; a difference is called clear when its interval excludes zero and the "
        "permutation test, corrected for every comparison of the measure (Holm), is below 0.05. "
        "All figures are per cent."
    )
    sentences = verdict(compared) or ["Nothing was compared: there is one chunker only."]
    return Section("Which chunker finds more?", (*sentences, how))


def _differences(compared: Sequence[Comparison]) -> Section:
    marks: dict[str, dict[str, Mark]] = {}
    rows: Rows = []
    for comparison in compared:
        estimate, tested = comparison.difference.estimate, comparison.difference
        system = comparison.system
        label = f"{system.label} · {comparison.set_name}"
        marks.setdefault(label, {})[_ranking(system)] = _mark(estimate)
        clear = "clear" if tested.is_clear else "not clear"
        cells = [comparison.set_name, system.label, comparison.baseline.label, _ranking(system)]
        cells += [_signed(estimate), f"{tested.p_value:.4f}", f"{tested.adjusted:.4f}", clear]
        rows.append([*cells, f"{estimate.count:,}"])
    axis = f"difference in points: {MEASURES[PRIMARY]}"
    plot = interval_plot(marks, axis, zero=True) if marks else ""
    head = ("set", "chunker", "baseline", "ranking", "difference", "p", "corrected p", "", "n")
    return Section("Differences to the baseline", (), plot, head, rows)


def _rankings(outcome: Outcome) -> Section:
    text = (
        f"{_sentence_case(MEASURES[RANKINGS])}: each combination against its parts, and each step "
        "of the product's search against the one before, over all questions and over those that "
        "several places answer. An asterisk marks what is clear."
    )
    every = outcome.ranking_comparisons(RANKINGS)
    if not every:
        return Section("Which ranking finds more?", ("Nothing was compared: ask for hybrid.",))
    several = {
        (c.set_name, c.system, c.baseline): c
        for c in outcome.ranking_comparisons(RANKINGS, fewest=2)
    }
    rows: Rows = []
    for own in every:
        other = several.get((own.set_name, own.system, own.baseline))
        cells = [own.set_name, own.system.label, _ranking(own.system), own.baseline.retrieval]
        rows.append([*cells, *_change(own), *(_change(other) if other else ("", ""))])
    head = ("set", "chunker", "ranking", "against", "all questions", "n", "several golds", "n")
    return Section("Which ranking finds more?", (text,), "", head, rows)


def _change(comparison: Comparison) -> tuple[str, str]:
    difference = comparison.difference
    mark = "*" if difference.is_clear else ""
    return f"{_signed(difference.estimate)}{mark}", f"{difference.estimate.count:,}"


def _means(outcome: Outcome, measure: str) -> Section:
    scopes = [*outcome.sets, EVERY_SET] if len(outcome.sets) > 1 else outcome.sets
    rows: Rows = []
    marks: dict[str, dict[str, Mark]] = {}
    for system in outcome.systems:
        found = [outcome.estimate(system, scope, measure) for scope in scopes]
        rows.append([system.label, _ranking(system), *map(_with_interval, found)])
        marks.setdefault(system.label, {})[_ranking(system)] = _mark(found[-1])
    counts = [f"{len(outcome.rows(outcome.systems[0], scope)):,}" for scope in scopes]
    head = ("chunker", "ranking", *(f"{s} (n = {n})" for s, n in zip(scopes, counts, strict=True)))
    plot = interval_plot(marks, f"{scopes[-1]}: {MEASURES[measure]}") if measure == PRIMARY else ""
    return Section(measure, (f"{_sentence_case(MEASURES[measure])}.",), plot, head, rows)


def _line_mapped(outcome: Outcome, baseline: str) -> Section:
    text = (
        "The paper gives each line the score of its chunk, puts lines together into the "
        "baseline's blocks of 50 lines and scores those. It does not say how lines are put "
        "together, and the sign of the result hangs on it: both ways are shown."
    )
    rows: Rows = []
    for name in outcome.sets:
        rows += _line_rows(outcome, baseline, name)
    head = ("set", "chunker", "ranking", "largest line score", "mean line score")
    return Section("The paper's Recall@5, mapped by lines", (text,), "", head, rows)


def _line_rows(outcome: Outcome, baseline: str, name: str) -> Rows:
    by_measure = {
        measure: {(c.set_name, c.system): c for c in outcome.comparisons(baseline, measure)}
        for measure in _LINE_MAPPED
    }
    rows: Rows = []
    for system in outcome.systems:
        cells = []
        for measure in _LINE_MAPPED:
            estimate = outcome.estimate(system, name, measure)
            comparison = by_measure[measure].get((name, system))
            change = f", {_signed(comparison.difference.estimate)}" if comparison else ""
            cells.append(f"{100 * estimate.mean:.1f}{change}")
        rows.append([name, system.label, _ranking(system), *cells])
    return rows


def _indexes(cuts: pa.Table) -> list[dict[str, Any]]:
    """Return what the index of each arm holds over all repositories, in the order of the arms."""
    frame = pl.from_arrow(cuts)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 # what a table gives
    sizes = pl.col("nws").explode().drop_nulls()
    found = frame.group_by("chunker", "header", maintain_order=True).agg(
        pl.col("chunks", "distinct_texts", "characters", "bytes").sum(),
        sizes,
        sizes.mean().fill_null(1.0).alias("mean_nws"),
        *(sizes.quantile(share, "higher").alias(name) for name, share in _SHARES.items()),
    )
    return found.to_dicts()


def _by_size(outcome: Outcome, indexes: Sequence[Mapping[str, Any]]) -> Section:
    series: dict[str, list[Mark]] = {}
    mean_nws = {(index["chunker"], index["header"]): index["mean_nws"] for index in indexes}
    scope = _widest(outcome)
    for system in outcome.systems:
        kind = f"{system.chunker.split(':')[0]} {_ranking(system)}"
        estimate = outcome.estimate(system, scope, PRIMARY)
        size = mean_nws[system.chunker, system.header]
        series.setdefault(kind, []).append(_mark(estimate, size, system.label))
    plot = curve_plot(series, "mean nws of a chunk", f"{PRIMARY}, {scope}")
    return Section("What the size of a chunk does", (), plot)


def _by_cost(outcome: Outcome, indexes: Sequence[Mapping[str, Any]]) -> Section:
    series: dict[str, list[Mark]] = {}
    rows: Rows = []
    scope = _widest(outcome)
    for index in indexes:
        chunker, header = index["chunker"], index["header"]
        label = chunker if header == "none" else f"{chunker} {header}"
        counts = (f"{index[key]:,}" for key in ("chunks", "distinct_texts", "characters"))
        rows.append([label, *counts, f"{index['bytes'] / 1e6:.1f}"])
        for system in outcome.systems:
            if (system.chunker, system.header) == (chunker, header):
                estimate = outcome.estimate(system, scope, PRIMARY)
                mark = _mark(estimate, index["chunks"], system.label)
                series.setdefault(_ranking(system), []).append(mark)
    plot = curve_plot(series, "rows of the index", f"{PRIMARY}, {scope}")
    head = ("chunker", "rows of the index", "texts to embed", "characters to embed", "MB searched")
    return Section("What an index costs", (), plot, head, rows)


def _sizes(indexes: Sequence[Mapping[str, Any]]) -> Section:
    first = {index["chunker"]: index for index in reversed(indexes)}  # a header changes no size
    rows = [
        [name, f"{index['chunks']:,}", *(f"{index[share] or 0:,.0f}" for share in _SHARES)]
        for name, index in reversed(first.items())
    ]
    head = ("chunker", "chunks", *_SHARES)
    plot = size_plot({row[0]: first[row[0]]["nws"] for row in rows}, "nws of a chunk")
    return Section("How big the chunks are", (), plot, head, rows)


def _breakdown(outcome: Outcome, key: str) -> Section:
    rows: Rows = []
    systems = outcome.systems
    for name, own in outcome.breakdown(key).items():
        count = next(iter(own.values())).count
        rows.append([name, f"{count:,}", *(_with_interval(own[s]) for s in systems if s in own)])
    head = (key, "n", *(f"{s.label}, {_ranking(s)}" for s in systems))
    return Section(f"By {key}", (f"{_sentence_case(MEASURES[PRIMARY])}.",), "", head, rows)


def _worst(outcome: Outcome, questions: Mapping[tuple[str, str], Question]) -> Section:
    """Show the questions that every system answers worst, with what each retrieved."""
    systems = outcome.systems
    totals: dict[tuple[str, str], float] = {}
    top: dict[tuple[str, str], dict[System, list[str]]] = {}
    for system in systems:
        for row in outcome.rows(system, EVERY_SET):
            key = (row["set"], row["question_id"])
            totals[key] = totals.get(key, 0.0) + row[PRIMARY]
            top.setdefault(key, {})[system] = row["top"]
    rows: Rows = []
    for key in sorted(totals, key=lambda key: (totals[key], key))[:WORST]:
        question = questions.get(key)
        text = _end_of(question.text) if question else ""
        spans = question.gold if question else ()
        gold = "\n".join(f"{g.path}:{g.start_line}-{g.end_line}" for g in spans)
        found = ("\n".join(top[key].get(system, [])) for system in systems)
        rows.append([f"{key[0]}\n{key[1]}", text, gold, *found])
    head = ("question", "text", "gold", *(f"{s.label}, {_ranking(s)}" for s in systems))
    return Section("The questions that went worst", (), "", head, rows, is_prose=True)


def _end_of(text: str) -> str:
    """Return a question, or the end of a long one: code asks with its last lines."""
    return text if len(text) <= _TEXT else f"… {text[-_TEXT:]}"


def _lineage(records: Sequence[Mapping[str, Any]]) -> Section:
    keys = (
        "set",
        "set_hash",
        "repository",
        "licence",
        "model_id",
        "chunker_version",
        "code_commit",
    )
    rows = sorted({tuple(str(row[key]) for key in keys) for row in records})
    return Section("Where the figures come from", (), "", keys, rows)


def _widest(outcome: Outcome) -> str:
    return EVERY_SET if len(outcome.sets) > 1 else outcome.sets[0]


def _ranking(system: System) -> str:
    return f"{system.retrieval} {system.model_id}".rstrip()


def _mark(estimate: Estimate, x: float = 0.0, label: str = "") -> Mark:
    return Mark(100 * estimate.mean, 100 * estimate.low, 100 * estimate.high, x, label)


def _with_interval(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:.1f} ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def _signed(estimate: Estimate) -> str:
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.mean:+.1f} ({low:+.1f} to {high:+.1f})"


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]
