"""``codelake store``: look after the tables."""

import click

from pipelines.commands.options import json_option, print_json, read_settings, store_options
from pipelines.opening import require_store


@click.group()
def store() -> None:
    """Look after the tables: verify, optimize, history.

    \b
    Examples:
      codelake store verify
      codelake store optimize
    """  # noqa: D301 # \b is click's mark for text that keeps its lines


@store.command()
@store_options
@json_option
@click.pass_context
def verify(
    context: click.Context, store: str | None, config_file: str | None, *, as_json: bool
) -> None:
    """Check that the tables keep their promises; exit 1 if one does not."""
    problems = require_store(read_settings(config_file, store)).verify()
    if as_json:
        print_json({"problems": problems})
    for problem in problems if not as_json else []:
        click.echo(problem)
    if not problems and not as_json:
        click.echo("the tables are sound")
    context.exit(1 if problems else 0)


@store.command()
@store_options
def optimize(store: str | None, config_file: str | None) -> None:
    """Compact the tables, bring their indexes up to date, forget old versions."""
    freed = require_store(read_settings(config_file, store)).optimize()
    click.echo(f"{freed / 1e6:,.1f} MB freed")


@store.command()
@store_options
@json_option
def history(store: str | None, config_file: str | None, *, as_json: bool) -> None:
    """List the versions of the tables that can still be read."""
    versions = require_store(read_settings(config_file, store)).history()
    if as_json:
        print_json(versions)
        return
    for version in versions:
        click.echo("  ".join(str(value) for value in version.values()))
