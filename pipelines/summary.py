"""What a run did, in numbers: built from the metadata its assets recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from codelake.paths import display_path
from codelake.search.snippets import make_visible

_MOST_LINES: Final = 20  # of one kind: a hundred broken files should not hide the summary
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


def draw_summary(summary: Summary, console: Console) -> None:
    """Print ``summary`` for a person."""
    table = Table.grid(padding=(0, 2))
    table.add_row("repositories", f"{summary.repositories:,}")
    skipped = summary.files["skipped"]
    counts = skipped if isinstance(skipped, Mapping) else {}
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items()))
    table.add_row("files indexed", f"{summary.files['indexed']:,}")
    table.add_row(
        "files skipped", f"{sum(counts.values()):,}" + (f" ({reasons})" if reasons else "")
    )
    for name in ("chunks", "symbols"):
        values = getattr(summary, name)
        table.add_row(name, ", ".join(f"{values[key]:,} {key}" for key in _COUNTS))
    texts = summary.texts
    table.add_row("texts", f"{texts['embedded']:,} embedded, {texts['reused']:,} reused")
    stages = ", ".join(f"{k} {v:.1f}" for k, v in summary.seconds.items() if k != "total")
    table.add_row("seconds", f"{summary.seconds.get('total', 0.0):.1f} ({stages})")
    table.add_row("store", summary.store)
    console.print(table)
    _draw_list("note", "yellow", summary.notices, console)
    _draw_list("failed", "red", summary.failed, console)


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
