"""``codelake search``: questions in, ranked hits out."""

import time

import click

from codelake.search import MODES, Filters
from codelake.search import search as find
from pipelines.commands.options import (
    TEXT,
    json_option,
    print_json,
    read_settings,
    store_options,
)
from pipelines.completion import (
    complete_kinds,
    complete_languages,
    complete_owners,
    complete_repositories,
    complete_states,
)
from pipelines.opening import (
    check_filters,
    open_query_embedder,
    open_query_reranker,
    repository_folders,
    require_store,
)
from pipelines.rendering import paged, print_answer


@click.command()
@click.argument("query", nargs=-1, required=True, type=TEXT)
@store_options
@click.option("-k", "results", type=click.IntRange(1, 1000), metavar="N", help="Most hits.")
@click.option(
    "--mode",
    type=click.Choice(sorted(MODES)),
    help="Default: hybrid, or multihop if a reranker is set.",
)
@click.option(
    "--repository",
    "-r",
    multiple=True,
    type=TEXT,
    metavar="R",
    help="Only here (repeatable).",
    shell_complete=complete_repositories,
)
@click.option(
    "--owner",
    "-o",
    multiple=True,
    type=TEXT,
    metavar="O",
    help="Only repositories of this owner: O/name (repeatable).",
    shell_complete=complete_owners,
)
@click.option(
    "--language",
    "-l",
    multiple=True,
    type=TEXT,
    metavar="L",
    help="Only this language (repeatable).",
    shell_complete=complete_languages,
)
@click.option(
    "--path",
    "-p",
    multiple=True,
    type=TEXT,
    metavar="GLOB",
    help="Only paths like 'src/**' (repeatable).",
)
@click.option(
    "--kind",
    multiple=True,
    type=TEXT,
    metavar="K",
    help="Only this kind: function, class, ... (repeatable).",
    shell_complete=complete_kinds,
)
@click.option("--tests/--no-tests", default=None, help="Only tests, or none of them.")
@click.option(
    "--as-of",
    default="",
    type=TEXT,
    metavar="STATE",
    help="Search an older state: its name, a date or time (UTC), or an indexed commit.",
    shell_complete=complete_states,
)
@click.option("--batch", is_flag=True, help="Each QUERY is a question of its own.")
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@json_option
def search(  # noqa: PLR0913 # one parameter an option
    *,
    query: tuple[str, ...],
    store: str | None,
    config_file: str | None,
    results: int | None,
    mode: str | None,
    repository: tuple[str, ...],
    owner: tuple[str, ...],
    language: tuple[str, ...],
    path: tuple[str, ...],
    kind: tuple[str, ...],
    tests: bool | None,
    as_of: str,
    batch: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Ask a question and print ranked hits: place, name, score and code.

    Several words are one question; with --batch, or when each is quoted and has a space, several
    questions are answered together and each hit tells which of them found it.

    \b
    Examples:
      codelake search "where are retries handled"
      codelake search parseHTTPRetryAfter -k 3 --json
      codelake search "open a socket" --language rust --path 'src/**' --no-tests
      codelake search --mode regex 'TODO|FIXME' --repository app
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    settings = read_settings(config_file, store)
    opened = require_store(settings)
    filters = Filters(repository, language, path, kind, tests, owner)
    found = opened.find_state(as_of) if as_of else None
    tables = opened.search_tables(state=found.state if found else None)
    filters = check_filters(filters, opened, tables, found)
    wanted = mode or settings.search.mode
    embedder = open_query_embedder(opened, settings, wanted, tables.model_id)
    answer = find(
        questions(query, is_batch=batch),
        tables=tables,
        embedder=embedder,
        # Who says hybrid means hybrid, and no walk from its hits.
        reranker=None if mode == "hybrid" else open_query_reranker(settings, wanted),
        mode=wanted,
        k=results or settings.search.results,
        filters=filters,
        settings=settings.search,
        clock=time.monotonic,
    )
    if as_json:
        print_json(answer.as_json())
    else:
        with paged() as console:
            print_answer(answer, console, roots=repository_folders(opened), is_explained=explain)


def questions(words: tuple[str, ...], *, is_batch: bool) -> tuple[str, ...]:
    """Return the questions that ``words`` are: each one, or all of them as one.

    Arguments with a space in them were quoted, hence meant as questions of their own.
    """
    is_quoted = len(words) > 1 and all(" " in word.strip() for word in words)
    return words if is_batch or is_quoted else (" ".join(words),)
