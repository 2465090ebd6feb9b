"""What a run does when all is stored: tables in shape, and nothing kept that nobody needs."""

import contextlib
import json
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from codelake.settings import Settings
from resources.places import work_folder
from resources.store import LanceStore

_MIRRORS: Final = "mirrors"
_LISTINGS: Final = "listings"
_UNUSED: Final = "unused.json"  # beside the mirrors: which are unused, and since when


@dataclass(frozen=True, slots=True)
class Tidied:
    """What upkeep removed.

    Args:
        bytes_freed: of the tables.
        vectors_pruned: vectors that no row has had for a time.
        mirrors_pruned: mirrors of repositories that are in no source any more.
    """

    bytes_freed: int
    vectors_pruned: int
    mirrors_pruned: int


def tidy_up(store: LanceStore, settings: Settings) -> Tidied:
    """Compact, index, and forget what was not used for as long as the settings say.

    Raises:
        StoreError: another process writes, or the store cannot be written.
    """
    upkeep, work = settings.upkeep, work_folder(settings)
    with store.writing():
        used = {Path(row["git_directory"]).name for row in store.repositories()}
        vectors = store.prune_vectors(timedelta(days=upkeep.vectors_days))
        freed = store.optimize(retention=timedelta(hours=upkeep.versions_hours))
        keep = timedelta(days=upkeep.mirrors_days)
        mirrors = prune_mirrors(work / _MIRRORS, used, keep)
        _prune_listings(work / _LISTINGS, keep)
    return Tidied(freed, vectors, mirrors)


def prune_mirrors(
    folder: Path, used: Collection[str], keep: timedelta, now: datetime | None = None
) -> int:
    """Remove the mirrors that no stored repository has been read from for ``keep``.

    A repository that comes back meanwhile costs a fetch of what is new, later a whole one.

    Args:
        folder: of the mirrors; nobody fetches into them meanwhile.
        used: names of the folders that stored repositories are read from.
        keep: time that an unused mirror stays.
        now: the time; the clock's by default.

    Returns:
        The number removed.
    """
    now = now or datetime.now(UTC)
    known, unused = _known(folder / _UNUSED), {}
    count = 0
    for mirror in _mirrors(folder):
        if mirror.name in used:
            continue
        since = known.get(mirror.name, now)
        if now - since >= keep:
            shutil.rmtree(mirror, ignore_errors=True)
            count += 1
        else:
            unused[mirror.name] = since.isoformat()
    if known or unused:
        with contextlib.suppress(OSError):  # without it they stay for longer, no worse
            (folder / _UNUSED).write_text(json.dumps(unused), encoding="utf-8")
    return count


def _mirrors(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(place for place in folder.glob("*.git") if place.is_dir())


def _known(place: Path) -> dict[str, datetime]:
    """Return since when each was unused; nothing where that was not written or is damaged."""
    try:
        values = json.loads(place.read_bytes())
        return {name: datetime.fromisoformat(since) for name, since in values.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _prune_listings(folder: Path, keep: timedelta) -> None:
    """Remove lists of accounts that were not read for ``keep``; each reading writes its file."""
    oldest = (datetime.now(UTC) - keep).timestamp()
    for place in folder.glob("*.json"):
        with contextlib.suppress(OSError):
            if place.stat().st_mtime < oldest:
                place.unlink()
