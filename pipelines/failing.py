"""How a command ends that fails: a line for a person, a document for a program, a status."""

import errno
import io
import json
import os
import sys
from typing import Final, TextIO, TypeGuard

import click

from codelake.errors import CodelakeError, UsageError

FAILED: Final = 1
_WRONG_USAGE: Final = 2
_INTERRUPTED: Final = 130  # what a shell reports for a command ended by Ctrl-C
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_STOPPED: Final = "interrupted; what was stored is kept, run again to finish"


def is_foreseen(error: Exception) -> bool:
    """Say whether ``error`` is told in a line; any other is told with its traceback."""
    return _is_full(error) or isinstance(error, CodelakeError | click.ClickException | click.Abort)


def end_failed(error: Exception) -> int:
    """Tell of ``error``, a person first, and return the status to end with."""
    if isinstance(error, click.ClickException):
        lines = io.StringIO()
        error.show(lines)
        _write(sys.stderr, lines.getvalue())
    elif isinstance(error, click.Abort):
        _write(sys.stderr, f"{_STOPPED}\n")
    else:
        complain(error)
    write_failure(error)
    return _status(error)


def complain(error: Exception) -> None:
    """Write the line for a person."""
    _write(sys.stderr, f"codelake: {_message(error)}\n")


def write_failure(error: Exception) -> None:
    """Write the document for a program, in one line, if one was asked for."""
    words = sys.argv[1:]
    is_asked = "--json" in (words[: words.index("--")] if "--" in words else words)
    _write(sys.stdout, json.dumps(describe_failure(error)) + "\n" if is_asked else "")


def write_rest() -> None:
    """Write what waits to be written, or nowhere; an exit that cannot has a status of its own."""
    _write(sys.stdout, "")
    _write(sys.stderr, "")


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _status(error: Exception) -> int:
    if isinstance(error, click.ClickException):
        return error.exit_code
    if isinstance(error, click.Abort):
        return _INTERRUPTED
    return _WRONG_USAGE if isinstance(error, UsageError) else FAILED


def _is_full(error: Exception) -> TypeGuard[OSError]:
    return isinstance(error, OSError) and error.errno in _FULL


def describe_failure(error: Exception) -> dict[str, dict[str, str]]:
    """Return what a program is told: what kind of error it is, and the words for a person."""
    return {"error": {"kind": _kind(error), "message": _message(error)}}


def _kind(error: Exception) -> str:
    if isinstance(error, CodelakeError):  # a kind is in the tree that is drawn there
        tree = CodelakeError.__module__
        kind = next(kind for kind in type(error).__mro__ if kind.__module__ == tree)
        return kind.__name__.removesuffix("Error").lower()
    if isinstance(error, click.ClickException):
        return "usage" if error.exit_code == _WRONG_USAGE else "file"
    if _is_full(error):
        return "file"
    return "interrupted" if isinstance(error, click.Abort) else "unexpected"


def _message(error: Exception) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, click.Abort):
        return _STOPPED
    if _is_full(error):
        return f"cannot write the answer: {error.strerror}; free some space"
    return str(error) if isinstance(error, CodelakeError) else repr(error)
