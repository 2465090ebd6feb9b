"""What a store says of itself: the version of each table and the model that searches use."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from codelake.errors import StoreError
from resources.store.errors import NO_INDEX, store_errors
from resources.store.place import ChangedError, Place

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


def has_manifest(place: Place) -> bool:
    """Tell whether there is a store in ``place``."""
    with store_errors(place, "look for the store's record"):
        return place.has(FILE)


def read_manifest(place: Place) -> Manifest:
    """Read the record of the store in ``place``.

    Raises:
        StoreError: no store is there, or its record cannot be read.
    """
    with store_errors(place, "read the store's record"):
        found = place.read(FILE)
    if found is None:
        raise StoreError(NO_INDEX.format(place=place))
    return _parse(place, found.data)


def write_manifest(place: Place, manifest: Manifest) -> Manifest:
    """Put ``manifest`` in place of the record it was made of, in one step, and return it.

    Raises:
        StoreError: the record is not any more what ``manifest`` was made of.
    """
    written = replace(manifest, revision=manifest.revision + 1)
    data = json.dumps(asdict(written), indent=1).encode()
    with store_errors(place, "write the store's record"):
        seen = place.read(FILE)
        revision = _parse(place, seen.data).revision if seen else 0
        if revision != manifest.revision:
            message = f"{FILE} was written by another process meanwhile; run again after that"
            raise ChangedError(message)
        place.exchange(FILE, data, seen)
    return written


def _parse(place: Place, data: bytes) -> Manifest:
    try:
        values = json.loads(data)
        states = tuple(Published(**state) for state in values.pop("published", ()))
        tables = {str(name): int(version) for name, version in values.pop("tables").items()}
        return Manifest(**values, tables=tables, published=states)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        message = (
            f"{place}/{FILE} is not a record this version understands; it was damaged or written "
            "by a newer codelake: upgrade, or restore the store from a back-up; a new store "
            "embeds every text again"
        )
        raise StoreError(message) from error
