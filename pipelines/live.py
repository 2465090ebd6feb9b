"""Keep local repositories current between two nights: wait for events, update what moved."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from codelake.chunking import chunker_named
from codelake.errors import BusyError, CodelakeError, UsageError
from codelake.repositories import Repository
from codelake.search.snippets import make_visible
from pipelines.outstanding import Outstanding
from pipelines.running import run_update
from pipelines.summary import Summary
from resources.configuration import Configuration
from resources.moves import Moves, Paths, gather, require_watchable, watch_folders

Event = dict[str, object]
Tell = Callable[[Event], None]

_UNTIL_FREE: Final = float("inf")  # a night may take hours; what moves meanwhile is not lost


def follow(configuration: Configuration, tell: Tell) -> None:
    """Bring local repositories up to date whenever something in them moves, until interrupted.

    The first update is about all of them, and so is one after a source was made anew. What a
    repository fails with is told, and its next event waited for; an update that failed as a whole
    is tried again after growing pauses.

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
    if not any(Path(folder).is_dir() for folder in moves.watched()):
        message = f"no such folder to watch: {', '.join(settings.sources.paths)}; check the path"
        raise UsageError(message)
    follower = _Follower(configuration, moves, Outstanding(time.monotonic), tell)
    while True:
        follower.watch(settings.watch.quiet_seconds)


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


@dataclass(frozen=True, slots=True)
class _Follower:
    """Updates the repositories that moved, and what is outstanding of updates before."""

    configuration: Configuration
    moves: Moves
    outstanding: Outstanding
    tell: Tell

    def watch(self, quiet_seconds: float) -> None:
        """Update everything, then what moves, until a folder to watch is made anew."""
        folders = self.moves.watched()
        batches = watch_folders(folders)
        next(batches)  # events are kept from here on, so nothing falls between this and the update
        found = [folder for folder in folders if Path(folder).is_dir()]
        self.tell(_event("watching", folders=found, quiet_seconds=quiet_seconds))
        self.update(frozenset(), time.monotonic())
        for paths, began in gather(
            _counted(batches, self.moves),
            clock=time.monotonic,
            quiet_seconds=quiet_seconds,
            is_busy=self.moves.is_busy,
            is_due=self.outstanding.is_due,
        ):
            places = self.moves.places(paths)
            if places or self.outstanding.is_due():
                self.update(places, began)

    def update(self, moved: Paths, began: float) -> None:
        """Update what ``moved``, tell what came of it, and learn of new repositories."""
        places, began = self.outstanding.merge(moved, began)
        names = {place: self.moves.name(place) for place in places}
        try:
            summary, is_tried_again = self._run(places)
            self.moves.follow(_stored(self.configuration))
        except CodelakeError as error:
            again = self.outstanding.fail(places, began)
            reason = make_visible(str(error))
            self.tell(_event("failed", reason=reason, retry_seconds=again))
            return
        name = self.moves.name
        named = sorted(name(place) if place == known else known for place, known in names.items())
        told = summary.to_dict()
        facts = {key: told[key] for key in ("chunks", "symbols", "texts", "usage", "failed")}
        facts |= {"seconds": told["seconds"], "delay": round(time.monotonic() - began, 3)}
        if is_tried_again:
            facts["retry_seconds"] = self.outstanding.fail(places, began)
        else:
            self.outstanding.clear()
        self.tell(_event("updated", repositories=named, **facts))

    def _run(self, places: Paths) -> tuple[Summary, bool]:
        try:
            return run_update(self.configuration, places)
        except BusyError as busy:
            self.tell(_event("waiting", reason=str(busy)))
            return run_update(self.configuration, places, wait_seconds=_UNTIL_FREE)


def _event(name: str, **facts: object) -> Event:
    return {"event": name, "at": datetime.now(UTC).isoformat(timespec="seconds"), **facts}
