"""The repositories of a run, compared with the stored ones."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Self

import pyarrow as pa

from codelake.schemas import REPOSITORIES


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository, or one source that gave none.

    ``source`` is the folder or URL it is read from, ``git_directory`` what holds the objects
    (empty for a plain folder). ``status`` is empty for what can be read, else failed or skipped
    with the ``reason``; an empty repository can be read and has the reason ``no commits``.
    """

    name: str
    source: str
    git_directory: str = ""
    commit: str = ""
    branch: str = ""
    status: str = ""
    reason: str = ""

    @classmethod
    def from_row(cls, row: dict[str, str]) -> Self:
        """Return the repository of a row of the repositories table."""
        names = ("source", "git_directory", "commit", "branch", "reason")
        status = row["status"] if row["status"] in {"failed", "skipped", "removed"} else ""
        return cls(row["repository"], status=status, **{name: row[name] for name in names})

    @property
    def work_tree(self) -> str:
        """Return the folder the files lie in, empty for a bare repository or a mirror."""
        is_folder = PurePath(self.source).is_absolute() and self.source != self.git_directory
        return self.source if is_folder else ""

    def is_empty(self, *, is_live: bool) -> bool:
        """Say whether there is nothing to read: no commit, and no checkout read from disk."""
        is_on_disk = not self.git_directory or (is_live and bool(self.work_tree))
        return not self.commit and not is_on_disk


def compare_repositories(
    found: Sequence[Repository], stored: pa.Table, fingerprint: str, *, is_live: bool = False
) -> pa.Table:
    """Return the repositories table of this run: what was found, then what is gone, by name.

    A stored repository whose source has failed as a whole (a server that is down, a disk that is
    not mounted) is not gone: it is failed too and keeps its rows.

    Args:
        found: as discovered.
        stored: the repositories table of the last run.
        fingerprint: of the settings in force.
        is_live: files are read from disk, so that a commit does not tell whether they changed.
    """
    known = {row["repository"]: row for row in stored.to_pylist()}
    lost = [r.source for r in found if r.status == "failed" and r.name not in known]
    rows = [_row(r, known.pop(r.name, None), fingerprint, is_live=is_live) for r in found]
    rows += [_gone(row, lost) for row in known.values()]
    rows.sort(key=lambda row: row["repository"])
    return pa.Table.from_pylist(rows, schema=REPOSITORIES.schema)


def _row(
    repository: Repository, known: dict[str, str] | None, fingerprint: str, *, is_live: bool
) -> dict[str, str]:
    row = asdict(repository)
    row["repository"] = row.pop("name")
    row["fingerprint"] = fingerprint
    if repository.status == "failed" and known is not None:
        return {**known, "status": "failed", "reason": repository.reason}
    if repository.status == "skipped" and known is not None and known["status"] != "skipped":
        row["status"] = "removed"  # once indexed, now left out: its rows go
    is_on_disk = not repository.git_directory or (is_live and bool(repository.work_tree))
    is_same = known is not None and all(
        row[name] == known[name] for name in ("commit", "fingerprint", "git_directory")
    )
    if not repository.status:
        row["status"] = "unchanged" if is_same and not is_on_disk else "changed"
    return row


def _gone(row: dict[str, str], lost: Iterable[str]) -> dict[str, str]:
    for source in lost:
        if row["source"] == source or row["source"].startswith(source.rstrip("/") + "/"):
            reason = f"its source {source} could not be read; the stored rows are kept"
            return {**row, "status": "failed", "reason": reason}
    return {**row, "status": "removed", "reason": ""}
