"""``codelake store``: look after the tables."""

from dataclasses import asdict

import click
from rich.table import Table

from pipelines.commands.options import TEXT, json_option, print_json, read_settings, store_options
from pipelines.opening import require_store
from pipelines.rendering import paged
from resources.upkeep import tidy_up


@click.group()
def store() -> None:
    """Look after the tables: verify, optimize, history, rollback, rebuild.

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
        print_json({"problems": [asdict(problem) for problem in problems]})
    for problem in problems if not as_json else []:
        click.echo(str(problem))
    if not problems and not as_json:
        click.echo("the tables are sound")
    context.exit(1 if problems else 0)


@store.command()
@store_options
def optimize(store: str | None, config_file: str | None) -> None:
    """Compact the tables, bring indexes up to date, forget what is old or unused."""
    settings = read_settings(config_file, store)
    done = tidy_up(require_store(settings), settings)
    click.echo(
        f"{done.bytes_freed / 1e6:,.1f} MB freed, {done.vectors_pruned:,} unused vectors and "
        f"{done.mirrors_pruned:,} unused mirrors forgotten"
    )


@store.command()
@click.argument("name", type=TEXT)
@store_options
def rollback(name: str, store: str | None, config_file: str | None) -> None:
    """Go back to the state published as NAME; `codelake store history` lists the names."""
    require_store(read_settings(config_file, store)).rollback(name)
    click.echo(f"searches and the next run start from {name}")


@store.command()
@store_options
def rebuild(store: str | None, config_file: str | None) -> None:
    """Empty the tables but for the vectors; the next `codelake index` fills them again."""
    damaged = require_store(read_settings(config_file, store)).rebuild()
    click.echo(f"emptied; damaged were: {', '.join(damaged) or 'none'}")


@store.command()
@store_options
@json_option
def history(store: str | None, config_file: str | None, *, as_json: bool) -> None:
    """List the versions of the tables that can still be read."""
    versions = [asdict(v) for v in require_store(read_settings(config_file, store)).history()]
    for version in versions:
        version["written"] = version["written"].isoformat(timespec="seconds")
    if as_json:
        print_json(versions)
        return
    table = Table(box=None)
    for name in ("table", "number", "written", "row_count", "names"):
        table.add_column(name)
    for version in versions:
        version["names"] = ", ".join(version["names"])
        table.add_row(*(str(value) for value in version.values()))
    with paged() as console:
        console.print(table)
