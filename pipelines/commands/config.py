"""``codelake config``: every setting with its value and meaning."""

import click

from codelake.settings import Settings, settings_keys
from pipelines.commands.options import json_option, print_json, read_settings, store_options


def _value(settings: Settings, dotted: str) -> object:
    value: object = settings
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


@click.command()
@store_options
@json_option
def config(store: str | None, config_file: str | None, *, as_json: bool) -> None:
    """Print every setting with its value and meaning.

    \b
    Example:
      codelake config --config codelake.toml
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    settings = read_settings(config_file, store)
    if as_json:
        print_json(settings.model_dump())
        return
    for key, description in settings_keys().items():
        click.echo(f"{click.style(key, bold=True)} = {_value(settings, key)!r}")
        click.echo(f"    {description}")
