"""``codelake languages``: what is known of each language."""

import click
from rich.table import Table

from codelake.languages import LANGUAGES
from pipelines.commands.options import json_option, print_json
from pipelines.rendering import paged


@click.command()
@json_option
def languages(*, as_json: bool) -> None:
    """List the languages: suffixes, grammar, and whether symbols are found.

    \b
    Example:
      codelake languages --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    known = sorted(LANGUAGES.values(), key=lambda language: language.name)
    if as_json:
        print_json(
            [
                {
                    "language": language.name,
                    "suffixes": list(language.suffixes),
                    "grammar": language.grammar,
                    "symbols": bool(language.query),
                }
                for language in known
            ]
        )
        return
    table = Table("language", "symbols", "suffixes", box=None)
    for language in known:
        has_symbols = "yes" if language.query else ""
        table.add_row(language.name, has_symbols, " ".join(language.suffixes))
    with paged() as console:
        console.print(table)
