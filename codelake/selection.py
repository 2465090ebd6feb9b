"""What a run has to read: git's listing and the settings against the stored state.

Everything here is decided without reading a file; :func:`with_size` and :func:`with_content` add
what only the file itself can tell. The outcome of a file depends on its path, mode and content,
on the settings, on the ``.codelakeignore`` and ``.gitattributes`` files, and on nothing else, so a
night that reads only what changed ends with the rows of a fresh run.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import pyarrow as pa

from codelake.attributes import AttributeRules, Attributes
from codelake.classify import (
    Flags,
    content_flags,
    content_skip_reason,
    flag_skip_reason,
    path_flags,
    path_skip_reason,
    size_skip_reason,
)
from codelake.globs import Effort, Glob, parse_glob
from codelake.languages import detect_language
from codelake.paths import path_to_bytes
from codelake.schemas import FILES
from codelake.settings import FileSettings

IGNORE_FILE: Final = ".codelakeignore"
_REASON_BY_MODE: Final = {"120000": "symlink", "160000": "submodule"}
# Reasons told by the content: the same blob has the same one. "unreadable" is not among them,
# since the blob may be there the next night.
_REASONS_BY_CONTENT: Final = frozenset(
    {"", "binary", "too-large", "lfs-pointer", "secret-file", "minified", "generated", "empty"}
)
_TRAILING: Final = re.compile(rb"(?<!\\) +\Z|(?<=\\)( ) +\Z")  # spaces that do not count
_MOST_RULES: Final = 5000  # each is tried on each file; a repository must not buy hours with lines
_MARK: Final = b"\xef\xbb\xbf"  # of the encoding, in front of a file
_HEAD_BYTES: Final = 16_384  # what the detection of a language looks at


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of git's listing; ``mode`` is 120000 for a link, 160000 for a submodule."""

    path: str
    mode: str
    blob_id: str


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file of a run: a row of the files table without repository and content."""

    path: str
    blob_id: str
    status: str
    skip_reason: str = ""
    size: int = 0
    language: str = ""
    flags: Flags = field(default_factory=Flags)
    attributes: Attributes = field(default_factory=Attributes)

    @property
    def is_wanted(self) -> bool:
        """Say whether the content has to be read."""
        return not self.skip_reason and self.status in {"added", "modified"}


class _Patterns:
    """Patterns in gitignore syntax with git's rule that nothing comes back from a folder."""

    def __init__(self, lines: Iterable[tuple[bytes, bytes]]) -> None:
        """Read lines, each with the folder its file stands in; the last that matches decides."""
        parsed = (_parse_line(line, base) for line, base in lines)
        rules = (rule for rule in parsed if rule is not None)
        self._rules = list(islice(rules, _MOST_RULES))[::-1]
        self._folders: dict[bytes, bool] = {b"": False}
        self._effort = Effort("ignore patterns")

    def match(self, path: str) -> bool:
        if not self._rules:
            return False
        name = path_to_bytes(path)
        return self._match_folder(name.rpartition(b"/")[0]) or self._decide(name, is_folder=False)

    def _match_folder(self, folder: bytes) -> bool:
        unknown = []
        while folder not in self._folders:
            unknown.append(folder)
            folder = folder.rpartition(b"/")[0]
        is_matched = self._folders[folder]
        for inner in reversed(unknown):  # no recursion: a path may have a thousand folders
            is_matched = is_matched or self._decide(inner, is_folder=True)
            self._folders[inner] = is_matched
        return is_matched

    def _decide(self, name: bytes, *, is_folder: bool) -> bool:
        for glob, is_chosen in self._rules:
            if self._effort.match(glob, name, is_folder=is_folder):
                return is_chosen
        return False


def _parse_line(line: bytes, base: bytes) -> tuple[Glob, bool] | None:
    """Return the pattern of a line and whether it takes in, nothing for an empty one."""
    if line.startswith(b"#"):
        return None
    text = _TRAILING.sub(rb"\1", line)
    pattern = text.removeprefix(b"!")
    return (parse_glob(pattern, base), pattern == text) if pattern.strip(b"/") else None


class PathRules:
    """What the settings and the repository itself say of paths."""

    def __init__(
        self,
        settings: FileSettings,
        ignore_files: Mapping[str, bytes],
        attribute_files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Compile the rules.

        Args:
            settings: its globs have gitignore syntax.
            ignore_files: content of each ``.codelakeignore`` by its path.
            attribute_files: content of each ``.gitattributes`` by its path.
        """
        self.settings = settings
        self.attributes = AttributeRules(attribute_files or {})
        self._include = _patterns(settings.include) if settings.include else None
        self._exclude = _patterns(settings.exclude)
        # Outer files first: the last rule that matches decides, as in git.
        self._ignore = _Patterns(
            (line, path_to_bytes(path.rpartition("/")[0]))
            for path in sorted(ignore_files, key=lambda path: (path.count("/"), path))
            for line in ignore_files[path].removeprefix(_MARK).replace(b"\r\n", b"\n").split(b"\n")
        )

    def is_excluded(self, path: str) -> bool:
        """Say whether a rule leaves ``path`` out.

        Raises:
            SourceError: the patterns are made to take hours.
        """
        if self._include is not None and not self._include.match(path):
            return True
        return self._exclude.match(path) or self._ignore.match(path)


def _patterns(lines: Iterable[str]) -> _Patterns:
    return _Patterns((line.encode("utf-8", "surrogateescape"), b"") for line in lines)


def select_files(
    entries: Iterable[Entry], stored: pa.Table, rules: PathRules, fingerprint: str
) -> list[FileRow]:
    """Return a row for every file of the listing and every stored one that is gone, by path.

    Args:
        entries: what the repository holds now.
        stored: the files table's rows of this repository, without content.
        rules: include and exclude rules.
        fingerprint: of the settings in force; rows stored under another one are made anew.
    """
    known = {row.path: (row, mark) for row, mark in _stored_rows(stored)}
    rows = [_row(entry, known.pop(entry.path, None), rules, fingerprint) for entry in entries]
    rows += [dataclasses.replace(row, status="deleted") for row, _ in known.values()]
    return sorted(rows, key=lambda row: row.path)


def _row(
    entry: Entry, known: tuple[FileRow, str] | None, rules: PathRules, fingerprint: str
) -> FileRow:
    attributes = rules.attributes.find(entry.path)
    flags = attributes.apply(path_flags(entry.path))
    reason = _reason(entry, rules, flags)
    if known is not None:
        row, mark = known
        is_same = entry.blob_id == row.blob_id and mark == fingerprint + attributes.mark
        if is_same and _still_holds(row.skip_reason, reason):
            return dataclasses.replace(row, attributes=attributes)
    status = "added" if known is None else "modified"
    return FileRow(entry.path, entry.blob_id, status, reason, flags=flags, attributes=attributes)


def _still_holds(stored: str, by_path: str) -> bool:
    return stored in _REASONS_BY_CONTENT if not by_path else stored == by_path


def _reason(entry: Entry, rules: PathRules, flags: Flags) -> str:
    by_mode = _REASON_BY_MODE.get(entry.mode, "")
    if by_mode:
        return by_mode
    if rules.is_excluded(entry.path):
        return "excluded"
    skip = rules.settings.skip
    return path_skip_reason(entry.path, skip) or flag_skip_reason(flags, skip)


def _stored_rows(stored: pa.Table) -> Iterable[tuple[FileRow, str]]:
    names = ("path", "blob_id", "skip_reason", "size", "language", "fingerprint")
    flags = ("is_test", "is_generated", "is_vendored", "is_documentation")
    columns = [stored.column(name).to_pylist() for name in (*names, *flags)]
    for path, blob_id, reason, size, language, mark, *marks in zip(*columns, strict=True):
        row = FileRow(path, blob_id, "unchanged", reason, size, language, Flags(*marks))
        yield row, mark


def with_size(row: FileRow, size: int | None, max_bytes: int) -> FileRow:
    """Return ``row`` with its size in bytes (``None``: it cannot be read) and what that tells."""
    reason = "unreadable" if size is None else size_skip_reason(row.path, size, max_bytes)
    return dataclasses.replace(row, size=size or 0, skip_reason=reason)


def with_content(
    row: FileRow, content: bytes | None, settings: FileSettings
) -> tuple[FileRow, bytes]:
    """Return ``row`` with what its content tells, and the content that is to be indexed."""
    if content is None:
        return dataclasses.replace(row, skip_reason="unreadable"), b""
    flags = row.attributes.apply(content_flags(row.path, content))
    reason = content_skip_reason(row.path, content, settings.skip)
    reason = reason or flag_skip_reason(flags, settings.skip)
    language = row.attributes.language
    language = language or detect_language(row.path, content[:_HEAD_BYTES], settings.languages)
    row = dataclasses.replace(row, skip_reason=reason, language=language, flags=flags)
    return row, b"" if reason else content


def files_batch(
    repository: str, fingerprint: str, rows: Sequence[tuple[FileRow, bytes]]
) -> pa.RecordBatch:
    """Return rows and contents in the shape of the files table."""
    files = [row for row, _ in rows]
    columns = {
        "repository": [repository] * len(files),
        "path": [row.path for row in files],
        "blob_id": [row.blob_id for row in files],
        "size": [row.size for row in files],
        "language": [row.language for row in files],
        "is_test": [row.flags.is_test for row in files],
        "is_generated": [row.flags.is_generated for row in files],
        "is_vendored": [row.flags.is_vendored for row in files],
        "is_documentation": [row.flags.is_documentation for row in files],
        "skip_reason": [row.skip_reason for row in files],
        "fingerprint": [fingerprint + row.attributes.mark for row in files],
        "status": [row.status for row in files],
        "content": [content for _, content in rows],
    }
    return pa.RecordBatch.from_pydict(columns, schema=FILES.schema)
