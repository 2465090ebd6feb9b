"""Published states: all tables at one moment under one name, kept while the name is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from codelake.errors import UsageError
from codelake.schemas import EMBEDDINGS
from resources.store.folder import StoreFolder
from resources.store.manifest import Published

KEPT: Final = 7  # published states that stay: a week of nights
ROLLBACK: Final = "rollback"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a table.

    Args:
        table: name of the table.
        number: its version, counted from one.
        written: when it was written, in UTC.
        row_count: rows it has.
        names: published states it belongs to.
    """

    table: str
    number: int
    written: datetime
    row_count: int
    names: tuple[str, ...]


def history(folder: StoreFolder) -> Iterator[Version]:
    """Yield the versions of each table that can still be read, oldest first."""
    states = folder.manifest().published
    for table in folder.specs:
        names: dict[int, list[str]] = {}
        for state in states:
            names.setdefault(state.tables[table], []).append(state.name)
        dataset = folder.dataset(table)
        versions: list[dict[str, Any]] = dataset.versions()  # type: ignore[assignment] # as it is
        for version in versions:
            number = version["version"]
            yield Version(
                table,
                number,
                version["timestamp"].astimezone(UTC),
                int(version["metadata"].get("total_rows", 0)),
                tuple(sorted(names.get(number, ()))),
            )


def publish(folder: StoreFolder, name: str, *, keep: int = KEPT) -> None:
    """Let readers see the tables as they are now, and keep that state under ``name``.

    First come tags of this publication's own, which hold the versions, then the record in one
    step, then the tags it no longer names go: at any moment the record names states that are
    held, and a reader sees all tables of one of them.

    Args:
        folder: the store.
        name: name of the state; a state of that name is replaced.
        keep: published states that stay readable, this one included.
    """
    manifest = folder.manifest()
    tag = f"{name}-{manifest.revision + 1}"
    versions = {table: _tagged(folder, table, tag) for table in folder.specs}
    others = [state for state in manifest.published if state.name != name]
    states = (*others, Published(name, tag, versions, manifest.model_id))[-keep:]
    folder.update(replace(manifest, published=states, unfinished=""))
    _forget(folder, {state.tag for state in states})


def rollback(folder: StoreFolder, name: str) -> None:
    """Make the state published as ``name`` the present one, for readers and for the next run.

    The record says first that this was begun, so that a killed one is ended by the next writer.
    Vectors are kept, those made since too: they stand for texts and were paid for.

    Raises:
        UsageError: there is no such state.
    """
    manifest = folder.manifest()
    state = next((state for state in manifest.published if state.name == name), None)
    if state is None:
        known = ", ".join(state.name for state in manifest.published) or "none yet"
        message = f"no published state {name!r}; there are: {known}"
        raise UsageError(message)
    begun = replace(manifest, unfinished=f"{ROLLBACK} {name}")
    folder.update(replace(begun, model_id=state.model_id, next_model_id=""))
    for table in (name for name in folder.specs if name != EMBEDDINGS.name):
        dataset = folder.dataset(table, state.tables[table])
        dataset.restore()  # type: ignore[no-untyped-call] # Lance gives it no types
    publish(folder, name)


def _tagged(folder: StoreFolder, table: str, tag: str) -> int:
    dataset = folder.dataset(table)
    if tag in dataset.tags.list():  # left by a publication that was killed
        dataset.tags.update(tag, dataset.version)
    else:
        dataset.tags.create(tag, dataset.version)
    return int(dataset.version)


def _forget(folder: StoreFolder, held: set[str]) -> None:
    for table in folder.specs:
        tags = folder.dataset(table).tags
        for tag in set(tags.list()) - held:
            tags.delete(tag)
