"""The files of the repositories that changed, and why some are skipped."""

from collections import Counter
from collections.abc import Iterator
from logging import INFO, WARNING
from typing import Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.errors import SourceError
from codelake.repositories import Repository
from codelake.schemas import FILES, SKIP_REASONS
from codelake.settings import Settings
from resources.configuration import Configuration
from resources.files import read_files
from resources.logs import log_stage
from resources.progress import reporter
from resources.stages import Batches, Notes, Stream, count_notes
from resources.store import LanceStore

_STATUSES: Final = ("added", "modified", "deleted", "unchanged")


@dg.asset(
    io_manager_key="stages",
    group_name="read",
    kinds={"git"},
    description="The files of every repository that changed: git's listing against the ledger, "
    "with a reason for each file that is skipped. Contents are not kept.",
)
def files(configuration: Configuration, repositories: Batches) -> Stream:
    """List the files of the repositories that changed."""
    notes: Notes = {"failed": dg.MetadataValue.json([])}
    return Stream(
        list_files(repositories.table(), configuration.open_store(), configuration.load(), notes),
        notes,
    )


def list_files(
    repositories: pa.Table, store: LanceStore, settings: Settings, notes: Notes
) -> Iterator[pa.RecordBatch]:
    """Yield the files of each changed or removed repository; what cannot be read is recorded."""
    rows = [r for r in repositories.to_pylist() if r["status"] in {"changed", "removed"}]
    statuses, skipped, failed = Counter[str](), Counter[str](), list[dict[str, str]]()
    reporter().stage("files", unit="files")
    ledger = store.read("files", repositories=[row["repository"] for row in rows])
    by_repository = _split(ledger)
    for row in rows:
        stored = by_repository.get(row["repository"], ledger.slice(0, 0))
        log_stage(INFO, "files", f"{row['status']}, {row['commit']}", repository=row["repository"])
        try:
            for batch in _repository_files(row, stored, settings):
                reporter().advance(batch.num_rows, row["repository"])
                statuses.update(batch.column("status").to_pylist())
                skipped.update(batch.column("skip_reason").to_pylist())
                yield batch
        except SourceError as error:
            reason = f"its files cannot be listed: {error}; try `git fsck`, or clone it anew"
            failed.append({"repository": row["repository"], "path": "", "reason": reason})
            log_stage(WARNING, "files", reason, repository=row["repository"])
            yield _unlisted(row)
    notes |= count_notes("", _STATUSES, statuses)
    notes |= count_notes("skipped ", SKIP_REASONS, skipped)
    notes["failed"] = dg.MetadataValue.json(failed)


def _split(ledger: pa.Table) -> dict[str, pa.Table]:
    """Return the ledger by repository: one sort, where a filter for each would be quadratic."""
    ledger = ledger.sort_by("repository")
    parts, start = {}, 0
    for item in pc.value_counts(ledger["repository"]).to_pylist():
        parts[item["values"]] = ledger.slice(start, item["counts"])
        start += item["counts"]
    return parts


def _repository_files(
    row: dict[str, str], stored: pa.Table, settings: Settings
) -> Iterator[pa.RecordBatch]:
    if row["status"] == "removed":
        yield from _deleted(stored).to_batches()
        return
    repository = Repository.from_row(row)
    for batch in read_files(repository, stored, settings, fingerprint=row["fingerprint"]):
        yield _without_content(batch)


def _unlisted(row: dict[str, str]) -> pa.RecordBatch:
    """Return the row, without a path, that says that a repository could not be listed."""
    texts = dict.fromkeys(("path", "blob_id", "language"), "")
    flags = dict.fromkeys(("is_test", "is_generated", "is_vendored", "is_documentation"), False)
    known = {"repository": row["repository"], "fingerprint": row["fingerprint"]}
    ends = {"size": 0, "skip_reason": "unreadable", "status": "added", "content": b""}
    return FILES.table([{**texts, **flags, **known, **ends}]).to_batches()[0]


def _deleted(stored: pa.Table) -> pa.Table:
    rows = stored.num_rows
    extra = {"status": pa.array(["deleted"] * rows, pa.string()), "content": _no_content(rows)}
    columns = [extra[n] if n in extra else stored[n] for n in FILES.schema.names]
    return pa.Table.from_arrays(columns, schema=FILES.schema).combine_chunks()


def _without_content(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Drop the contents: they may hold secrets, and those are kept nowhere."""
    index = FILES.schema.get_field_index("content")
    return batch.set_column(index, FILES.schema.field("content"), _no_content(batch.num_rows))


def _no_content(rows: int) -> pa.Array:
    return pa.array([b""] * rows, pa.large_binary())
