"""``codelake export``: a stored table as a file."""

import sys
from pathlib import Path

import click

from pipelines.commands.options import GIVEN, read_settings, store_options
from pipelines.opening import require_store
from resources.store.specs import STORED


@click.command()
@click.argument("table", type=click.Choice(sorted(STORED)))
@store_options
@click.option("--format", "form", type=click.Choice(["parquet", "jsonl"]), default=None)
@click.option(
    "-o",
    "--output",
    type=GIVEN,
    metavar="FILE",
    help="Where to; standard output for jsonl.",
)
def export(
    table: str, store: str | None, config_file: str | None, form: str | None, output: str | None
) -> None:
    """Write TABLE as rows sorted by key, as Parquet or JSON lines.

    \b
    Examples:
      codelake export chunks -o chunks.parquet
      codelake export symbols --format jsonl | jq .qualified_name
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    chosen = form or ("parquet" if (output or "").endswith(".parquet") else "jsonl")
    if chosen == "parquet" and output is None and sys.stdout.isatty():
        message = "Parquet is no text: name a file with -o"
        raise click.UsageError(message)
    opened = require_store(read_settings(config_file, store))
    opened.export(table, chosen, Path(output) if output else sys.stdout.buffer)
