"""Keep local repositories current between two nights: wait for events, update what moved."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from codelake.chunking import chunker_named
from codelake.errors import BusyError, CodelakeError, UsageError
from codelake.repositories import Repository
from codelake.search.snippets import make_visible
from pipelines.running import run_update
from resources.configuration import Configuration
from resources.moves import Moves, Paths, gather, require_watchable, watch_folders

Event = dict[str, object]
Tell = Callable[[Event], None]

_UNTIL_FREE: Final = float("inf")  # a night may take hours; what moves meanwhile is not lost


def follow(configuration: Configuration, tell: Tell) -> None:
    """Bring local repositories up to date whenever something in them moves, until interrupted.

    The first update is about all of them. What one repository or one update fails with is told,
    and the next event is waited for.

    Args:
        configuration: the settings.
        tell: called with each event; docs/watching.md lists them.

    Raises:
        UsageError: there is nothing on this machine to watch, or a setting is wrong.
        EmbeddingError: the embedder lacks a key or a package.
        SourceError: the system cannot watch the folders.
        KeyboardInterrupt: the way to end it.
    """
    configuration = _local(configuration)
    settings = configuration.load()
    chunker_named(settings.chunking.chunker)
    configuration.open_embedder()
    configuration.close_embedder()
    moves = Moves(settings)
    moves.follow(_stored(configuration))
    folders = moves.watched()
    if not folders:
        message = f"no such folder to watch: {', '.join(settings.sources.paths)}; check the path"
        raise UsageError(message)
    batches = watch_folders(folders)
    next(batches)  # events are kept from here on, so nothing falls between this and the update
    tell(_event("watching", folders=folders, quiet_seconds=settings.watch.quiet_seconds))
    _update(configuration, moves, frozenset(), tell)
    for paths, began in gather(
        _counted(batches, moves),
        clock=time.monotonic,
        quiet_seconds=settings.watch.quiet_seconds,
        is_busy=moves.is_busy,
    ):
        places = moves.places(paths)
        if places:
            _update(configuration, moves, places, tell, began=began)


def _local(configuration: Configuration) -> Configuration:
    """Return the configuration with the sources of this machine alone; it forgets no other."""
    found = require_watchable(configuration.load())
    changes = json.loads(configuration.changes) | {"sources.paths": found, "sources.prune": False}
    return configuration.model_copy(update={"changes": json.dumps(changes)})


def _stored(configuration: Configuration) -> list[Repository]:
    """Return the repositories as they are stored now."""
    store = configuration.open_store()
    rows = store.read("repositories").to_pylist() if store.is_there else []
    return [Repository.from_row(row) for row in rows]


def _counted(batches: Iterator[Paths], moves: Moves) -> Iterator[Paths]:
    for batch in batches:
        yield frozenset(path for path in batch if moves.counts(path))


def _update(
    configuration: Configuration,
    moves: Moves,
    places: Paths,
    tell: Tell,
    *,
    began: float | None = None,
) -> None:
    """Update the repositories in ``places``, tell what came of it, and learn of new ones."""
    began = time.monotonic() if began is None else began
    names = {place: moves.name(place) for place in places}
    try:
        try:
            summary = run_update(configuration, places)
        except BusyError as busy:
            tell(_event("waiting", reason=str(busy)))
            summary = run_update(configuration, places, wait_seconds=_UNTIL_FREE)
    except CodelakeError as error:
        tell(_event("failed", reason=make_visible(str(error))))
        return
    moves.follow(_stored(configuration))
    told = summary.to_dict()
    named = sorted(moves.name(place) if place == name else name for place, name in names.items())
    facts = {name: told[name] for name in ("chunks", "symbols", "texts", "usage", "failed")}
    seconds = round(time.monotonic() - began, 3)
    tell(_event("updated", repositories=named, **facts, seconds=told["seconds"], delay=seconds))


def _event(name: str, **facts: object) -> Event:
    return {"event": name, "at": datetime.now(UTC).isoformat(timespec="seconds"), **facts}
