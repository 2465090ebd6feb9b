"""Model files shipped with codelake, with their notices and the scripts that built them."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent


def model_file(name: str) -> Path:
    """Return the path of a shipped model file."""
    return FOLDER / name
