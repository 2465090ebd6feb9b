"""Which repositories the sources hold: folders of clones, single repositories and URLs.

A repository is told by its git directory, never by the text of its path: a second checkout made
by ``git worktree`` shares one with the first and is not a second repository. Names come from
where a repository lies below its source, so that they are the same every night whatever the other
sources are; only a name that two sources share gets a mark of its place.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from codelake.errors import SourceError
from codelake.paths import display_path, path_from_bytes, path_to_bytes
from codelake.repositories import Repository, is_below
from codelake.repository_rules import Facts, chosen_branch, reason_left_out
from codelake.settings import Settings
from resources.addresses import Address, is_url, parse_address
from resources.git import GitError, Head, read_branch, read_head, without_credentials
from resources.mirrors import mirror
from resources.places import expand_home, work_folder
from resources.sources import list_account
from resources.sources.accounts import is_account, parse_account
from resources.sources.remote_folders import (
    RemoteFolder,
    fetch_folder,
    is_remote_folder,
    parse_remote_folder,
)
from resources.sources.words import expand_sources, real_place, source_places
from resources.submodules import fetch_submodules
from resources.working_trees import list_files, list_submodules

# Folders that hold other people's code in thousands of folders and no clone of ours.
_NEVER_WALKED: Final = frozenset(
    {".git", "node_modules", "bower_components", ".venv", "venv", "__pycache__", ".tox", ".nox"}
)
_NESTED: Final = "lies inside the repository {}; set sources.nested = true to index it"
_JOBS: Final = 8  # repositories asked at a time; few enough for one server


@dataclass(frozen=True, slots=True)
class _Found:
    """A folder that looks like a repository, and what asking git about it gave."""

    repository: Repository
    head: Head | None = None


@dataclass(frozen=True, slots=True)
class _Job:
    """What has to be done to learn of one repository, or of one folder that may hold some.

    Two jobs with the same ``key`` would be about the same mirror. ``place`` is where it lies;
    empty for a source that cannot be listed.
    """

    do: Callable[[], list[_Found]]
    key: str = ""
    place: str = ""


def discover(
    sources: Sequence[str], settings: Settings, *, places: Collection[str] = ()
) -> list[Repository]:
    """Return every repository of ``sources``; what cannot be read is in the list with a reason.

    Args:
        sources: folders of clones, single repositories, git URLs, or files that list such, one
            a line.
        settings: where mirrors are kept, and whether nested clones and plain folders count.
        places: where the only repositories that are wanted lie, as ``source`` names them; the
            others are not even looked at. Empty for all.
    """
    work = work_folder(settings)
    with ThreadPoolExecutor(_JOBS) as pool:  # each waits for a server or a git process
        listed = pool.map(partial(_jobs, settings=settings, work=work), expand_sources(sources))
        jobs = {job.key or str(n): job for n, job in enumerate(chain.from_iterable(listed))}
        wanted = [job for job in jobs.values() if not places or _may_hold(job, places)]
        found = list(chain.from_iterable(pool.map(_do, wanted)))
    named = _name_apart(_drop_second_checkouts(found))
    return [one for one in named if not places or _concerns(one, places)]


def list_places(settings: Settings) -> frozenset[str] | None:
    """Return where the repositories of the sources lie, none of them read or fetched.

    Returns:
        Folders and addresses, or ``None`` where a source cannot be listed now.
    """
    work = work_folder(settings)
    places: set[str] = set()
    for source in expand_sources(settings.sources.paths):
        for job in _jobs(source, settings, work):
            if not job.place:
                return None
            places.add(job.place)
    return frozenset(places)


def _may_hold(job: _Job, places: Collection[str]) -> bool:
    if not job.place:
        return True
    return any(place == job.place or place.startswith(f"{job.place}/") for place in places)


def _concerns(repository: Repository, places: Collection[str]) -> bool:
    """Say whether it lies in one of ``places``, or is a failed source that holds one."""
    if repository.status != "failed":
        return repository.source in places
    return any(is_below(place, [repository.source]) for place in places)


def _do(job: _Job) -> list[_Found]:
    return job.do()


def _jobs(source: str, settings: Settings, work: Path) -> list[_Job]:
    """Return what has to be done to learn the repositories of one source, in their order."""
    if not is_url(source):
        return list(_folder_jobs(source, settings, work))
    try:
        if is_remote_folder(source):
            folder = parse_remote_folder(source)
            return [_Job(partial(_fetch_folder, folder, settings, work), folder.shown)]
        if is_account(source):
            account = parse_account(source, settings.sources)
            listed = list_account(account, settings.sources.rules, work / "listings")
        else:
            listed = [(parse_address(source), Facts())]
    except SourceError as error:
        failed = _failed_source(source, settings, str(error))
        return [_Job(lambda: [_Found(failed)])]
    return [
        _Job(partial(_mirror, address, facts, settings, work), address.shown, address.shown)
        for address, facts in listed
    ]


def _mirror(address: Address, facts: Facts, settings: Settings, work: Path) -> list[_Found]:
    reason = reason_left_out(address.name, facts, settings.sources.rules)
    if reason:
        skipped = Repository(address.name, address.shown, status="skipped", reason=reason)
        return [_Found(skipped)]
    mirrors = work / "mirrors"
    repository = mirror(address, settings.sources, mirrors)
    found = [_unless_empty(repository, settings)]
    if settings.sources.nested:
        found += fetch_submodules(repository, address, settings.sources, mirrors)
    return [_Found(one) for one in found]


def _fetch_folder(folder: RemoteFolder, settings: Settings, work: Path) -> list[_Found]:
    reason = reason_left_out(folder.name, Facts(), settings.sources.rules)
    if reason:
        return [_Found(Repository(folder.name, folder.shown, status="skipped", reason=reason))]
    return [_Found(fetch_folder(folder, settings, work / "mirrors"))]


def _failed_source(source: str, settings: Settings, reason: str) -> Repository:
    (place,) = source_places(settings.sources.model_copy(update={"paths": (source,)}))
    return Repository(without_credentials(source), place, status="failed", reason=reason)


def _unless_empty(repository: Repository, settings: Settings) -> Repository:
    is_empty = not repository.status and not repository.commit
    if is_empty and repository.git_directory and not settings.sources.rules.empty:
        reason = "left out by sources.rules: empty = false"
        return replace(repository, status="skipped", reason=reason)
    return repository


def _folder_jobs(source: str, settings: Settings, work: Path) -> Iterator[_Job]:
    place = expand_home(source.removeprefix("file://")).absolute()
    try:
        place = place.resolve(strict=True)
        folders = [place] if _looks_like_repository(place) else list(_walk(place, work))
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a NUL
        problem = error.strerror if isinstance(error, OSError) else error
        reason = f"cannot read {_shown(place)}: {problem}; check the path"
        failed = Repository(_name(place), real_place(place), status="failed", reason=reason)
        yield _Job(lambda: [_Found(failed)])
        return
    for folder in folders:
        name = _name(place) if folder == place else _relative(folder, place)
        yield _Job(partial(_probe, folder, name, settings), place=_text(folder))
    if not folders:
        yield _Job(lambda: [_Found(_without_repositories(place, settings))], place=_text(place))


def _without_repositories(place: Path, settings: Settings) -> Repository:
    if settings.sources.folders:
        return Repository(_name(place), _text(place))
    outer = next((p for p in place.parents if _looks_like_repository(p)), None)
    hint = (
        f"it is a folder of the repository {_shown(outer)}: give that one"
        if outer
        else "give a folder that holds clones, or set sources.folders = true to index it as it is"
    )
    return _failed(place, f"no git repository in {_shown(place)}; {hint}")


def _walk(place: Path, work: Path) -> Iterator[Path]:
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
        pending += [child for child in sorted(inner, reverse=True) if child != work]


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


def _probe(folder: Path, name: str, settings: Settings) -> list[_Found]:
    """Return the repository in ``folder``, then the ones that lie inside it."""
    nested = settings.sources.nested
    left_out = reason_left_out(name, Facts(), settings.sources.rules)
    if left_out:
        return [_Found(Repository(name, _text(folder), status="skipped", reason=left_out))]
    is_bare = not os.path.lexists(folder / ".git")
    try:
        head = _wanted_head(read_head(folder if is_bare else folder / ".git"), name, settings)
        inner = [] if is_bare else _inner_repositories(folder, head, is_nested=nested)
    except SourceError as error:
        reason = f"{_shown(folder)} cannot be read: {error}"
        if isinstance(error, GitError):
            reason += "; mend it (`git fsck`) or clone it anew"
        return [_Found(replace(_failed(folder, reason), name=name))]
    repository = Repository(
        name,
        _text(folder),
        _text(head.common_directory),
        head.commit,
        head.branch,
        reason="" if head.commit else "no commits",
    )
    found = [_Found(_unless_empty(repository, settings), head)]
    for child in inner:
        inner_name = f"{name}/{_relative(child, folder)}"
        if nested:
            found += _probe(child, inner_name, settings)
        else:
            reason = _NESTED.format(display_path(name))
            skipped = Repository(inner_name, _text(child), status="skipped", reason=reason)
            found.append(_Found(skipped))
    return found


def _wanted_head(head: Head, name: str, settings: Settings) -> Head:
    """Return the head of the branch that the settings name, else what is checked out."""
    branch = chosen_branch(name, settings.sources.branches)
    if not branch or branch == head.branch:
        return head
    if settings.sources.untracked:
        message = f"{head.branch or 'a commit'} is checked out, not {branch!r} of sources.branches;"
        message += " check that out, or set sources.untracked = false"
        raise SourceError(message)
    return replace(head, commit=read_branch(head.common_directory, branch), branch=branch)


def _inner_repositories(folder: Path, head: Head, *, is_nested: bool) -> list[Path]:
    """Return the clones inside a checkout that are not ignored; if asked for, submodules too.

    A submodule that is not entered is a row of the files table, so it is not named here.
    """
    if not _holds_clone(folder):
        return []
    names = list_files(folder, head)
    inner = [name.removesuffix(b"/") for name in names if name.endswith(b"/")]
    if is_nested:
        inner += list_submodules(head)
    places = [folder / os.fsdecode(name) for name in inner]
    return sorted(place for place in places if os.path.lexists(place / ".git"))


def _holds_clone(folder: Path) -> bool:
    """Say whether a ``.git`` stands below ``folder``; where none does, git is not asked."""
    pending = [str(folder)]
    while pending:
        place = pending.pop()
        try:
            with os.scandir(place) as listing:
                entries = list(listing)
        except OSError:
            continue  # git could not look into it either
        if place != str(folder) and any(entry.name == ".git" for entry in entries):
            return True
        pending += [e.path for e in entries if e.name != ".git" and e.is_dir(follow_symlinks=False)]
    return False


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
        apart = repository.marked() if repository.name in named else repository
        named[apart.name] = apart
    return [named[name] for name in sorted(named)]


def _failed(place: Path, reason: str) -> Repository:
    return Repository(_name(place), _text(place), status="failed", reason=reason)


def _name(place: Path) -> str:
    return _text(Path(place.name)) if place.name else "root"


def _shown(place: Path) -> str:
    return display_path(_text(place))


def _relative(folder: Path, place: Path) -> str:
    return _text(folder.relative_to(place))


def _text(place: Path) -> str:
    """Return a place as text that can be stored, whatever its bytes."""
    return path_from_bytes(os.fsencode(place))


def native_path(text: str) -> Path:
    """Return the place that a row's ``source`` or ``git_directory`` names."""
    return Path(os.fsdecode(path_to_bytes(text)))
