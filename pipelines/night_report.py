"""The report of a night: one page, or Markdown, that a person would hand on."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from codelake.paths import display_path
from codelake.schemas import SKIP_REASONS
from codelake.search.snippets import make_visible
from evaluation.pages import Section, as_html, as_markdown
from evaluation.plots import bar_plot
from pipelines.telling import failures_by_place, tell_night
from resources.nights import Night

_SLOWEST: Final = 8  # stages that are named
_TRENDS: Final = ("seconds", "texts embedded", "dollars", "chunks", "failures")


def write_report(nights: Sequence[Night], *, is_html: bool) -> str:
    """Return the report of the first of ``nights``, with the others as its history.

    Args:
        nights: at least one, the newest first.
        is_html: one page that needs nothing else; otherwise Markdown, without plots.
    """
    began = datetime.fromisoformat(nights[0].began).astimezone(UTC)
    title = f"codelake: the night of {began:%Y-%m-%d}"
    sections = [*_sections(nights[0]), _history(nights)]
    if is_html:
        return as_html([*sections, *_trends(nights)], title)
    return as_markdown(sections, title)


def _sections(night: Night) -> Iterator[Section]:
    lines = [(str(line.label), line.text) for line in tell_night(night)]
    yield Section("In short", (), "", ("", ""), lines)
    failures = failures_by_place(night)
    if failures:
        rest = "Everything else is indexed; the rows of these are those of the night before."
        texts = (rest,) if night.outcome == "partial" else ()
        rows = list(failures.items())
        yield Section("What is red", texts, "", ("where", "why"), rows, is_prose=True)
    yield from _skips(night)
    if night.checks:
        found = [(str(c["name"]), _verdict(c), make_visible(c["told"])) for c in night.checks]
        yield Section("Checks", (), "", ("check", "", "found"), found, is_prose=True)
    seconds = {n: s for n, s in night.summary.get("seconds", {}).items() if n != "total"}
    if seconds:
        slow = sorted(seconds.items(), key=lambda stage: -stage[1])[:_SLOWEST]
        rows = [(name, f"{value:,.1f}") for name, value in slow]
        yield Section("The slowest stages", (), "", ("stage", "s"), rows)


def _skips(night: Night) -> Iterator[Section]:
    reasons: Mapping[str, int] = night.summary.get("files", {}).get("skipped", {})
    if reasons:
        rows = [
            (reason, f"{count:,}", SKIP_REASONS.get(reason, ""))
            for reason, count in sorted(reasons.items(), key=lambda item: -item[1])
        ]
        yield Section("Skipped files", (), "", ("reason", "files", "meaning"), rows)
    if night.skipped:
        rows = [(display_path(n), "", make_visible(why)) for n, why in night.skipped.items()]
        yield Section("Repositories left out", (), "", ("repository", "", "why"), rows)


def _verdict(check: Mapping[str, object]) -> str:
    if check["passed"]:
        return "passed"
    return "warns" if check["warns"] else "failed"


def _history(nights: Sequence[Night]) -> Section:
    rows = [
        (
            _day(night),
            night.outcome,
            f"{night.repositories.get('changed', 0):,}",
            *(f"{value:,g}" for value in _figures(night).values()),
        )
        for night in nights
    ]
    head = ("began (UTC)", "outcome", "repositories changed", *_TRENDS)
    return Section("The last nights", (), "", head, rows)


def _trends(nights: Sequence[Night]) -> Iterator[Section]:
    told = [night for night in reversed(nights) if night.summary]
    for name in _TRENDS if len(told) > 1 else ():
        values = {_day(night): _figures(night)[name] for night in told}
        if any(values.values()):
            yield Section(name.capitalize(), (), bar_plot(values, name))


def _figures(night: Night) -> dict[str, float]:
    told = night.summary
    if not told:
        return {**dict.fromkeys(_TRENDS, 0.0), "failures": len(failures_by_place(night))}
    figures = (
        round(told["seconds"].get("total", 0.0), 1),
        told["texts"]["embedded"],
        told["usage"]["cost_usd"],
        night.rows.get("chunks", 0),
        len(told["failed"]),
    )
    return dict(zip(_TRENDS, figures, strict=True))


def _day(night: Night) -> str:
    return f"{datetime.fromisoformat(night.began).astimezone(UTC):%m-%d %H:%M}"
