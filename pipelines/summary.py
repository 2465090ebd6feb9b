"""What a run did, in numbers: built from the metadata its assets recorded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from rich.console import Console
from rich.text import Text

from codelake.paths import display_path
from codelake.search.snippets import make_visible

_MOST_LINES: Final = 20  # of one kind: a hundred broken files should not hide the summary
_WORTH_TELLING: Final = 0.1  # share of the whole time below which a stage is not named
_COUNTS = ("added", "modified", "unchanged", "deleted")


def _zeros() -> dict[str, int]:
    return dict.fromkeys(_COUNTS, 0)


@dataclass(slots=True)
class Summary:
    """The result of ``codelake index``; the field names are its JSON keys."""

    repositories: int = 0
    files: dict[str, object] = field(default_factory=lambda: {"indexed": 0, "skipped": {}})
    chunks: dict[str, int] = field(default_factory=_zeros)
    symbols: dict[str, int] = field(default_factory=_zeros)
    texts: dict[str, int] = field(default_factory=lambda: {"embedded": 0, "reused": 0})
    usage: dict[str, float] = field(default_factory=lambda: {"tokens": 0, "cost_usd": 0.0})
    estimate: list[dict[str, object]] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)
    notices: list[dict[str, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    store: str = ""

    def add(self, part: Mapping[str, object]) -> None:
        """Merge what one asset recorded: lists are joined, everything else replaced."""
        for name, value in part.items():
            if name == "failed" and isinstance(value, list):
                self.failed += value
            else:
                current = getattr(self, name)
                setattr(self, name, {**current, **value} if isinstance(value, Mapping) else value)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return asdict(self)


def draw_summary(summary: Summary, console: Console, *, is_dry: bool = False) -> None:
    """Print ``summary`` for a person."""
    for name, value in _lines(summary):
        console.print(Text(f"{name:<15}{value}"), soft_wrap=True)
    _draw_list("note", "yellow", summary.notices, console)
    _draw_list("failed", "red", summary.failed, console)
    if is_dry:
        console.print("This was a dry run: nothing was stored, nothing embedded.")


def _lines(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "repositories", f"{summary.repositories:,}"
    skipped = summary.files["skipped"]
    counts = skipped if isinstance(skipped, Mapping) else {}
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items()))
    yield "files indexed", f"{summary.files['indexed']:,}"
    yield "files skipped", f"{sum(counts.values()):,}" + (f" ({reasons})" if reasons else "")
    for name in ("chunks", "symbols"):
        values = getattr(summary, name)
        yield name, ", ".join(f"{values[key]:,} {key}" for key in _COUNTS)
    texts = summary.texts
    cost = summary.usage["cost_usd"]
    spent = f", ${cost:.4f}" if cost else ""
    yield "texts", f"{texts['embedded']:,} embedded, {texts['reused']:,} reused{spent}"
    for row in summary.estimate:
        name = f"{row['embedder']} {row['model']}".strip()
        told = f"{row['texts']:,} texts, {row['tokens']:,} tokens, ${row['cost_usd']:.2f}"
        yield "would embed" if row["is_configured"] else "or with", f"{told} with {name}"
    yield "seconds", tell_seconds(summary.seconds)
    yield "store", summary.store


def tell_seconds(seconds: Mapping[str, float]) -> str:
    """Return the whole and the stages that took most of it; --json has them all."""
    total = seconds.get("total", 0.0)
    slow = sorted(
        (
            (value, name)
            for name, value in seconds.items()
            if name != "total" and value >= _WORTH_TELLING * total
        ),
        reverse=True,
    )
    stages = ", ".join(f"{name} {value:,.1f}" for value, name in slow)
    return f"{total:,.1f}" + (f" ({stages})" if stages else "")


def _draw_list(
    word: str, colour: str, entries: Sequence[Mapping[str, str]], console: Console
) -> None:
    for entry in entries[:_MOST_LINES]:
        place = "/".join(part for part in (entry["repository"], entry.get("path", "")) if part)
        where = f" {display_path(place)}" if place else ""
        # Text and no markup, nothing hidden: the name and the reason are not ours.
        line = Text.assemble((word, colour), where, ": ", make_visible(entry["reason"]))
        console.print(line, soft_wrap=True)
    if len(entries) > _MOST_LINES:
        console.print(f"{len(entries) - _MOST_LINES:,} more {word}; --json lists all of them")
