"""What a store says of itself: the version of each table and the model that searches use."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from codelake.errors import StoreError
from resources.store.errors import NO_INDEX, store_errors

FILE: Final = "codelake.json"


@dataclass(frozen=True, slots=True)
class Published:
    """A state of all tables that searches saw.

    Args:
        name: its name.
        tag: what keeps each table's version from upkeep; no two states share it.
        tables: version of each table.
        model_id: the model whose vectors searches used.
    """

    name: str
    tag: str
    tables: Mapping[str, int]
    model_id: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The store's own small record.

    Args:
        tables: version of each table's shape.
        model_id: model whose vectors searches use; empty before the first.
        next_model_id: model that is filling in beside it; empty if none is.
        revision: number of times the record was written.
        published: the states that are kept, the one that searches see last.
        unfinished: what was begun on all tables and is to be ended by the next writer:
            ``rollback NAME``, ``rebuild``, or nothing.
        embedders: the settings each model was opened with, so that a search opens the same one.
    """

    tables: Mapping[str, int] = field(default_factory=dict)
    model_id: str = ""
    next_model_id: str = ""
    revision: int = 0
    published: tuple[Published, ...] = ()
    unfinished: str = ""
    embedders: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """Models whose vectors the rows may have, the one to come first."""
        return tuple(model for model in (self.next_model_id, self.model_id) if model)


def has_manifest(folder: Path) -> bool:
    """Tell whether there is a store in ``folder``."""
    return (folder / FILE).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Read the record of the store in ``folder``.

    Raises:
        StoreError: no store is there, or its record cannot be read.
    """
    try:
        data = (folder / FILE).read_bytes()
    except FileNotFoundError:
        raise StoreError(NO_INDEX.format(folder=folder)) from None
    except OSError as error:
        message = f"cannot read {folder / FILE}: {error}"
        raise StoreError(message) from error
    try:
        values = json.loads(data)
        states = tuple(Published(**state) for state in values.pop("published", ()))
        tables = {str(name): int(version) for name, version in values.pop("tables").items()}
        return Manifest(**values, tables=tables, published=states)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        message = (
            f"{folder / FILE} is not a record this version understands ({error}); it was damaged "
            "or written by a newer codelake: upgrade, or delete the folder and index again"
        )
        raise StoreError(message) from error


def write_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """Put ``manifest`` in place of the record in ``folder``, in one step, and return it."""
    written = replace(manifest, revision=manifest.revision + 1)
    partial = folder / (FILE + ".partial")
    with store_errors(folder, "write the store's record"):
        with partial.open("w", encoding="utf-8") as file:
            json.dump(asdict(written), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(folder / FILE)
    return written
