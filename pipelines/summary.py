"""What a run did, in numbers: built from the metadata its assets recorded."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table

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
    for failure in summary.failed:
        where = "/".join(part for part in (failure["repository"], failure["path"]) if part)
        console.print(f"[red]failed[/red] {where}: {failure['reason']}", highlight=False)
