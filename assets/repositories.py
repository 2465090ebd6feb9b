"""The repositories of a run and whether anything changed in them."""

from collections import Counter
from collections.abc import Collection, Iterable
from logging import INFO, WARNING
from typing import Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from assets.indexed_repository import asked_for
from codelake.errors import UsageError
from codelake.repositories import Repository, compare_repositories, hold_back, is_below
from codelake.settings import Settings
from codelake.versions import rows_fingerprint
from resources.addresses import is_url
from resources.configuration import Configuration
from resources.logs import log_stage
from resources.progress import reporter
from resources.repositories import discover, native_path
from resources.sources.words import source_places
from resources.stages import Stream, count_notes
from resources.store import LanceStore

_STATUSES: Final = ("changed", "unchanged", "failed", "skipped", "removed")
_NO_SOURCES: Final = (
    "no sources: list folders, repositories or git URLs under sources.paths in the settings file "
    "(codelake.toml, or what CODELAKE_CONFIG names)"
)


@dg.asset(
    io_manager_key="stages",
    group_name="read",
    kinds={"git"},
    pool="sources",
    description="Every repository of the sources, compared with the stored state: changed, "
    "unchanged, removed, skipped or failed with the reason.",
)
def repositories(context: dg.AssetExecutionContext, configuration: Configuration) -> Stream:
    """Discover the repositories and compare them with the stored ones.

    If not one that lies elsewhere can be read, the network is down rather than a repository
    broken: the step is tried again.
    """
    settings = configuration.load()
    if not settings.sources.paths:
        # Nothing is found where nothing is looked for, and pruning would empty the store.
        raise UsageError(_NO_SOURCES)
    reporter().stage("repositories", unit="repositories")
    places = configuration.chosen_places()
    found = discover(settings.sources.paths, settings, places=places)
    reporter().advance(len(found))
    if is_cut_off(found) and context.retry_number < settings.run.retries:
        wait = settings.run.retry_seconds * 2**context.retry_number
        raise dg.RetryRequested(max_retries=settings.run.retries, seconds_to_wait=wait)
    stored, elsewhere = _judged(configuration.open_store(), settings, places)
    table = compare_repositories(
        found,
        stored,
        rows_fingerprint(settings),
        is_live=settings.sources.untracked,
        elsewhere=elsewhere,
    )
    roots = source_places(settings.sources)
    table = asked_for(context, hold_back(table, roots, settings.sources.most_forgotten))
    for row in table.filter(pc.is_in(table["status"], pa.array(["failed", "skipped"]))).to_pylist():
        level = WARNING if row["status"] == "failed" else INFO
        log_stage(level, "repositories", row["reason"], repository=row["repository"])
    return Stream(
        table.to_batches(), count_notes("", _STATUSES, Counter(table["status"].to_pylist()))
    )


def is_cut_off(found: Iterable[Repository]) -> bool:
    """Say whether there are remote repositories or lists of them, and all of them failed."""
    remote = [repository for repository in found if is_url(repository.source)]
    return bool(remote) and all(repository.status == "failed" for repository in remote)


def _judged(
    store: LanceStore, settings: Settings, places: Collection[str]
) -> tuple[pa.Table, list[str]]:
    """Return the stored repositories, and the names of those that this run says nothing of.

    One of those that is not where it was any more is left out, so that its name is free: a folder
    of clones that was moved is found again under the names it had. One that never could be read,
    such as a mistyped path, is not kept.
    """
    stored = store.read("repositories")
    if places:
        rows = stored.to_pylist()
        return stored, [row["repository"] for row in rows if row["source"] not in places]
    if settings.sources.prune:
        return stored, []
    roots = source_places(settings.sources)
    outside = [row for row in stored.to_pylist() if not is_below(row["source"], roots)]
    failed = [row["repository"] for row in outside if row["status"] == "failed"]
    indexed = store.read("files", columns=["repository"], repositories=failed)["repository"]
    mistyped = set(failed).difference(indexed.to_pylist())
    kept = [row for row in outside if row["repository"] not in mistyped]
    vanished = pa.array([r["repository"] for r in kept if not _is_there(r["source"])], pa.string())
    is_here = pc.invert(pc.is_in(stored["repository"], value_set=vanished))
    names = {row["repository"] for row in kept}.difference(vanished.to_pylist())
    return stored.filter(is_here), sorted(names)


def _is_there(source: str) -> bool:
    return is_url(source) or native_path(source).exists()
