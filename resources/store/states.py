"""Find a published state by what a person knows of it: its name, a moment, or a commit."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Final

from codelake.errors import UsageError
from resources.store.folder import StoreFolder
from resources.store.manifest import Published

_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")  # git shows seven digits of a commit or more


@dataclass(frozen=True, slots=True)
class Found:
    """A published state.

    Args:
        state: the versions of the tables.
        repositories: those that had the commit asked for; empty where none was.
    """

    state: Published
    repositories: tuple[str, ...] = ()


def find_state(folder: StoreFolder, wanted: str) -> Found:
    """Return the newest published state that ``wanted`` means.

    Args:
        folder: the store.
        wanted: the name of a state or its beginning; a date or time in ISO form, for the state
            that searches saw then (a date: at its end, in UTC); the beginning of a commit that
            was indexed.

    Raises:
        UsageError: none is meant, or several by the beginning of a name.
    """
    states = folder.manifest().published[::-1]
    named = [s for s in states if s.name == wanted] or [
        s for s in states if wanted and s.name.startswith(wanted)
    ]
    if len(named) == 1:
        return Found(named[0])
    moment = _moment(wanted)
    for state in states if not named else ():
        if moment and written(folder, state) <= moment:
            return Found(state)
        if holders := _holders(folder, state, wanted):
            return Found(state, holders)
    known = ", ".join(f"{s.name} ({written(folder, s):%Y-%m-%d %H:%M})" for s in states)
    message = (
        f"no published state is meant by {wanted!r}: give the name of one, a date or time in UTC, "
        f"or a commit; there are: {known or 'none'}"
    )
    raise UsageError(message)


def written(folder: StoreFolder, state: Published) -> datetime:
    """Return when the newest of a state's tables was written, in UTC."""
    moments: list[datetime] = []
    for table, number in state.tables.items():
        versions: list[dict[str, Any]] = folder.dataset(table, number).versions()  # type: ignore[assignment] # as it is
        moments += [v["timestamp"] for v in versions if v["version"] == number]
    return max(moments).astimezone(UTC)


def _moment(text: str) -> datetime | None:
    try:
        if len(text) == len("2026-11-30"):
            return datetime.combine(date.fromisoformat(text), time.max, UTC)
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _holders(folder: StoreFolder, state: Published, commit: str) -> tuple[str, ...]:
    if not _COMMIT.fullmatch(commit):
        return ()
    table = folder.dataset("repositories", state.tables["repositories"])
    rows = table.to_table(columns=["repository", "commit"]).to_pylist()
    return tuple(sorted(r["repository"] for r in rows if r["commit"].startswith(commit)))
