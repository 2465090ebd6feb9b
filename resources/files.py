"""The files of a repository as batches of the files table, read at the cost of what changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from codelake.attributes import ATTRIBUTES_FILE
from codelake.repositories import Repository
from codelake.selection import (
    IGNORE_FILE,
    Entry,
    FileRow,
    PathRules,
    files_batch,
    select_files,
    with_content,
    with_size,
)
from codelake.settings import Settings
from resources.addresses import with_token
from resources.git import read_head
from resources.mirrors import fetch_blobs, is_blobless
from resources.objects import Objects
from resources.places import work_folder
from resources.repositories import native_path
from resources.sources.snapshots import read_sizes
from resources.sources.words import given_address
from resources.working_trees import WorkingTree

# Content of one batch; a few batches are in memory at once, so this bounds the run's memory.
_BATCH_BYTES: Final = 8_000_000
_BATCH_ROWS: Final = 8192  # rows without content are small, yet a batch has an end


_MOST_PATTERNS: Final = 1_000_000  # bytes; a larger file is no list of patterns


class Reader(Protocol):
    """What holds the files: a commit or a folder on disk."""

    def entries(self) -> list[Entry]:
        """Return every file."""
        ...

    def sizes(self, entries: Sequence[Entry]) -> Iterator[int | None]:
        """Yield the size of each in bytes, ``None`` where it cannot be told."""
        ...

    def contents(self, entries: Sequence[Entry]) -> Iterator[bytes | None]:
        """Yield the content of each, ``None`` where it cannot be read."""
        ...

    def is_same(self, entry: Entry, content: bytes) -> bool:
        """Say whether ``content`` is what stood there when ``entry`` was listed."""
        ...


def read_files(
    repository: Repository, stored: pa.Table, settings: Settings, *, fingerprint: str
) -> Iterator[pa.RecordBatch]:
    """Yield the repository's files in the order of their paths, with the content of what changed.

    Args:
        repository: as discovered.
        stored: the files table's rows of this repository, without content; empty at first.
        settings: what to leave out and how much travels together.
        fingerprint: of the settings in force.

    Raises:
        SourceError: the repository as a whole cannot be read.
    """
    if repository.status:
        return
    if not repository.is_empty(is_live=settings.sources.untracked):
        with open_reader(repository, settings) as reader:
            yield from _read(repository.name, reader, stored, settings, fingerprint)
    elif stored.num_rows:
        gone = select_files([], stored, PathRules(settings.files, {}), fingerprint)
        yield files_batch(repository.name, fingerprint, [(row, b"") for row in gone])


def _read(
    name: str, reader: Reader, stored: pa.Table, settings: Settings, fingerprint: str
) -> Iterator[pa.RecordBatch]:
    entries = {entry.path: entry for entry in reader.entries()}
    rules = PathRules(
        settings.files,
        _small_files(reader, entries, IGNORE_FILE),
        _small_files(reader, entries, ATTRIBUTES_FILE),
    )
    rows = select_files(entries.values(), stored, rules, fingerprint)
    rows = _sized(rows, entries, reader, settings.files.max_bytes)
    contents = reader.contents([entries[row.path] for row in rows if row.is_wanted])
    finished = (
        with_content(row, next(contents), settings.files) if row.is_wanted else (row, b"")
        for row in rows
    )
    for batch in _batches(finished, settings.run.batch_files):
        yield files_batch(name, fingerprint, batch)


def open_reader(repository: Repository, settings: Settings) -> Objects | WorkingTree:
    """Return what reads the files of ``repository``; it is entered before use."""
    hidden = work_folder(settings)
    if not repository.git_directory:
        return WorkingTree(native_path(repository.source), None, hidden=hidden)
    if settings.sources.untracked and repository.work_tree:
        folder = native_path(repository.work_tree)
        return WorkingTree(folder, read_head(folder / ".git"), hidden=hidden)
    git_directory = native_path(repository.git_directory)
    fetcher = _fetcher(git_directory, repository.source, settings)
    return Objects(git_directory, repository.commit, fetcher, read_sizes(git_directory))


def _fetcher(
    git_directory: Path, source: str, settings: Settings
) -> Callable[[Sequence[str]], None] | None:
    """Return what brings blobs into a mirror that was made without them."""
    if not is_blobless(git_directory):
        return None
    address = with_token(given_address(source, settings.sources), settings.sources)
    return partial(fetch_blobs, git_directory, address)


def _small_files(reader: Reader, entries: Mapping[str, Entry], name: str) -> dict[str, bytes]:
    """Return the content of every file of this name that is no larger than such files are."""
    found = [
        entry
        for path, entry in entries.items()
        if path.rpartition("/")[2] == name and entry.mode.startswith("100")
    ]
    small = [
        entry
        for entry, size in zip(found, reader.sizes(found), strict=True)
        if size is not None and size <= _MOST_PATTERNS
    ]
    texts = zip(small, reader.contents(small), strict=True)
    return {entry.path: text or b"" for entry, text in texts}


def _sized(
    rows: Sequence[FileRow], entries: Mapping[str, Entry], reader: Reader, max_bytes: int
) -> list[FileRow]:
    sizes = reader.sizes([entries[row.path] for row in rows if row.is_wanted])
    return [with_size(row, next(sizes), max_bytes) if row.is_wanted else row for row in rows]


def _batches(
    rows: Iterator[tuple[FileRow, bytes]], batch_files: int
) -> Iterator[list[tuple[FileRow, bytes]]]:
    batch: list[tuple[FileRow, bytes]] = []
    files = size = 0
    for row, content in rows:
        batch.append((row, content))
        files += bool(content)
        size += len(content)
        if files >= batch_files or size >= _BATCH_BYTES or len(batch) >= _BATCH_ROWS:
            yield batch
            batch, files, size = [], 0, 0
    if batch:
        yield batch
