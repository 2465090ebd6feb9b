"""``codelake index``: run the job over sources."""

import json
import logging
import warnings

import click
from rich.console import Console

from codelake.errors import CodelakeError, UsageError
from pipelines.commands.options import (
    GIVEN,
    config_path,
    json_option,
    print_json,
    store_options,
)
from pipelines.failing import FAILED, complain, describe_failure
from pipelines.reporters import open_reporter
from pipelines.summary import Summary, draw_summary
from resources.logs import LOGGER
from resources.places import store_place
from resources.progress import reporting_to


@click.command()
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@store_options
@click.option(
    "--embedder", type=GIVEN, metavar="NAME", help="minilm (default), hash, openai, ... or none."
)
@click.option("--chunker", type=GIVEN, metavar="NAME", help="cast (default), ast, fixed or symbol.")
@click.option("--budget", type=int, metavar="N", help="Most non-whitespace characters a chunk.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Tell what would be done, write nothing.")
@click.option("--verbose", "-v", is_flag=True, help="Show the log of every stage.")
@json_option
@click.pass_context
def index(  # noqa: PLR0913 # one parameter an option
    context: click.Context,
    *,
    sources: tuple[str, ...],
    store: str | None,
    config_file: str | None,
    embedder: str | None,
    chunker: str | None,
    budget: int | None,
    is_dry: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Index repositories, or bring their index up to date.

    A SOURCE is a folder of clones, one repository, a git URL, a file that lists such,
    github://HOST/OWNER, gitlab://HOST/GROUP or tar+ssh://HOST/FOLDER; without any, the sources of
    the settings file are indexed. Only what changed since the last run is parsed and embedded.

    \b
    Examples:
      codelake index ~/src
      codelake index https://github.com/octocat/hello-world.git ~/src/app --json
      codelake index github://github.com/octocat
      codelake index --config codelake.toml --dry-run
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    changes = _changes(sources, embedder=embedder, chunker=chunker, budget=budget)
    try:
        summary = _run(
            config_path(config_file), store or "", changes, is_dry=is_dry, verbose=verbose
        )
    except UsageError:
        raise
    except CodelakeError as error:
        if not as_json:
            raise
        failed = [{"repository": "", "path": "", "reason": str(error)}]
        place = store_place(store) if store else ""
        complain(error)
        # Its document has all its keys, whatever failed.
        print_json(Summary(failed=failed, store=place).to_dict() | describe_failure(error))
        context.exit(FAILED)
    if as_json:
        print_json(summary.to_dict())
    else:
        draw_summary(summary, Console(), is_dry=is_dry)
    if summary.failed:
        context.exit(FAILED)


def _changes(sources: tuple[str, ...], **chosen: object) -> dict[str, object]:
    keys = {"embedder": "embedding.embedder"}
    changes = {
        keys.get(name, f"chunking.{name}"): value
        for name, value in chosen.items()
        if value is not None
    }
    if sources:
        changes |= {"sources.paths": list(sources), "sources.prune": False}
    return changes


def _run(
    config_file: str, store: str, changes: dict[str, object], *, is_dry: bool, verbose: bool
) -> Summary:
    quieten(is_verbose=verbose)
    # Dagster takes more than a second to import; a wrong option should not wait for it.
    from dagster import DagsterExecutionInterruptedError  # noqa: PLC0415

    from pipelines.running import run_index  # noqa: PLC0415
    from resources.configuration import Configuration  # noqa: PLC0415

    configuration = Configuration(config_file=config_file, store=store, changes=json.dumps(changes))
    require_sources(configuration.load().sources.paths)
    with open_reporter(Console(stderr=True)) as listener, reporting_to(listener):
        try:
            return run_index(
                configuration, is_dry=is_dry, log_level="DEBUG" if verbose else "CRITICAL"
            )
        except (KeyboardInterrupt, DagsterExecutionInterruptedError):
            raise click.Abort from None


def require_sources(paths: tuple[str, ...]) -> None:
    """Check that there is something to index.

    Raises:
        UsageError: there is nothing, or an empty text.
    """
    if "" in paths:
        # An unset variable of a shell; as a path it would be the present folder.
        message = "a source is an empty text: give a folder, a repository or a git URL"
        raise click.UsageError(message)
    if not paths:
        message = (
            "nothing to index: name a folder of clones, a repository or a git URL, "
            "or list some under sources.paths in codelake.toml"
        )
        raise click.UsageError(message)


def quieten(*, is_verbose: bool) -> None:
    """Keep the logs of libraries off the terminal unless they were asked for."""
    if is_verbose:
        return
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    LOGGER.addHandler(logging.NullHandler())  # a summary tells it; Dagster keeps it
    warnings.simplefilter("ignore")
