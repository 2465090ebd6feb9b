"""Definitions of a parsed file: what is defined where, with its surface."""

from codelake.definitions.describing import find_definitions
from codelake.definitions.record import (
    CONTAINER_KINDS,
    KINDS,
    Definition,
    definitions_from_json,
    definitions_to_json,
)

__all__ = [
    "CONTAINER_KINDS",
    "KINDS",
    "Definition",
    "definitions_from_json",
    "definitions_to_json",
    "find_definitions",
]
