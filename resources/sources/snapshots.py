"""Files that came as a stream, kept as one commit of a bare repository.

So they are read by blob like any mirror, an unchanged folder has an unchanged commit, and no path,
link, device or permission of the stream ever touches the disk. What is left out by its name or its
size is listed by its hash and not kept.
"""

import hashlib
import json
import os
import re
import tempfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from codelake.classify import path_skip_reason, size_skip_reason
from codelake.errors import SourceError
from codelake.paths import path_from_bytes
from codelake.settings import FileSettings
from resources.git import local_environment, run_git
from resources.mirrors import make_bare
from resources.sources.tar_reader import Member

_LONGEST_NAME: Final = 4096  # bytes of a path, as in Linux
_DEEPEST: Final = 256  # folders above a file
_MOST_NAMES: Final = 1 << 28  # bytes of all names, which are held in memory
_HEAD: Final = "refs/codelake/head"
_SIZES_FILE: Final = "codelake-sizes"  # in the repository: bytes of what is not kept, by blob id
_UNDONE: Final = "tmp_obj_"  # begins the names of objects that are being written
_LINK: Final = "120000"
_REPOSITORY: Final = "160000"
_GIT_DIRECTORY: Final = re.compile(rb"(?:(?P<above>.*?)/)?\.git(?:/|\Z)", re.IGNORECASE | re.DOTALL)
# The same files give the same commit.
_NOBODY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "codelake"),
        ("EMAIL", "codelake@localhost"),
        ("DATE", "1970-01-01T00:00:00Z"),
    )
}


@dataclass(slots=True)
class Snapshot:
    """Collects the files of a stream and makes a commit of them.

    ``place`` is the repository; what ``settings`` leave out by name or size is not kept in it.
    """

    place: Path
    settings: FileSettings
    _entries: dict[bytes, tuple[str, str]] = field(default_factory=dict)  # mode and blob id
    _sizes: dict[str, int] = field(default_factory=dict)
    _repositories: set[bytes] = field(default_factory=set)  # folders that are no part of this one
    _name_bytes: int = 0

    def __post_init__(self) -> None:
        """Make the repository if there is none."""
        if not (self.place / "HEAD").exists():
            make_bare(self.place)

    def add(self, member: Member, pieces: Iterable[bytes]) -> None:
        """Take one member; what is no file or link, or has no sound name, is left out.

        Of several members with one name the last counts, as when they are unpacked.

        Raises:
            SourceError: the names alone would fill the memory, or it is a git repository.
        """
        name = _sound_name(member.name)
        if not name:
            return
        match = _GIT_DIRECTORY.match(name)
        if match:
            self._add_repository(match["above"] or b"")
            return
        self._name_bytes += len(name)
        if self._name_bytes > _MOST_NAMES:
            message = f"its names have more than {_MOST_NAMES:,} bytes; index a part of it"
            raise SourceError(message)
        if member.kind == "file":
            blob_id = self._add_blob(path_from_bytes(name), member.size, pieces)
            self._entries[name] = ("100755" if member.is_executable else "100644", blob_id)
        elif member.kind == "link":
            self._entries[name] = (_LINK, _digest(len(member.target), [member.target]))
        elif member.kind == "hard link":
            known = self._entries.get(_sound_name(member.target))
            if known is not None:
                self._entries[name] = known

    def _add_repository(self, folder: bytes) -> None:
        if not folder:
            message = "it is a git repository; give ssh:// and the same address to index that"
            raise SourceError(message)
        self._repositories.add(folder)

    def _add_blob(self, path: str, size: int, pieces: Iterable[bytes]) -> str:
        files = self.settings
        if path_skip_reason(path, files.skip) or size_skip_reason(path, size, files.max_bytes):
            blob_id = _digest(size, pieces)
            self._sizes[blob_id] = size
            return blob_id
        content = b"".join(pieces)
        blob_id = _digest(size, [content])
        loose = self.place / "objects" / blob_id[:2] / blob_id[2:]
        if not loose.exists() or not loose.stat().st_size:  # empty after a power cut
            loose.parent.mkdir(exist_ok=True)
            objects = self.place / "objects"
            with tempfile.NamedTemporaryFile(dir=objects, prefix=_UNDONE, delete=False) as file:
                file.write(zlib.compress(b"blob %d\0" % size + content, 1))
            os.replace(file.name, loose)  # noqa: PTH105 # both are text here
        return blob_id

    def commit(self) -> str:
        """Write the commit, drop what it does not hold, and return its name.

        Raises:
            GitError: it cannot be written.
        """
        with tempfile.TemporaryDirectory(prefix="codelake-tree-") as folder:
            git = _Git(self.place, Path(folder))
            self._index(git)
            ignored = git.run("ls-files", "-z", "-c", "-i", "--exclude-per-directory=.gitignore")
            git.run("update-index", "-z", "--force-remove", "--stdin", given=ignored)
            tree = git.name("write-tree", "--missing-ok")
            commit = git.name("commit-tree", "-m", "snapshot", tree)
            git.run("update-ref", _HEAD, commit)
            listing = git.run("ls-tree", "-r", "-t", "-z", commit).split(b"\0")[:-1]
        inner = {os.fsdecode(line.split(b"\t", 1)[0].split()[2]) for line in listing}
        self._drop_all_but({commit, tree} | inner)
        (self.place / _SIZES_FILE).write_text(json.dumps(self._sizes), encoding="ascii")
        return commit

    def _index(self, git: "_Git") -> None:
        """Put the files into an index; ignore files are marked to be read from there."""
        inner = {name: (_REPOSITORY, _digest(0, [name])) for name in self._repositories}
        entries = {
            name: entry
            for name, entry in self._entries.items()
            if self._repositories.isdisjoint(_folders(name))
        } | inner
        folders = {folder for name in entries for folder in _folders(name)}
        files = {name: entry for name, entry in entries.items() if name not in folders}
        lines = [f"{mode} {blob} 0\t".encode() + name for name, (mode, blob) in files.items()]
        git.run("update-index", "-z", "--index-info", given=_ended(lines))
        rules = [name for name in files if name.rpartition(b"/")[2] == b".gitignore"]
        git.run("update-index", "-z", "--skip-worktree", "--stdin", given=_ended(rules))

    def _drop_all_but(self, names: Collection[str]) -> None:
        for undone in (self.place / "objects").glob(f"{_UNDONE}*"):
            undone.unlink()
        for folder in (self.place / "objects").glob("[0-9a-f][0-9a-f]"):
            for loose in folder.iterdir():
                if folder.name + loose.name not in names:
                    loose.unlink()


def read_sizes(git_directory: Path) -> dict[str, int]:
    """Return the bytes of what a snapshot lists and has not kept, by blob id."""
    try:
        found = json.loads((git_directory / _SIZES_FILE).read_text(encoding="ascii"))
    except FileNotFoundError:
        return {}
    return cast("dict[str, int]", found)


@dataclass(frozen=True, slots=True)
class _Git:
    """Git over a bare repository with an index of its own and an empty working tree."""

    place: Path
    folder: Path

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        environment = local_environment(
            GIT_DIR=str(self.place),
            GIT_INDEX_FILE=str(self.folder / "index"),
            GIT_WORK_TREE=str(self.folder / "tree"),
            **_NOBODY,
        )
        (self.folder / "tree").mkdir(exist_ok=True)
        # Names that only other systems cannot have are fine: nothing is ever checked out.
        where = ["-C", str(self.folder / "tree"), "-c", "core.protectNTFS=false"]
        return run_git(
            [*where, "-c", "core.protectHFS=false", *arguments],
            environment=environment,
            given=given,
        )

    def name(self, *arguments: str) -> str:
        return os.fsdecode(self.run(*arguments)).strip()


def _sound_name(name: bytes) -> bytes:
    """Return a name as git has it, empty if it leads out of the folder."""
    parts = [part for part in name.split(b"/") if part not in {b"", b"."}]
    is_sound = name[:1] != b"/" and len(name) <= _LONGEST_NAME and len(parts) <= _DEEPEST
    return b"/".join(parts) if is_sound and b".." not in parts else b""


def _folders(name: bytes) -> Iterator[bytes]:
    while b"/" in name:
        name = name.rpartition(b"/")[0]
        yield name


def _digest(size: int, pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _ended(names: Iterable[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)
