"""``codelake find-similar``: code that is like the code at a line."""

import click

from codelake.search import Filters
from codelake.search import find_similar as find
from pipelines.commands.options import TEXT, json_option, print_json, read_settings, store_options
from pipelines.completion import complete_repositories
from pipelines.opening import find_place, repository_folders, require_known, require_store
from pipelines.rendering import paged, print_answer


@click.command("find-similar")
@click.argument("place", metavar="PATH:LINE", type=TEXT)
@store_options
@click.option("-k", "results", type=click.IntRange(1, 1000), metavar="N", help="Most hits.")
@click.option(
    "--repository",
    "-r",
    default="",
    type=TEXT,
    metavar="R",
    help="Where PATH is, if several repositories have it.",
    shell_complete=complete_repositories,
)
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@json_option
def find_similar(  # noqa: PLR0913 # one parameter an option
    place: str,
    *,
    store: str | None,
    config_file: str | None,
    results: int | None,
    repository: str,
    explain: bool,
    as_json: bool,
) -> None:
    """Find code that is like the chunk and the definition at a line of an indexed file.

    PATH is that of a file here, or as it stands in the index.

    \b
    Examples:
      codelake find-similar src/retry.py:42
      codelake find-similar lib/client.js:7 -r acme/shop -k 3 --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    settings = read_settings(config_file, store)
    opened = require_store(settings)
    if repository:
        require_known("repository", [repository], [r["repository"] for r in opened.repositories()])
    tables = opened.search_tables()
    where = find_place(place, opened, tables, repository)
    answer = find(
        where.path,
        where.start_line,
        repository=where.repository,
        tables=tables,
        k=results or settings.search.results,
        filters=Filters(),
        settings=settings.search,
    )
    if as_json:
        print_json(answer.as_json())
        return
    with paged() as console:
        print_answer(answer, console, roots=repository_folders(opened), is_explained=explain)
