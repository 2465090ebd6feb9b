"""``codelake show``: one row with its surroundings."""

import click
from rich.console import Console
from rich.text import Text

from codelake.search import show as show_row
from codelake.search.snippets import make_visible
from pipelines.commands.options import TEXT, json_option, print_json, read_settings, store_options
from pipelines.opening import require_store


@click.command()
@click.argument("row_id", metavar="ID", type=TEXT)
@store_options
@json_option
def show(row_id: str, store: str | None, config_file: str | None, *, as_json: bool) -> None:
    """Print one chunk or symbol: its text, its class, its neighbours, its file.

    \b
    Example:
      codelake show 4f2a9c0be1d87a35e6b1c2d3e4f5a6b7 --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    tables = require_store(read_settings(config_file, store)).search_tables()
    shown = show_row(row_id, tables=tables)
    if as_json:
        print_json(shown.as_json())
        return
    console = Console()
    for name, value in shown.as_json().items():
        console.print(f"[bold]{name}[/bold]", end=": ")
        # Text: what a repository holds is neither markup nor a command to the terminal.
        console.print(Text(make_visible(str(value))))
