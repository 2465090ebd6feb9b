"""``codelake status``: what the store holds and how fresh it is."""

from collections import Counter
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from codelake.paths import display_path
from codelake.search.snippets import make_visible
from pipelines.commands.options import json_option, print_json, read_settings, store_options
from pipelines.opening import require_store
from pipelines.rendering import paged
from resources.store import LanceStore

_COLOURS = {"failed": "red", "skipped": "yellow"}


@click.command()
@store_options
@json_option
def status(store: str | None, config_file: str | None, *, as_json: bool) -> None:
    """Tell what the store holds: repositories, files, skips, rows, vectors.

    \b
    Example:
      codelake status --store .codelake --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    state = describe_store(require_store(read_settings(config_file, store)))
    if as_json:
        print_json(state)
    else:
        with paged() as console:
            draw_state(state, console)


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


def draw_state(state: dict[str, Any], console: Console) -> None:
    """Print ``state`` on one screen."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("repository", "status", "commit", "files", "reason"):
        table.add_column(name, justify="right" if name == "files" else "left")
    for row in state["repositories"]:
        table.add_row(
            Text(display_path(row["repository"])),
            Text(row["status"], style=_COLOURS.get(row["status"], "green")),
            row["commit"][:12],
            f"{row['files']:,}",
            Text(make_visible(row["reason"])),
        )
    console.print(table)
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
