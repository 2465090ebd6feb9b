"""``codelake status``: the last night in one screen, and what the store holds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from codelake.errors import StoreError
from codelake.paths import display_path
from codelake.search.snippets import make_visible
from pipelines.commands.options import json_option, print_json, read_settings, store_options
from pipelines.opening import require_store
from pipelines.rendering import paged
from pipelines.telling import tell_night
from resources.nights import Night, read_nights
from resources.places import work_folder
from resources.store import LanceStore

_COLOURS: Final = {"failed": "red", "skipped": "yellow"}
_MOST: Final = 10  # repositories that fit on a screen below the night


@click.command()
@store_options
@click.option("--all", "is_all", is_flag=True, help="List every repository, not the telling ones.")
@json_option
def status(store: str | None, config_file: str | None, *, is_all: bool, as_json: bool) -> None:
    """Tell what the last night did and what the store holds, in one screen.

    What is fresh, what is red or skipped and why, what it cost; then repositories, files, rows and
    vectors. Of many repositories only those are listed that failed or are skipped.

    \b
    Examples:
      codelake status
      codelake status --store .codelake --all
      codelake status --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    settings = read_settings(config_file, store)
    opened, nights = require_store(settings), read_nights(work_folder(settings))
    try:
        state = describe_store(opened)
    except StoreError:  # a table is lost, say: what the night did is told all the same
        if not as_json:
            with paged() as console:
                draw_night(nights, console)
        raise
    if as_json:
        print_json({**state, "last_night": asdict(nights[0]) if nights else None})
        return
    with paged() as console:
        draw_night(nights, console)
        draw_state(state, console, is_all=is_all)


def describe_store(store: LanceStore) -> dict[str, Any]:
    """Return counts and states of everything in ``store``."""
    record, counts = store.models(), store.summary()
    files = store.read("files", columns=["repository", "skip_reason"])
    names = files["repository"].to_pylist()
    reasons = files["skip_reason"].to_pylist()
    indexed = Counter(n for n, reason in zip(names, reasons, strict=True) if not reason)
    skipped = Counter(reason for reason in reasons if reason)
    model = record.next_model_id or record.model_id
    return {
        "store": str(store.place),
        "repositories": [
            {**row, "files": indexed[row["repository"]]}
            for row in sorted(
                store.read("repositories").to_pylist(), key=lambda row: row["repository"]
            )
        ],
        "files": {"indexed": indexed.total(), "skipped": dict(sorted(skipped.items()))},
        "chunks": counts["chunks"],
        "symbols": counts["symbols"],
        "model_id": record.model_id,
        "next_model_id": record.next_model_id,
        "texts": {
            "embedded": counts["embeddings"],
            "pending": store.pending_count(model) if model else None,
        },
    }


def draw_night(nights: Sequence[Night], console: Console) -> None:
    """Print what the last night did."""
    if not nights:
        console.print("no night is recorded yet: `codelake index` is one\n", highlight=False)
    for night in nights:
        for line in tell_night(night, datetime.now(UTC)):
            text = Text.assemble(f"{line.label:<10}", (line.text, line.colour))
            console.print(text, soft_wrap=True)
        console.print()


def draw_state(state: Mapping[str, Any], console: Console, *, is_all: bool = False) -> None:
    """Print ``state`` on what is left of the screen."""
    rows = state["repositories"]
    telling = [row for row in rows if row["status"] in _COLOURS]
    shown = rows if is_all or len(rows) <= _MOST else telling[:_MOST]
    if shown:
        console.print(_drawn(shown))
    if len(shown) < len(rows):
        more = len(telling) - len(shown)
        hidden = f"{more:,} more that are red or skipped and " if more else ""
        hidden += f"{len(rows) - len(telling):,} that are fresh"
        console.print(f"{hidden}: --all lists them", highlight=False)
    skipped = ", ".join(f"{n:,} {reason}" for reason, n in state["files"]["skipped"].items())
    pending = state["texts"]["pending"]
    console.print(
        f"\n{state['files']['indexed']:,} files indexed, {skipped or 'none'} skipped\n"
        f"{state['chunks']:,} chunks, {state['symbols']:,} symbols\n"
        f"model {state['model_id'] or 'none: searched by words only'}"
        + (f", {pending:,} texts wait for their vector" if pending else "")
        + f"\nstore {state['store']}",
        highlight=False,
    )


def _drawn(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("repository", "status", "commit", "files", "reason"):
        table.add_column(name, justify="right" if name == "files" else "left")
    for row in rows:
        table.add_row(
            Text(display_path(row["repository"])),
            Text(row["status"], style=_COLOURS.get(row["status"], "green")),
            row["commit"][:12],
            f"{row['files']:,}",
            Text(make_visible(row["reason"])),
        )
    return table
