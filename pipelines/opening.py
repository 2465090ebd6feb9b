"""Open what a question needs: the store that is there and the embedder of its vectors."""

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from codelake.embedding import Embedder
from codelake.errors import EmbeddingError, StoreError, UsageError
from codelake.paths import path_from_bytes
from codelake.reranking import Reranker
from codelake.search import Filters, Place
from codelake.settings import EmbeddingSettings, Settings
from resources.embedders import open_embedder
from resources.nights import read_nights
from resources.places import work_folder
from resources.rerankers import open_reranker
from resources.store import LanceStore, LanceTables
from resources.store.opening import open_store
from resources.store.states import Found

_NEAREST: Final = 3  # names like a wrong one that are told
_EXAMPLES: Final = 5  # names that are told where none is like it
_PLACE: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?:-\d+)?", re.DOTALL)
_MOST: Final = 10_000  # chunks of files that have one path in several repositories
_NO_RERANKER: Final = "none"
LOCAL_RERANKER: Final = "maxsim"
_WORDS_ONLY: Final = frozenset({"text", "symbol", "regex"})


def require_store(settings: Settings) -> LanceStore:
    """Return the store of ``settings``.

    Raises:
        StoreError: there is none.
    """
    store = open_store(settings)
    if not store.is_there:
        message = (
            f"no index in {settings.store!r}: run `codelake index SOURCE... "
            f"--store {settings.store}` first, or name another place with --store"
        )
        raise StoreError(message)
    return store


def require_night(settings: Settings) -> Path:
    """Return the work folder of the store, over which there was a night.

    Raises:
        StoreError: there was none.
    """
    folder = work_folder(settings)
    if not read_nights(folder):
        message = (
            f"no night is recorded in {settings.store!r}: run `codelake index` or the job nightly "
            "first, or name another folder with --store"
        )
        raise StoreError(message)
    return folder


def check_filters(
    filters: Filters, store: LanceStore, tables: LanceTables, found: Found | None = None
) -> Filters:
    """Return ``filters`` once all they name is known to be there.

    Args:
        filters: as asked for.
        store: the store.
        tables: what is searched.
        found: the older state that is; one found by a commit is searched where that commit was.

    Raises:
        UsageError: there is no such repository, owner, language or kind; the nearest names are
            given. Or a path pattern is empty.
    """
    if filters.repositories or filters.owners:
        names = [row["repository"] for row in store.repositories(found.state if found else None)]
        require_known("repository", filters.repositories, names)
        require_known("owner", filters.owners, owners_of(names))
    require_languages(filters.languages)
    if filters.kinds:
        require_known("kind", filters.kinds, tables.values("kind"))
    if "" in filters.paths:
        message = "a path pattern is an empty text: give one like 'src/**', or none"
        raise UsageError(message)
    if not found or not found.repositories:
        return filters
    if not filters.repositories:
        return replace(filters, repositories=found.repositories)
    wanted = tuple(name for name in filters.repositories if name in found.repositories)
    if not wanted:
        message = f"that commit is one of {', '.join(found.repositories)}; search there"
        raise UsageError(message)
    return replace(filters, repositories=wanted)


def require_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Check that every one of ``names`` is among ``known``.

    Raises:
        UsageError: one is not; the nearest are given.
    """
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=_NEAREST)
            told = f"there are {', '.join(known[:_EXAMPLES])}" if known else "there is none"
            told = f"did you mean {' or '.join(near)}?" if near else told
            message = f"no {what} {name!r} in the index; {told}"
            raise UsageError(message)


def owners_of(names: Sequence[str]) -> list[str]:
    """Return everything that stands in front of some repository's name."""
    parents = {str(parent) for name in names for parent in PurePosixPath(name).parents}
    return sorted(parents - {".", "/"})


def repository_folders(store: LanceStore) -> dict[str, Path]:
    """Return the folder of each stored repository that lies on this machine."""
    rows = store.read("repositories", columns=["repository", "source"]).to_pylist()
    folders = {row["repository"]: Path(row["source"]) for row in rows}
    return {name: folder for name, folder in folders.items() if folder.is_dir()}


def find_place(place: str, store: LanceStore, tables: LanceTables, repository: str = "") -> Place:
    """Return the line of an indexed file that ``PATH:LINE`` means.

    Args:
        place: the path of a file on this machine or as it stands in the index, and a line, or
            the first and the last as ``codelake search`` prints them.
        store: the store.
        tables: what is searched.
        repository: where the path is; empty where the index tells.

    Raises:
        UsageError: there is no line, or the path is in no repository or in several.
    """
    match = _PLACE.fullmatch(place)
    if match is None:
        message = f"{place!r} names no line; give it as PATH:LINE, e.g. src/app.py:12"
        raise UsageError(message)
    path, line = match["path"], int(match["line"])
    here = Path(path).absolute()
    for name, folder in repository_folders(store).items() if here.is_file() else ():
        if repository in {"", name} and here.is_relative_to(folder.absolute()):
            inner = os.fsencode(here.relative_to(folder.absolute()).as_posix())
            return Place(name, path_from_bytes(inner), line, line)
    filters = Filters(repositories=(repository,) if repository else ())
    rows = tables.equal("chunks", "path", [path], k=_MOST, filters=filters, columns=["repository"])
    names = sorted(set(rows["repository"].to_pylist()))
    if len(names) != 1:
        told = f"in several repositories ({', '.join(names[:_EXAMPLES])}); name one with -r"
        message = f"{path!r} is {told if names else 'no indexed file; see `codelake status`'}"
        raise UsageError(message)
    return Place(names[0], path, line, line)


def require_languages(names: Sequence[str]) -> None:
    """Check that every one of ``names`` is a language codelake tells apart.

    Raises:
        UsageError: one is not; the nearest names are given.
    """
    if not names:
        return
    # The table of languages takes a tenth of a second to read: only who asks waits for it.
    from codelake.languages import LANGUAGES  # noqa: PLC0415

    for name in names:
        if name and name not in LANGUAGES:
            near = difflib.get_close_matches(name, LANGUAGES, n=3)
            hint = f", did you mean {' or '.join(near)}?" if near else ";"
            message = f"unknown language {name!r}{hint} `codelake languages` lists them"
            raise UsageError(message)


def open_query_embedder(
    store: LanceStore, settings: Settings, mode: str, model_id: str | None = None
) -> Embedder | None:
    """Return the embedder that made the stored vectors, or None where words must do.

    Raises:
        UsageError: the stored vectors are of a remote model and the settings forbid those.
        EmbeddingError: the embedder that made them cannot be opened or has changed.
    """
    model_id = store.search_tables().model_id if model_id is None else model_id
    if mode in _WORDS_ONLY or not model_id:
        return None
    kept = store.models().embedders.get(model_id)
    wanted = EmbeddingSettings.model_validate(kept) if kept else settings.embedding
    strict = {"local_only": settings.embedding.local_only, "threads": settings.embedding.threads}
    embedder = open_embedder(wanted.model_copy(update=strict))
    if embedder.model_id != model_id:
        message = (
            f"the index has vectors of {model_id!r}, this version opens "
            f"{embedder.model_id!r}: run `codelake index` to embed anew, or search with "
            "--mode text"
        )
        raise EmbeddingError(message)
    return embedder


def open_query_reranker(settings: Settings, mode: str) -> Reranker | None:
    """Return the reranker of the settings, or the local one where multi-hop is asked for.

    Raises:
        UsageError: the settings name a reranker that does not exist, or one that sends texts away
            although they forbid it.
        EmbeddingError: its key is missing.
    """
    if mode not in {"hybrid", "multihop"}:
        return None
    if settings.search.reranker != _NO_RERANKER:
        return open_reranker(
            settings.search.reranker,
            settings.search.reranking,
            local_only=settings.embedding.local_only,
        )
    return open_reranker(LOCAL_RERANKER) if mode == "multihop" else None
