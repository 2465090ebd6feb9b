"""Sources as they are written: the words of ``sources.paths``, of a command line or of a file."""

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path

from codelake.errors import SourceError
from codelake.paths import path_from_bytes
from codelake.source_settings import SourceSettings
from resources.addresses import Address, is_url, parse_address
from resources.git import without_credentials
from resources.places import expand_home
from resources.sources.accounts import is_account, parse_account
from resources.sources.remote_folders import is_remote_folder, parse_remote_folder


def expand_source(source: str) -> list[str]:
    """Return the sources a file lists, or the source itself.

    A file that lists nothing that could be one, such as a program, is taken for a mistyped path.
    """
    place = expand_home(source)
    if is_url(source) or not os.path.isfile(place):  # noqa: PTH113 # that of Path raises if too long
        return [source]
    try:
        text = place.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # said where the source is looked into
        return [source]
    lines = [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]
    return lines if any(map(_names_a_place, lines)) else [source]


def expand_sources(sources: Iterable[str]) -> list[str]:
    """Return every source once, files replaced by what they list."""
    unique: dict[str, str] = {}
    for single in chain.from_iterable(map(expand_source, sources)):
        unique.setdefault(without_credentials(single), single)
    return list(unique.values())


def source_places(sources: SourceSettings) -> frozenset[str]:
    """Return where the sources are, as repositories found in them name it."""
    return frozenset(_place(single, sources) for single in expand_sources(sources.paths))


def given_address(shown: str, sources: SourceSettings) -> Address:
    """Return the address that a repository was found at, with the credentials it was given with.

    Raises:
        SourceError: no address of a git server.
    """
    for single in expand_sources(sources.paths):
        with suppress(SourceError):
            if is_url(single) and parse_address(single).shown == shown:
                return parse_address(single)
    return parse_address(shown)


def real_place(place: Path) -> str:
    """Return a place as text that can be stored, with links followed; nothing need be there."""
    with suppress(ValueError):  # a NUL, where nothing can be
        return path_from_bytes(os.fsencode(os.path.realpath(place)))
    return path_from_bytes(os.fsencode(place))


def _place(source: str, sources: SourceSettings) -> str:
    if is_url(source):
        with suppress(SourceError):  # said where it is fetched
            if is_account(source):
                return parse_account(source, sources).shown
            if is_remote_folder(source):
                return parse_remote_folder(source).shown
            return parse_address(source).shown
        return without_credentials(source)
    return real_place(expand_home(source.removeprefix("file://")))


def _names_a_place(line: str) -> bool:
    if is_url(line):
        return "://" in line or "@" in line
    return os.path.exists(expand_home(line.removeprefix("file://")))  # noqa: PTH110 # as above
