"""Which repositories the sources hold: folders of clones, single repositories and URLs.

A repository is told by its git directory, never by the text of its path: a second checkout made
by ``git worktree`` shares one with the first and is not a second repository. Names come from
where a repository lies below its source, so that they are the same every night whatever the other
sources are; only a name that two sources share gets a mark of its place.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from codelake.errors import SourceError
from codelake.paths import display_path, path_from_bytes, path_to_bytes
from codelake.repositories import Repository
from codelake.settings import Settings
from resources.git import Head, read_head
from resources.mirrors import is_url, mirror
from resources.working_trees import list_files, list_submodules

# Folders that hold other people's code in thousands of folders and no clone of ours.
_NEVER_WALKED: Final = frozenset(
    {".git", "node_modules", "bower_components", ".venv", "venv", "__pycache__", ".tox", ".nox"}
)
_NESTED: Final = "lies inside the repository {}; set sources.nested = true to index it"
_MARK_DIGITS: Final = 6  # of the hash that tells two places with one name apart


@dataclass(frozen=True, slots=True)
class _Found:
    """A folder that looks like a repository, and what asking git about it gave."""

    repository: Repository
    head: Head | None = None


def discover(sources: Sequence[str], settings: Settings) -> list[Repository]:
    """Return every repository of ``sources``; what cannot be read is in the list with a reason.

    Args:
        sources: folders of clones, single repositories, git URLs, or files that list such, one
            a line.
        settings: the store's place, and whether nested clones and plain folders count.
    """
    store = Path(settings.store).expanduser().absolute()
    found: list[_Found] = []
    for source in sources:
        for single in expand_source(source):
            found += _discover(single, settings, store)
    return _name_apart(_drop_second_checkouts(found))


def expand_source(source: str) -> list[str]:
    """Return the sources a file lists, or the source itself."""
    place = Path(source).expanduser()
    if is_url(source) or not place.is_file():
        return [source]
    lines = place.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _discover(source: str, settings: Settings, store: Path) -> Iterator[_Found]:
    if is_url(source):
        yield _Found(mirror(source, store / "mirrors"))
        return
    place = Path(source.removeprefix("file://")).expanduser().absolute()
    try:
        place = place.resolve(strict=True)
        yield from _discover_folder(place, settings, store)
    except OSError as error:
        reason = f"cannot read {source}: {error.strerror}; check the path"
        yield _Found(_failed(place, _text(Path(place.name)), reason))


def _discover_folder(place: Path, settings: Settings, store: Path) -> Iterator[_Found]:
    folders = [place] if _looks_like_repository(place) else list(_walk(place, store))
    for folder in folders:
        name = _text(Path(place.name)) if folder == place else _relative(folder, place)
        yield from _probe(folder, name, settings)
    if folders:
        return
    if settings.sources.folders:
        yield _Found(Repository(_text(Path(place.name)), _text(place)))
        return
    outer = next((p for p in place.parents if _looks_like_repository(p)), None)
    hint = (
        f"it is a folder of the repository {outer}: give that one"
        if outer
        else "give a folder that holds clones, or set sources.folders = true to index it as it is"
    )
    yield _Found(_failed(place, _text(Path(place.name)), f"no git repository in {place}; {hint}"))


def _walk(place: Path, store: Path) -> Iterator[Path]:
    """Yield the outermost repositories below ``place`` by name; links are not followed."""
    pending = [place]
    while pending:
        folder = pending.pop()
        if folder != place and _looks_like_repository(folder):
            yield folder
            continue
        try:
            inner = _folders(folder)
        except OSError:
            if folder == place:
                raise
            continue  # somebody else's folder inside a folder of clones
        pending += [child for child in sorted(inner, reverse=True) if child != store]


def _folders(folder: Path) -> list[Path]:
    with os.scandir(folder) as listing:
        return [
            folder / entry.name
            for entry in listing
            if entry.name not in _NEVER_WALKED and entry.is_dir(follow_symlinks=False)
        ]


def _looks_like_repository(folder: Path) -> bool:
    if os.path.lexists(folder / ".git"):
        return True
    return (folder / "HEAD").is_file() and all(
        (folder / name).is_dir() for name in ("objects", "refs")
    )


def _probe(folder: Path, name: str, settings: Settings) -> Iterator[_Found]:
    """Yield the repository in ``folder``, then the ones that lie inside it."""
    nested = settings.sources.nested
    is_bare = not os.path.lexists(folder / ".git")
    try:
        head = read_head(folder if is_bare else folder / ".git")
        inner = [] if is_bare else _inner_repositories(folder, head, is_nested=nested)
    except SourceError as error:
        reason = f"{folder} is not a repository that git can read: {error}"
        yield _Found(_failed(folder, name, reason))
        return
    repository = Repository(
        name,
        _text(folder),
        _text(head.common_directory),
        head.commit,
        head.branch,
        reason="" if head.commit else "no commits",
    )
    yield _Found(repository, head)
    for child in inner:
        inner_name = f"{name}/{_relative(child, folder)}"
        if nested:
            yield from _probe(child, inner_name, settings)
        else:
            reason = _NESTED.format(display_path(name))
            yield _Found(Repository(inner_name, _text(child), status="skipped", reason=reason))


def _inner_repositories(folder: Path, head: Head, *, is_nested: bool) -> list[Path]:
    """Return the clones inside a checkout that are not ignored; if asked for, submodules too.

    A submodule that is not entered is a row of the files table, so it is not named here.
    """
    names = list_files(folder, head)
    inner = [name.removesuffix(b"/") for name in names if name.endswith(b"/")]
    if is_nested:
        inner += list_submodules(head)
    places = [folder / os.fsdecode(name) for name in inner]
    return sorted(place for place in places if os.path.lexists(place / ".git"))


def _drop_second_checkouts(found: Iterable[_Found]) -> list[Repository]:
    """Keep one checkout of each repository: the main one, else the first."""
    chosen: dict[str, _Found] = {}
    for item in found:
        repository = item.repository
        key = repository.git_directory or f"{repository.status} {repository.source}"
        known = chosen.get(key)
        if known is None or (_is_linked(known) and not _is_linked(item)):
            chosen[key] = item
    return [item.repository for item in chosen.values()]


def _is_linked(item: _Found) -> bool:
    return item.head is not None and item.head.is_linked


def _name_apart(repositories: Iterable[Repository]) -> list[Repository]:
    """Mark every name but the first of its kind with a hash of its place; sort by name."""
    named: dict[str, Repository] = {}
    for repository in repositories:
        name = repository.name
        if name in named:
            mark = hashlib.blake2b(repository.source.encode()).hexdigest()[:_MARK_DIGITS]
            name = f"{name}~{mark}"
        named[name] = replace(repository, name=name)
    return [named[name] for name in sorted(named)]


def _failed(place: Path, name: str, reason: str) -> Repository:
    return Repository(name, _text(place), status="failed", reason=reason)


def _relative(folder: Path, place: Path) -> str:
    return _text(folder.relative_to(place))


def _text(place: Path) -> str:
    """Return a place as text that can be stored, whatever its bytes."""
    return path_from_bytes(os.fsencode(place))


def native_path(text: str) -> Path:
    """Return the place that a row's ``source`` or ``git_directory`` names."""
    return Path(os.fsdecode(path_to_bytes(text)))
