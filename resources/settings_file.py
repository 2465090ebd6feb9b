"""Read the settings file; for the job and for commands that do not wait for Dagster alike."""

from collections.abc import Mapping
from pathlib import Path

from codelake.errors import UsageError
from codelake.settings import Settings, merge_settings, parse_settings


def load_settings(config_file: str, changes: Mapping[str, object]) -> Settings:
    """Read ``config_file`` if it is named, then apply dotted ``changes``.

    Raises:
        UsageError: the file does not exist or says something unknown.
    """
    text = ""
    if config_file:
        try:
            text = Path(config_file).read_text(encoding="utf-8-sig")  # editors of Windows mark it
        except (OSError, UnicodeDecodeError) as error:
            message = f"cannot read the settings file {config_file!r}: {error}"
            raise UsageError(message) from error
    settings = parse_settings(text, origin=config_file or "settings")
    return merge_settings(settings, changes) if changes else settings
