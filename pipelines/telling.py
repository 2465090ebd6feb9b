"""Tell a night in a few lines: what is fresh, red and skipped and why, and what it cost."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import islice
from typing import Any, Final, NamedTuple

from codelake.paths import display_path
from codelake.search.snippets import make_visible
from pipelines.summary import tell_seconds
from resources.nights import UNFINISHED, Night

STALE: Final = timedelta(hours=36)
"""Age from which the index is told to be stale: a night was left out."""

_COLOURS: Final = {"done": "green", "partial": "yellow"}
_LONG_AGO: Final = timedelta(days=2)
_SOON: Final = timedelta(hours=2)
_RUN: Final = "the run"  # where something failed that is in no repository
_NAMED: Final = 5  # failures in the text of an alert and of one place; the record has all of them
_SENT: Final = 20  # failures that an alert has beside its text: chats refuse what is very long
_LONGEST: Final = 800  # characters of one of them: five texts without a vector and why


class Line(NamedTuple):
    """One line: what it is about, the text, and a colour of a terminal or nothing."""

    label: str
    text: str
    colour: str = ""


def tell_night(night: Night, now: datetime | None = None) -> Iterator[Line]:
    """Yield the lines about ``night``; with ``now``, how long ago it was."""
    colour = _COLOURS.get(night.outcome, "red")
    yield Line(night.job, f"{night.outcome}, {_when(night, now)}", colour)
    if now and is_stale(night, now):
        yield Line("stale", "no night since; is the schedule on, does the daemon run?", "red")
    told = night.summary
    failures = failures_by_place(night)
    if failures:
        yield Line("red", _red(failures), "red")
    if not told:
        return
    changed = night.repositories.get("changed", 0)
    yield Line("fresh", f"{told['repositories']:,} repositories, {changed:,} of them changed")
    yield Line("skipped", _skipped(night))
    for table in ("chunks", "symbols"):
        counts = (f"{told[table][name]:,} {name}" for name in ("added", "modified", "deleted"))
        yield Line(table, f"{night.rows.get(table, 0):,}: {', '.join(counts)}")
    yield Line("cost", _cost(told))
    yield Line("seconds", tell_seconds(told["seconds"]))
    broken = [check for check in night.checks if not check["passed"]]
    text = ", ".join(check["name"] for check in broken) if broken else "all passed"
    yield Line("checks", text, _check_colour(broken))


def describe_night(night: Night) -> dict[str, Any] | None:
    """Return what is to be told of ``night``; nothing if all is well."""
    failures = failures_by_place(night)
    broken = [c["name"] for c in night.checks if not c["passed"] and not c["warns"]]
    if night.outcome == "done" and not broken:
        return None
    some = [as_code(f"{place}: {reason}") for place, reason in list(failures.items())[:_NAMED]]
    more = f"and {len(failures) - _NAMED} more" if len(failures) > _NAMED else ""
    checks = f"checks that failed: {', '.join(broken)}" if broken else ""
    heading = f"codelake: {night.job} is {night.outcome}"
    return {
        "text": "\n".join(part for part in (heading, *some, more, checks) if part),
        "job": night.job,
        "run_id": night.run_id,
        "outcome": night.outcome,
        "began": night.began,
        "failures": dict(_listed(failures)),
        "checks": broken,
    }


def _listed(failures: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the first with short names; long ones may end alike, so they are numbered."""
    for number, (place, reason) in enumerate(islice(failures.items(), _SENT), start=1):
        head = f"{number}…"
        is_long = len(place) > _LONGEST
        yield head + place[len(head) - _LONGEST :] if is_long else place, _short(reason)


def as_code(text: str) -> str:
    """Return one short line in which no chat finds a link, an image or somebody to call."""
    line = _short(" ".join(text.split())).replace("`", "'")
    return f"`{escape(line, quote=False)}`"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def failures_by_place(night: Night) -> dict[str, str]:
    """Return the reason of each failure by where it happened, in words a person can read."""
    reasons: dict[str, list[str]] = {_RUN: [night.reason]} if night.reason else {}
    for failure in night.summary.get("failed", ()):
        reasons.setdefault(_place(failure), []).append(failure["reason"])
    return {place: make_visible(_joined(told)) for place, told in reasons.items()}


def _joined(reasons: list[str]) -> str:
    """Return the reasons of one place: a thousand texts without a vector fail in none."""
    more = len(reasons) - _NAMED
    return "; ".join([*reasons[:_NAMED], *([f"and {more:,} more"] if more > 0 else [])])


def is_stale(night: Night, now: datetime) -> bool:
    """Say whether it is so long ago that a night must have been left out."""
    return now - datetime.fromisoformat(night.ended or night.began) > STALE


def _place(failure: Mapping[str, str]) -> str:
    parts = (part for part in (failure["repository"], failure["path"]) if part)
    return display_path("/".join(parts)) or _RUN


def _when(night: Night, now: datetime | None) -> str:
    began = datetime.fromisoformat(night.began)
    if night.outcome == UNFINISHED:
        ago = f", {_age(now - began)} ago" if now else ""
        return f"begun {_shown(began)}{ago}: it runs, or was killed"
    ended = datetime.fromisoformat(night.ended)
    ago = f", {_age(now - ended)} ago" if now else ""
    return f"ended {_shown(ended)}{ago}, after {_age(ended - began)}"


def _shown(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _age(length: timedelta) -> str:
    seconds = max(0, int(length.total_seconds()))
    if length >= _LONG_AGO:
        return f"{length.days} days"
    return (
        f"{seconds // 3600} hours" if length >= _SOON else f"{seconds // 60}:{seconds % 60:02} min"
    )


def _red(failures: Mapping[str, str]) -> str:
    """Return where something failed; of repositories the list below has the reasons."""
    if [*failures] == [_RUN]:
        return failures[_RUN]
    return f"{len(failures):,}: {', '.join(failures)}"[:200]


def _skipped(night: Night) -> str:
    reasons = night.summary["files"]["skipped"]
    counts = ", ".join(
        f"{count:,} {reason}" for reason, count in sorted(reasons.items(), key=lambda r: -r[1])
    )
    files = f"{sum(reasons.values()):,} files" + (f" ({counts})" if counts else "")
    left_out = night.repositories.get("skipped", 0)
    return files + (f", {left_out:,} repositories" if left_out else "")


def _cost(told: Mapping[str, Any]) -> str:
    texts, usage = told["texts"], told["usage"]
    return (
        f"{texts['embedded']:,} texts embedded, {texts['reused']:,} reused, "
        f"{usage['tokens']:,} tokens, ${usage['cost_usd']:.4f}"
    )


def _check_colour(broken: list[Mapping[str, Any]]) -> str:
    if not broken:
        return "green"
    return "yellow" if all(check["warns"] for check in broken) else "red"
