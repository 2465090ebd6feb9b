"""``codelake watch``: keep local repositories current between two nights."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click
from rich.console import Console
from rich.text import Text

from codelake.paths import display_path
from codelake.search.snippets import make_visible
from pipelines.commands.index import quieten, require_sources
from pipelines.commands.options import GIVEN, config_path, store_options
from pipelines.stopping import end_on_signals

_NICENESS: Final = 10  # behind whatever a person does at this machine
_COLOURS: Final = {"failed": "red", "waiting": "yellow"}


@click.command()
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@store_options
@click.option("--embedder", type=GIVEN, metavar="NAME", help="As for `codelake index`.")
@click.option("--committed", "is_committed", is_flag=True, help="Wait for commits, not for saves.")
@click.option("--until-closed", is_flag=True, help="End with the program that holds its input.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document a line and event.")
def watch(  # noqa: PLR0913 # one parameter an option
    *,
    sources: tuple[str, ...],
    store: str | None,
    config_file: str | None,
    embedder: str | None,
    is_committed: bool,
    until_closed: bool,
    as_json: bool,
) -> None:
    """Keep local repositories current between two nights, until Ctrl-C.

    Whenever files are saved, a branch is switched or a repository comes or goes, it is taken
    through the stages of `codelake index`, at low priority. A SOURCE is a folder of clones or one
    repository; without any, those of the settings file that lie on this machine are watched.

    \b
    Examples:
      codelake watch ~/src
      codelake watch --committed --config codelake.toml
      codelake watch ~/src/app --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    changes: dict[str, object] = {"sources.untracked": not is_committed}
    if sources:
        changes |= {"sources.paths": list(sources)}
    if embedder:
        changes |= {"embedding.embedder": embedder}
    quieten(is_verbose=False)
    # Dagster takes more than a second to import; a wrong option should not wait for it.
    from pipelines.live import follow  # noqa: PLC0415
    from resources.configuration import Configuration  # noqa: PLC0415

    configuration = Configuration(
        config_file=config_path(config_file), store=store or "", changes=json.dumps(changes)
    )
    require_sources(configuration.load().sources.paths)
    os.nice(_NICENESS)
    end_on_signals()
    if until_closed:
        threading.Thread(target=_end_with_input, daemon=True).start()
    tell = _write_json if as_json else _write_line
    try:
        follow(configuration, tell)
    except KeyboardInterrupt:
        tell({"event": "stopped"})


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _write_json(event: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def _write_line(event: Mapping[str, Any]) -> None:
    name = str(event["event"])
    console = Console()
    console.print(Text.assemble((name, _COLOURS.get(name, "")), _told(event)), soft_wrap=True)
    for failure in event.get("failed", ()):
        place = "/".join(part for part in (failure["repository"], failure["path"]) if part)
        told = f" {display_path(place)}: {make_visible(failure['reason'])}"
        console.print(Text.assemble(("failed", "red"), told), soft_wrap=True)


def _told(event: Mapping[str, Any]) -> str:
    if event["event"] == "watching":
        return f" {_shown(event['folders'])}; Ctrl-C ends it"
    again = f"; tried again in {event['retry_seconds']:g} s" if "retry_seconds" in event else ""
    if event["event"] != "updated":
        return f": {make_visible(event['reason'])}{again}" if "reason" in event else ""
    rows = ", ".join(
        f"{event[table][change]:,} {table} {change}"
        for table in ("chunks", "symbols")
        for change in ("added", "modified", "deleted")
        if event[table][change]
    )
    names = _shown(event["repositories"]) or "all"
    return f" {names}: {rows or 'nothing changed'}, {event['delay']:.1f} s after it moved{again}"


def _shown(places: Iterable[str]) -> str:
    return ", ".join(map(display_path, places))
