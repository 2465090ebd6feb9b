"""How a command ends that fails: a line for a person, a document for a program, a status."""

import json
import sys
from typing import Final

import click

from codelake.errors import CodelakeError, UsageError

FAILED: Final = 1
_WRONG_USAGE: Final = 2
_INTERRUPTED: Final = 130  # what a shell reports for a command ended by Ctrl-C
_STOPPED: Final = "interrupted; what was stored is kept, run again to finish"


def end_failed(error: CodelakeError | click.ClickException | click.Abort) -> int:
    """Tell of ``error`` and return the status to end with."""
    write_failure(error)
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, click.Abort):
        sys.stderr.write(f"{_STOPPED}\n")
        return _INTERRUPTED
    complain(error)
    return _WRONG_USAGE if isinstance(error, UsageError) else FAILED


def complain(error: CodelakeError) -> None:
    """Write the line for a person."""
    sys.stderr.write(f"codelake: {error}\n")


def write_failure(error: Exception) -> None:
    """Write the document for a program, in one line, if one was asked for."""
    words = sys.argv[1:]
    if "--json" in (words[: words.index("--")] if "--" in words else words):
        sys.stdout.write(json.dumps(describe_failure(error)) + "\n")


def describe_failure(error: Exception) -> dict[str, dict[str, str]]:
    """Return what a program is told: what kind of error it is, and the words for a person."""
    return {"error": {"kind": _kind(error), "message": _message(error)}}


def _kind(error: Exception) -> str:
    if isinstance(error, CodelakeError):
        return type(error).__name__.removesuffix("Error").lower()
    if isinstance(error, click.ClickException):
        return "usage" if error.exit_code == _WRONG_USAGE else "file"
    return "interrupted" if isinstance(error, click.Abort) else "unexpected"


def _message(error: Exception) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, click.Abort):
        return _STOPPED
    return str(error) if isinstance(error, CodelakeError) else repr(error)
