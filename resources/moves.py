"""Which repositories moved: events of the file system, told apart by where they lie.

Nobody is woken by what git does for itself, by the store, or by a file that git ignores.
"""

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from codelake.errors import SourceError, UsageError
from codelake.repositories import Repository
from codelake.settings import Settings
from resources.addresses import is_url
from resources.git import read_head
from resources.places import work_folder
from resources.repositories import list_places, native_path
from resources.sources.words import expand_sources, source_places
from resources.working_trees import list_files

Paths = frozenset[str]

NOT_INSTALLED: Final = "the package 'watchfiles' is not installed: pip install 'codelake[watch]'"

# What git rewrites when another commit is checked out, or a branch gets another commit.
_HEADS: Final = ("HEAD", "packed-refs", "reftable/tables.list")
_BRANCHES: Final = "refs/heads/"
_FETCHED: Final = "refs/remotes/"  # which count where sources.branches names one
_LINKED: Final = re.compile(r"^worktrees/[^/]+/")
_LOST: Final = "\ufffd"  # stands in an event for a byte that is no UTF-8
_MOST_IGNORED: Final = 100_000  # paths that are remembered as ignored: 20 MB
_RULES: Final = ".gitignore"
_TICK_MS: Final = 250  # between two looks at the clock
_STEP_MS: Final = 50  # events that come as close together are one batch
_MOST_QUIETS: Final = 15


def require_watchable(settings: Settings) -> list[str]:
    """Return the sources that lie on this machine; only of those does it tell events.

    Raises:
        UsageError: there is none.
    """
    found = [one for one in expand_sources(settings.sources.paths) if not is_url(one)]
    if not found:
        message = (
            "nothing to watch: name a folder of clones or a repository on this machine, or list "
            "some under sources.paths; what lies elsewhere is brought by `codelake index`"
        )
        raise UsageError(message)
    return found


class Moves:
    """Tells which repositories a set of changed paths concerns.

    Args:
        settings: local sources, and whether files count as they are saved
            (``sources.untracked``) or only once they are committed.
    """

    def __init__(self, settings: Settings) -> None:
        """Know no repository yet; all that changes may be a new one."""
        self._settings = settings
        self._roots = sorted(source_places(settings.sources))
        self._store = str(work_folder(settings).resolve())
        self._references = (_BRANCHES, _FETCHED) if settings.sources.branches else (_BRANCHES,)
        self._repositories: dict[str, Repository] = {}
        self._folders: dict[str, str] = {}
        self._listed: dict[str, list[bytes]] = {}
        self._ignored: set[str] = set()

    def follow(self, repositories: Iterable[Repository]) -> None:
        """Know those of ``repositories`` that lie in the sources, in place of those before."""
        roots = [str(native_path(root)) for root in self._roots]
        self._repositories = {
            one.source: one
            for one in repositories
            if any(_is_inside(str(native_path(one.source)), root) for root in roots)
        }
        self._folders = {}
        for source, one in self._repositories.items():
            for place in (one.git_directory, source):
                if place:
                    self._folders[str(native_path(place))] = source

    def name(self, place: str) -> str:
        """Return the name of the repository in ``place``, or the place of an unknown one."""
        known = self._repositories.get(place)
        return known.name if known else place

    def watched(self) -> list[str]:
        """Return the folders whose events tell all: the sources, and git directories elsewhere.

        One that is not there is among them.
        """
        found = [str(native_path(root)) for root in self._roots]
        for folder in self._folders:
            if not any(_is_inside(folder, root) for root in found):
                found.append(folder)
        return found

    def counts(self, path: str) -> bool:
        """Say at once whether ``path`` may concern a repository; git is not asked."""
        if _is_inside(path, self._store) or path in self._ignored:
            return False
        source = self._source_of(path)
        if source is None:
            return True
        repository = self._repositories[source]
        inner = self._inside_git(path, repository)
        if repository.status == "skipped":
            return False
        if inner is None:
            return self._is_live(repository) or path == str(native_path(source))
        return inner in _HEADS or (inner.startswith(self._references) and inner[-5:] != ".lock")

    def is_busy(self, paths: Paths) -> bool:
        """Say whether git is at work in one of the repositories and will change more."""
        sources = {self._source_of(path) for path in paths} - {None}
        found = (self._repositories[source].git_directory for source in sources if source)
        return any((native_path(place) / "index.lock").exists() for place in found if place)

    def places(self, paths: Paths) -> Paths:
        """Return where the repositories lie that ``paths`` concern."""
        by_source: dict[str, list[str]] = {}
        strange = []
        for path in paths:
            source = self._source_of(path)
            if source is None:
                strange.append(path)
            else:
                by_source.setdefault(source, []).append(path)
        moved = {s for s, some in by_source.items() if self._has_moved(s, some)}
        return frozenset(moved | self._news(strange))

    def _has_moved(self, source: str, paths: Collection[str]) -> bool:
        repository = self._repositories[source]
        folder = native_path(source)
        is_head = any(self._inside_git(path, repository) is not None for path in paths)
        if is_head or not self._is_live(repository) or not folder.is_dir():
            self._listed.pop(source, None)
            return True
        before = self._listed.get(source)
        try:
            head = read_head(folder / ".git") if repository.git_directory else None
            now = self._listed[source] = list_files(folder, head)
        except SourceError:
            return True  # the update tells what is wrong
        found = [path for path in paths if _is_listed(path, source, before, now)]
        if any(path.endswith(_RULES) for path in found) or len(self._ignored) > _MOST_IGNORED:
            self._ignored.clear()
        self._ignored.update(p for p in paths if p not in found and not Path(p).is_dir())
        return bool(found)

    def _news(self, paths: Collection[str]) -> set[str]:
        """Return the places of repositories that came, or that went with a folder above them."""
        gone = {
            source
            for source, one in self._repositories.items()
            if any(_is_inside(str(native_path(one.source)), path) for path in paths)
        }
        if not any(".git" in Path(path).parts or Path(path).is_dir() for path in paths):
            return gone
        return gone | set((list_places(self._settings) or frozenset()) - self._repositories.keys())

    def _source_of(self, path: str) -> str | None:
        place = path
        while place not in self._folders:
            parent = os.path.dirname(place)  # noqa: PTH120 # a hundred times as fast as Path
            if parent == place:
                return None
            place = parent
        return self._folders[place]

    def _inside_git(self, path: str, repository: Repository) -> str | None:
        """Return ``path`` below the git directory, or below any inside; None for a file."""
        own = str(native_path(repository.git_directory)) if repository.git_directory else ""
        if own and _is_inside(path, own):
            return _LINKED.sub("", path[len(own) + 1 :])
        return "" if "/.git/" in path or path.endswith("/.git") else None

    def _is_live(self, repository: Repository) -> bool:
        return repository.is_on_disk(is_live=self._settings.sources.untracked)


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _is_listed(path: str, source: str, before: list[bytes] | None, now: list[bytes]) -> bool:
    """Say whether git lists ``path``, or something below it, or did so before."""
    if _LOST in path or (before is None and not os.path.lexists(path)):
        return True
    name = os.fsencode(os.path.relpath(path, native_path(source)))
    return any(_holds(names, name) for names in (now, before or []))


def _holds(names: list[bytes], name: bytes) -> bool:
    place = bisect_left(names, name)
    if place < len(names) and names[place] == name:
        return True
    below = bisect_left(names, name + b"/")
    return below < len(names) and names[below].startswith(name + b"/")


def watch_folders(folders: Collection[str]) -> Iterator[Paths]:
    """Yield the paths below ``folders`` that change, from the first step on; empty now and then.

    It ends once one of them that was not there, or no longer, is made: the system tells nothing of
    a folder made anew.

    Raises:
        UsageError: the package that watches is not installed.
        SourceError: the system cannot watch as much.
    """
    try:
        from watchfiles import Change, watch  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise UsageError(NOT_INSTALLED) from error
    known = {folder: _identity(folder) for folder in folders}
    events = watch(
        *(folder for folder, identity in known.items() if identity),
        watch_filter=None,
        step=_STEP_MS,
        debounce=_TICK_MS,
        rust_timeout=_TICK_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    try:
        for changes in events:
            yield frozenset(path for _, path in changes)
            # One made anew may get the inode of the one before.
            known |= {path: None for kind, path in changes if kind == Change.deleted}
            now = {folder: _identity(folder) for folder in folders}
            if any(now[folder] not in (None, known[folder]) for folder in folders):
                return
            known = now
    except OSError as error:
        message = (
            f"cannot watch {', '.join(folders)}: {error}; if the limit of the system is reached, "
            "raise fs.inotify.max_user_watches, or watch fewer folders"
        )
        raise SourceError(message) from error


def _identity(folder: str) -> tuple[int, int] | None:
    """Return what tells a folder from one made anew in its place; None where there is none."""
    try:
        found = os.stat(folder)  # noqa: PTH116 # four times a second for each source
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def gather(
    batches: Iterable[Paths],
    *,
    clock: Callable[[], float],
    quiet_seconds: float,
    is_busy: Callable[[Paths], bool],
    is_due: Callable[[], bool],
) -> Iterator[tuple[Paths, float]]:
    """Yield the paths of many batches together, once it has been quiet, with when the first came.

    Where something is due though nothing moved, no path is yielded, and the present time.

    Args:
        batches: changed paths as they come; empty ones now and then, so that time is looked at.
        clock: seconds.
        quiet_seconds: for how long nothing may come. At fifteen times that nothing more is waited
            for: something is always written somewhere.
        is_busy: whether more is sure to come.
        is_due: whether something is to be done without an event.
    """
    waiting: set[str] = set()
    first = last = 0.0
    for batch in batches:
        now = clock()
        if batch:
            first, last = (first if waiting else now), now
            waiting |= batch
        if not waiting:
            if is_due():
                yield frozenset(), now
            continue
        paths = frozenset(waiting)
        is_quiet = now - last >= quiet_seconds and not is_busy(paths)
        if is_quiet or now - first >= _MOST_QUIETS * quiet_seconds:
            yield paths, first
            waiting.clear()
