"""The repositories of a run and whether anything changed in them."""

from pathlib import Path

import dagster as dg
import pyarrow as pa

from codelake.repositories import compare_repositories
from codelake.settings import Settings
from codelake.versions import rows_fingerprint
from resources.configuration import Configuration
from resources.git import without_credentials
from resources.mirrors import is_url
from resources.progress import reporter
from resources.repositories import discover, expand_source
from resources.stages import Stream


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
    reporter().stage("repositories", unit="repositories")
    found = discover(settings.sources.paths, settings)
    reporter().advance(len(found))
    table = compare_repositories(
        found,
        _judged(configuration.open_store().read("repositories"), settings),
        rows_fingerprint(settings),
        is_live=settings.sources.untracked,
    )
    return Stream(table.to_batches(), {"statuses": dg.MetadataValue.json(_counts(table))})


def _judged(stored: pa.Table, settings: Settings) -> pa.Table:
    """Return the stored repositories that this run may find to be gone."""
    if settings.sources.prune:
        return stored
    roots = [root for source in settings.sources.paths for root in expand_source(source)]
    wanted = [
        any(_is_below(source, root) for root in roots) for source in stored["source"].to_pylist()
    ]
    return stored.filter(pa.array(wanted, pa.bool_()))


def _is_below(source: str, root: str) -> bool:
    if is_url(root):
        return source == without_credentials(root)
    place = str(Path(root.removeprefix("file://")).expanduser().absolute())
    return source == place or source.startswith(place.rstrip("/") + "/")


def _counts(table: pa.Table) -> dict[str, int]:
    statuses = table["status"].to_pylist()
    return {status: statuses.count(status) for status in sorted(set(statuses))}
