"""``codelake show``: one row with its surroundings."""

import click

from codelake.search import show as show_row
from pipelines.commands.options import TEXT, json_option, print_json, read_settings, store_options
from pipelines.opening import repository_folders, require_store
from pipelines.rendering import paged, print_shown


@click.command()
@click.argument("row_id", metavar="ID", type=TEXT)
@store_options
@json_option
def show(row_id: str, store: str | None, config_file: str | None, *, as_json: bool) -> None:
    """Print one chunk or symbol: its text, its class, its neighbours, its file.

    `codelake search --json` gives the ID of each hit.

    \b
    Example:
      codelake show 4f2a9c0be1d87a35e6b1c2d3e4f5a6b7 --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    opened = require_store(read_settings(config_file, store))
    shown = show_row(row_id, tables=opened.search_tables())
    if as_json:
        print_json(shown.as_json())
        return
    with paged() as console:
        print_shown(shown, console, roots=repository_folders(opened))
