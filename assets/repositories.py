"""The repositories of a run and whether anything changed in them."""

from collections.abc import Collection
from typing import Final

import dagster as dg
import pyarrow as pa

from codelake.errors import UsageError
from codelake.repositories import compare_repositories
from codelake.settings import Settings
from codelake.versions import rows_fingerprint
from resources.addresses import is_url
from resources.configuration import Configuration
from resources.progress import reporter
from resources.repositories import discover, native_path
from resources.sources.words import source_places
from resources.stages import Stream

_NO_SOURCES: Final = (
    "no sources: list folders, repositories or git URLs under sources.paths in the settings file "
    "(codelake.toml, or what CODELAKE_CONFIG names)"
)


@dg.asset(
    io_manager_key="stages",
    group_name="read",
    kinds={"git"},
    description="Every repository of the sources, compared with the stored state: changed, "
    "unchanged, removed, skipped or failed with the reason.",
)
def repositories(configuration: Configuration) -> Stream:
    """Discover the repositories and compare them with the stored ones."""
    settings = configuration.load()
    if not settings.sources.paths:
        # Nothing is found where nothing is looked for, and pruning would empty the store.
        raise UsageError(_NO_SOURCES)
    reporter().stage("repositories", unit="repositories")
    found = discover(settings.sources.paths, settings)
    reporter().advance(len(found))
    stored, elsewhere = _judged(configuration.open_store().read("repositories"), settings)
    table = compare_repositories(
        found,
        stored,
        rows_fingerprint(settings),
        is_live=settings.sources.untracked,
        elsewhere=elsewhere,
    )
    return Stream(table.to_batches(), {"statuses": dg.MetadataValue.json(_counts(table))})


def _judged(stored: pa.Table, settings: Settings) -> tuple[pa.Table, list[str]]:
    """Return the stored repositories, and the names of those that this run says nothing of.

    One of those that is not where it was any more is left out, so that its name is free: a folder
    of clones that was moved is found again under the names it had.
    """
    if settings.sources.prune:
        return stored, []
    roots = source_places(settings.sources)
    rows = stored.to_pylist()
    outside = [row for row in rows if not _is_below(row["source"], roots)]
    vanished = {row["repository"] for row in outside if not _is_there(row["source"])}
    kept = [row["repository"] not in vanished for row in rows]
    names = [row["repository"] for row in outside if row["repository"] not in vanished]
    return stored.filter(pa.array(kept, pa.bool_())), names


def _is_below(source: str, roots: Collection[str]) -> bool:
    """Say whether ``source`` is one of ``roots``, or a folder or a URL below one."""
    return source in roots or any(source.startswith(f"{root.rstrip('/')}/") for root in roots)


def _is_there(source: str) -> bool:
    return is_url(source) or native_path(source).exists()


def _counts(table: pa.Table) -> dict[str, int]:
    statuses = table["status"].to_pylist()
    return {status: statuses.count(status) for status in sorted(set(statuses))}
