"""The repositories of a run, compared with the stored ones."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Final, Self

import pyarrow as pa

from codelake.schemas import REPOSITORIES

_FEW: Final = 10  # repositories that a night may always forget
_HELD_BACK: Final = (
    "it is listed no more, nor are others, {gone} of {count} repositories: more than a night may "
    "forget (sources.most_forgotten = {most:g}), so their rows are kept. See whether the list is "
    "whole and the token still good; if they are gone, run once with sources.most_forgotten = 1"
)
_MARK_DIGITS: Final = 6  # of the hash that tells two places with one name apart


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

    def is_on_disk(self, *, is_live: bool) -> bool:
        """Say whether files are read from disk, where no commit tells whether they changed."""
        return not self.git_directory or (is_live and bool(self.work_tree))

    def is_empty(self, *, is_live: bool) -> bool:
        """Say whether there is nothing to read: no commit, and no checkout read from disk."""
        return not self.commit and not self.is_on_disk(is_live=is_live)

    def marked(self) -> Self:
        """Return it with a mark of its place in the name, which two places may share."""
        mark = hashlib.blake2b(self.source.encode()).hexdigest()[:_MARK_DIGITS]
        return replace(self, name=f"{self.name}~{mark}")


def compare_repositories(
    found: Sequence[Repository],
    stored: pa.Table,
    fingerprint: str,
    *,
    is_live: bool = False,
    elsewhere: Collection[str] = (),
) -> pa.Table:
    """Return the repositories table of this run: what was found, then what is gone, by name.

    A stored repository whose source has failed as a whole (a server that is down, a disk that is
    not mounted) is not gone: it is failed too and keeps its rows. The name of a repository that
    stays is not given to another one.

    Args:
        found: as discovered.
        stored: the repositories table of the last run.
        fingerprint: of the settings in force.
        is_live: files are read from disk, so that a commit does not tell whether they changed.
        elsewhere: names of stored repositories that the sources of this run say nothing of; they
            stay as they are and are not in the result.
    """
    known = {row["repository"]: row for row in stored.to_pylist()}
    lost = [r.source for r in found if r.status == "failed"]
    held = _held_names(found, known, lost, elsewhere)
    named = [r.marked() if r.name in held else r for r in found]
    rows = [_row(r, known.pop(r.name, None), fingerprint, is_live=is_live) for r in named]
    rows += [_gone(row, lost) for name, row in known.items() if name not in elsewhere]
    rows.sort(key=lambda row: row["repository"])
    return pa.Table.from_pylist(rows, schema=REPOSITORIES.schema)


def hold_back(table: pa.Table, roots: Collection[str], most_forgotten: float) -> pa.Table:
    """Return the table of a run that forgets no more at once than it may.

    A list that got short is more often a token that lost its rights, or a disk that is not mounted,
    than so many repositories deleted in a night. What a rule leaves out, and what lies in no
    source any more, was left out by a person and is not counted.

    Args:
        table: as :func:`compare_repositories` makes it.
        roots: where the sources lie.
        most_forgotten: share of the repositories in them that may go in a night; a few always may.
    """
    rows = [row for row in table.to_pylist() if is_below(row["source"], roots)]
    gone = [row for row in rows if row["status"] == "removed" and not row["reason"]]
    count = sum(row["status"] != "skipped" for row in rows)
    if len(gone) <= max(_FEW, most_forgotten * count):
        return table
    reason = _HELD_BACK.format(gone=len(gone), count=count, most=most_forgotten)
    names = {row["repository"] for row in gone}
    kept = [
        {**row, "status": "failed", "reason": reason} if row["repository"] in names else row
        for row in table.to_pylist()
    ]
    return pa.Table.from_pylist(kept, schema=REPOSITORIES.schema)


def is_below(source: str, roots: Collection[str]) -> bool:
    """Say whether ``source`` is one of ``roots``, or a folder or a URL below one."""
    return source in roots or any(source.startswith(f"{root.rstrip('/')}/") for root in roots)


def _held_names(
    found: Iterable[Repository],
    known: Mapping[str, dict[str, str]],
    lost: Sequence[str],
    elsewhere: Collection[str],
) -> set[str]:
    """Return the names of stored repositories that were not looked at and stay."""
    here = {repository.source for repository in found}
    return {
        name
        for name, row in known.items()
        if row["source"] not in here and (name in elsewhere or _lost_source(row["source"], lost))
    }


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
    is_same = known is not None and all(
        row[name] == known[name] for name in ("commit", "fingerprint", "git_directory")
    )
    if not repository.status:
        row["status"] = "changed"
        if is_same and not repository.is_on_disk(is_live=is_live):
            row["status"] = "unchanged"
    return row


def _gone(row: dict[str, str], lost: Iterable[str]) -> dict[str, str]:
    source = _lost_source(row["source"], lost)
    if source and row["status"] == "skipped":
        return row  # it has no rows to keep, and is no failure of its own
    if source:
        reason = f"its source {source} could not be read; the stored rows are kept"
        return {**row, "status": "failed", "reason": reason}
    return {**row, "status": "removed", "reason": ""}


def _lost_source(source: str, lost: Iterable[str]) -> str:
    """Return which of the sources that failed ``source`` is or lies below, else nothing."""
    return next((r for r in lost if source == r or source.startswith(r.rstrip("/") + "/")), "")
