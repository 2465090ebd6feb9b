"""``codelake config``: every setting with its value and meaning."""

import json

import click

from codelake.settings import Settings, settings_keys
from pipelines.commands.options import json_option, print_json, read_settings, store_options


def _value(settings: Settings, dotted: str) -> object:
    value: object = settings
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


@click.command()
@store_options
@json_option
def config(store: str | None, config_file: str | None, *, as_json: bool) -> None:
    """Print every setting with its value and meaning, as TOML that could be a settings file.

    \b
    Example:
      codelake config --config codelake.toml
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    settings = read_settings(config_file, store)
    if as_json:
        print_json(settings.model_dump())
        return
    for key, description in settings_keys().items():
        click.echo(click.style(f"# {description}", dim=True))
        click.echo(f"{click.style(key, bold=True)} = {_toml(_value(settings, key))}")
