"""The files of a retrieval set: read from archives and git bundles, written as archives."""

import fnmatch
import io
import lzma
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codelake.errors import SourceError, UsageError
from codelake.paths import path_from_bytes, path_to_bytes
from evaluation.retrieval_sets import RetrievalSet
from resources.git import run_git
from resources.objects import Objects

_REGULAR: Final = ("100644", "100755")  # git modes of plain files: no links, no submodules


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a snapshot."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a repository that some questions are asked about."""

    repository: str
    ref: str
    files: tuple[SourceFile, ...]


def read_snapshots(retrieval_set: RetrievalSet) -> Iterator[Snapshot]:
    """Yield every snapshot that a question of the set needs, one repository after the other.

    Raises:
        UsageError: the archive or bundle of a repository is missing or lacks a ref.
    """
    refs: dict[str, list[str]] = {}
    for repository, ref in retrieval_set.snapshots:
        refs.setdefault(repository, []).append(ref)
    for repository, wanted in refs.items():
        for ref, files in _read_repository(retrieval_set.folder, repository, wanted):
            kept = tuple(f for f in files if _is_included(f.path, retrieval_set.include))
            yield Snapshot(repository, ref, kept)


def _read_repository(
    folder: Path, repository: str, refs: Sequence[str]
) -> Iterator[tuple[str, list[SourceFile]]]:
    stem = folder / "repos" / repository.replace("/", "__")
    archive, bundle = Path(f"{stem}.tar.xz"), Path(f"{stem}.bundle")
    if archive.is_file():
        yield from ((ref, read_archive(archive)) for ref in refs)
    elif bundle.is_file():
        yield from read_bundle(bundle, refs)
    else:
        message = (
            f"{repository!r} has neither {archive.name} nor {bundle.name} in {folder / 'repos'}"
        )
        raise UsageError(message)


def read_archive(path: Path) -> list[SourceFile]:
    """Return the plain files below the one top folder of a ``.tar.xz``, sorted by path."""
    files = []
    with tarfile.open(path, "r:xz", errors="surrogateescape") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                name = member.name.encode("utf-8", "surrogateescape").partition(b"/")[2]
                files.append(SourceFile(path_from_bytes(name), content.read()))
    return sorted(files, key=lambda file: file.path)


def write_archive(path: Path, files: Iterable[SourceFile]) -> None:
    """Write ``files`` below one top folder; the same files give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    top = path.name.removesuffix(".tar.xz")
    with lzma.open(path, "wb", preset=6) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for file in sorted(files, key=lambda file: file.path):
            name = path_to_bytes(file.path).decode("utf-8", "surrogateescape")
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(file.content)
            tar.addfile(member, io.BytesIO(file.content))


def read_bundle(path: Path, refs: Sequence[str]) -> Iterator[tuple[str, list[SourceFile]]]:
    """Yield the plain files of each ref (a tag or branch name) of a git bundle.

    Raises:
        UsageError: the bundle has no such ref.
    """
    with tempfile.TemporaryDirectory(prefix="codelake-eval-") as folder:
        run_git(["init", "--quiet", "--bare", folder])
        listing = run_git([f"--git-dir={folder}", "bundle", "unbundle", str(path)]).decode()
        commits = {
            _short(line.split(" ", 1)[1]): line.split(" ")[0] for line in listing.splitlines()
        }
        for ref in refs:
            if ref not in commits:
                message = f"{path.name} has no ref {ref!r}"
                raise UsageError(message)
            yield ref, read_commit(Path(folder), commits[ref])


def read_commit(git_directory: Path, commit: str) -> list[SourceFile]:
    """Return the plain files of a commit, in the order of their bytes."""
    with Objects(git_directory, commit) as objects:
        entries = [entry for entry in objects.entries() if entry.mode in _REGULAR]
        contents = objects.contents(entries)
        pairs = zip(entries, contents, strict=True)
        return [SourceFile(e.path, content) for e, content in pairs if content is not None]


def write_bundle(path: Path, git_directory: Path, commits: Mapping[str, str]) -> None:
    """Bundle the trees of ``commits`` (tag name to commit) without their history.

    Raises:
        UsageError: the repository lacks one of them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    identity = ["-c", "user.name=codelake", "-c", "user.email=codelake@localhost"]
    with tempfile.TemporaryDirectory(prefix="codelake-eval-") as folder:
        run_git(["init", "--quiet", "--bare", folder])
        alternates = Path(folder, "objects", "info", "alternates")
        alternates.write_text(f"{(git_directory / 'objects').absolute()}\n", "utf-8")
        here = f"--git-dir={folder}"
        for tag, commit in commits.items():
            try:
                tree = run_git(
                    [here, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}"]
                )
            except SourceError as error:
                message = f"{str(git_directory)!r} lacks the commit {commit!r} of {tag!r}; fetch it"
                raise UsageError(message) from error
            bare = run_git([*identity, here, "commit-tree", "-m", tag, tree.decode().strip()])
            run_git([here, "update-ref", f"refs/tags/{tag}", bare.decode().strip()])
        run_git([here, "bundle", "create", "--quiet", str(path), "--tags"])


def _short(ref: str) -> str:
    return ref.removeprefix("refs/tags/").removeprefix("refs/heads/")


def _is_included(path: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatch.fnmatchcase(path, glob) for glob in globs)
