"""``codelake chunk``: how a file is cut."""

import click
from rich.console import Console

from pipelines.commands.options import GIVEN, json_option, print_json, read_settings
from pipelines.cutting import cut_file, draw_cut


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--chunker", type=GIVEN, metavar="NAME", help="cast, ast, fixed or symbol.")
@click.option("--budget", type=int, metavar="N", help="Most non-whitespace characters a chunk.")
@click.option(
    "--language",
    type=GIVEN,
    metavar="L",
    help="Language, where name and content do not tell it.",
)
@json_option
def chunk(
    *, file: str, chunker: str | None, budget: int | None, language: str | None, as_json: bool
) -> None:
    """Show how FILE is cut into chunks and symbols: boundaries, sizes, scopes.

    \b
    Examples:
      codelake chunk app.py
      codelake chunk app.py --chunker fixed --budget 800 --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    changes: dict[str, object] = {}
    if chunker:
        changes["chunking.chunker"] = chunker
    if budget is not None:
        changes["chunking.budget"] = budget
    cut = cut_file(file, read_settings(None, None, changes), language)
    if as_json:
        print_json(cut)
    else:
        draw_cut(cut, Console())
