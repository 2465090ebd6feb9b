"""Options that several commands share, and how they become settings."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from codelake.settings import Settings
from resources.settings_file import load_settings

_DEFAULT_CONFIG: Final = "codelake.toml"
F = TypeVar("F", bound=Callable[..., Any])


class _Text(click.ParamType[str]):
    """A word of the command line that can be stored, hence searched for: valid Unicode."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return ``value``, unless the terminal sent bytes that are no UTF-8."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail(f"{value!r} is not valid UTF-8; set the terminal to UTF-8", param, ctx)
        return value


class _Given(click.ParamType[str]):
    """A word that says something: an empty one is what a shell makes of an unset variable."""

    name = "given"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return ``value`` unless it is empty."""
        if not value:
            self.fail("an empty text, as an unset variable gives; leave the option out", param, ctx)
        return value


TEXT: Final = _Text()
GIVEN: Final = _Given()


def store_options(function: F) -> F:
    """Add ``--store`` and ``--config``."""
    function = click.option(
        "--config",
        "config_file",
        type=GIVEN,
        envvar="CODELAKE_CONFIG",
        metavar="FILE",
        help="Settings file; codelake.toml in this folder if there is one.",
    )(function)
    return click.option(
        "--store",
        type=GIVEN,
        envvar="CODELAKE_STORE",
        metavar="DIR",
        help="Folder of the tables or s3://BUCKET/PREFIX (default: .codelake, or by settings).",
    )(function)


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        function
    )


def config_path(config_file: str | None) -> str:
    """Return the settings file to read, or an empty string."""
    if config_file:
        return config_file
    return _DEFAULT_CONFIG if Path(_DEFAULT_CONFIG).is_file() else ""


def read_settings(
    config_file: str | None, store: str | None, changes: dict[str, object] | None = None
) -> Settings:
    """Return the settings of the file, with ``store`` and ``changes`` on top.

    Raises:
        UsageError: the file cannot be read or a setting is wrong.
    """
    return load_settings(config_path(config_file), store_changes(store) | (changes or {}))


def store_changes(store: str | None) -> dict[str, object]:
    """Return the change of settings that ``--store`` asks for."""
    return {"store": store} if store else {}


def print_json(value: object) -> None:
    """Write one JSON document to standard output, in ASCII where that can show no more."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:  # an old locale, or a file name that is no UTF-8
        text = json.dumps(value, indent=2)
    sys.stdout.write(text + "\n")
