"""Versions of the code that decides rows; a change here makes every file's rows anew."""

from typing import Final

from codelake.schemas import CHUNKS, SYMBOLS
from codelake.settings import Settings, fingerprint

# Raise a number when the same file would give other rows.
CHUNKER_VERSION: Final = 3
SYMBOLS_VERSION: Final = 3
CLASSIFICATION_VERSION: Final = 2
MASKING_VERSION: Final = 3


def rows_fingerprint(settings: Settings) -> str:
    """Return the hash of all settings and versions that decide the rows of a file."""
    versions = {
        "chunker": CHUNKER_VERSION,
        "symbols": SYMBOLS_VERSION,
        "classification": CLASSIFICATION_VERSION,
        "masking": MASKING_VERSION,
        "chunks table": CHUNKS.version,
        "symbols table": SYMBOLS.version,
    }
    return fingerprint(settings, {name: str(version) for name, version in versions.items()})
