"""``codelake sql``: SQL over the tables, read-only."""

import math

import click
from rich.table import Table
from rich.text import Text

from codelake.search.snippets import make_visible
from pipelines.commands.options import TEXT, json_option, print_json, read_settings, store_options
from pipelines.opening import require_store
from pipelines.rendering import paged


@click.command()
@click.argument("statement", type=TEXT)
@store_options
@json_option
def sql(statement: str, store: str | None, config_file: str | None, *, as_json: bool) -> None:
    """Answer STATEMENT, a SELECT over repositories, files, chunks, symbols and embeddings.

    \b
    Example:
      codelake sql "select language, count(*) from chunks group by 1 order by 2 desc"
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    found = require_store(read_settings(config_file, store)).sql(statement)
    rows = found.to_pylist()
    if as_json:
        print_json(_plain(rows))
        return
    table = Table(*found.schema.names, box=None)
    for row in rows:
        table.add_row(*(Text(make_visible(str(value))) for value in row.values()))
    with paged() as console:
        console.print(table)


def _plain(value: object) -> object:
    """Return ``value`` as JSON can hold it: a date or a decimal as text, no number as null."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
