"""Published states: all tables at one moment under one name, kept while the name is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from codelake.errors import UsageError
from resources.store.folder import StoreFolder
from resources.store.manifest import Published

KEPT: Final = 7  # published states that stay: a week of nights


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
    for table in folder.specs:
        dataset = folder.dataset(table)
        names: dict[int, list[str]] = {}
        for name, tag in dataset.tags.list().items():
            names.setdefault(tag["version"], []).append(name)
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

    The tags that hold the versions come first and the record last, in one step: a reader sees
    all tables of the state before or of this one.

    Args:
        folder: the store.
        name: name of the state; a state of that name moves.
        keep: published states that stay readable, this one included.
    """
    manifest = folder.manifest()
    versions = {}
    for table in folder.specs:
        dataset = folder.dataset(table)
        versions[table] = dataset.version
        if name in dataset.tags.list():
            dataset.tags.update(name, dataset.version)
        else:
            dataset.tags.create(name, dataset.version)
    others = [state for state in manifest.published if state.name != name]
    states = [*others, Published(name, versions, manifest.model_id)]
    folder.update(replace(manifest, published=tuple(states[-keep:])))
    _forget(folder, {state.name for state in states[-keep:]})


def rollback(folder: StoreFolder, name: str) -> None:
    """Make the state published as ``name`` the present one, for readers and for the next run.

    Raises:
        UsageError: there is no such state.
    """
    manifest = folder.manifest()
    state = next((state for state in manifest.published if state.name == name), None)
    if state is None:
        known = ", ".join(state.name for state in manifest.published) or "none yet"
        message = f"no published state {name!r}; there are: {known}"
        raise UsageError(message)
    # The ledger goes back last: until then the next run finds rows it did not expect, and
    # replaces them, rather than trusting rows that are not there.
    order = sorted(folder.specs, key=lambda table: table in {"files", "repositories"})
    for table in order:
        dataset = folder.dataset(table, state.tables[table])
        dataset.restore()  # type: ignore[no-untyped-call] # Lance gives it no types
    folder.update(replace(manifest, model_id=state.model_id, next_model_id=""))
    publish(folder, name)


def _forget(folder: StoreFolder, names: set[str]) -> None:
    for table in folder.specs:
        tags = folder.dataset(table).tags
        for name in tags.list():
            if name not in names:
                tags.delete(name)
