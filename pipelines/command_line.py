"""The ``codelake`` command: a thin layer over the job, the store and the search."""

import difflib
import importlib
import io
import os
import sys
from pathlib import Path
from typing import Final

import click

from codelake import __version__
from codelake.errors import UsageError
from pipelines.failing import FAILED, end_failed, is_foreseen, write_failure, write_rest

COMMANDS: Final[dict[str, str]] = {
    "index": "Index repositories, or bring their index up to date.",
    "watch": "Keep local repositories current between two nights.",
    "search": "Ask a question and print ranked hits.",
    "chunk": "Show how a file is cut into chunks and symbols.",
    "find-similar": "Find code that is like the code at a line.",
    "show": "Print one chunk or symbol with its surroundings.",
    "mcp": "Serve the search to agents.",
    "status": "Tell what the last night did and what the store holds.",
    "report": "Write a night as a page to hand on.",
    "metrics": "Print or serve the last night for Prometheus.",
    "export": "Write a table as Parquet or JSON lines.",
    "store": "Look after the tables: verify, optimize, history, rollback, rebuild.",
    "sql": "Answer a read-only SQL question over the tables.",
    "languages": "List the languages and what is known of each.",
    "eval": "Compare chunkers on retrieval sets.",
    "ane": "Convert a model for the Neural Engine of a Mac, and check it there.",
    "completion": "Let a shell complete commands, options and names.",
    "config": "Print every setting with its value and meaning.",
    "ui": "Open the Dagster user interface on this store.",
}


class _LazyGroup(click.Group):
    """Import a command's module only when it is asked for: ``search`` needs no Dagster."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 # click's signature
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"pipelines.commands.{name}"), name)
        assert isinstance(command, click.Command)  # noqa: S101 # each module holds its command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`codelake --help` lists them"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click writes a line first, an error where stderr is full
            raise click.Abort from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 # click's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="codelake")
def command_line() -> None:
    """Index all the code an organisation has, and ask it questions.

    \b
    Examples:
      codelake index ~/src                     index every clone below a folder
      codelake search "where are retries handled"
      codelake chunk app.py --budget 800       see how a file is cut
    """  # noqa: D301 # \b is click's mark for text that keeps its lines


def main() -> None:
    """Run the command line; exit 0 when done, 1 when failed or partial, 2 on wrong usage.

    With ``--json`` a program that reads the answer finds the error in it.
    """
    _prepare_streams()
    try:
        _require_folder()
        code = command_line.main(prog_name="codelake", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        write_rest()  # whoever read, as in `| head`, has enough
        sys.exit(FAILED)
    except Exception as error:
        if not is_foreseen(error):
            write_failure(error)
            raise
        sys.exit(end_failed(error))
    sys.exit(code if isinstance(code, int) else 0)


def _prepare_streams() -> None:
    """Write what the locale lacks with backslashes, and to nowhere what the shell has closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 # open to the end
            setattr(sys, name, nowhere)
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # code has characters that a locale may lack
            stream.reconfigure(errors="backslashreplace")


def _require_folder() -> None:
    """Check that the present folder is there; without it no relative path has a meaning."""
    try:
        Path.cwd()
    except FileNotFoundError:
        message = "the present folder was removed: change to one that exists"
        raise UsageError(message) from None
