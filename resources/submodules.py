"""Submodules of mirrored repositories, each mirrored at the commit that its parent names.

Only what lies on the parent's own server is entered: where a submodule comes from is told by an
indexed repository, and that must not send us, or a token, to a place of its choice.
"""

import os
import re
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

from codelake.errors import SourceError
from codelake.paths import display_path, path_to_bytes
from codelake.repositories import Repository
from codelake.repository_rules import Facts, reason_left_out
from codelake.selection import Entry
from codelake.source_settings import SourceSettings
from resources.addresses import Address, parse_address, with_token
from resources.git import GitError, run_git
from resources.mirrors import fetch_blobs, is_blobless, mirror
from resources.objects import Objects

_MODULES: Final = ".gitmodules"
_REPOSITORY: Final = "160000"
_DEEPEST: Final = 5  # submodules of submodules; a circle of them has no end
_MOST: Final = 200  # submodules of one repository that are entered
_MOST_BYTES: Final = 1_000_000  # a larger .gitmodules is none
_SETTING: Final = re.compile(rb"submodule\.(.*)\.(path|url)\n(.*)", re.DOTALL)


def fetch_submodules(
    parent: Repository, address: Address, sources: SourceSettings, mirrors: Path, depth: int = 1
) -> list[Repository]:
    """Return the submodules of a mirror as repositories of their own, and theirs.

    One that is not entered is in the list with the reason.
    """
    if parent.status or not parent.commit or depth > _DEEPEST:
        return []
    try:
        links, urls = _read(parent, with_token(address, sources))
    except SourceError:  # told where its files are listed
        return []
    found = []
    for link in links[:_MOST]:
        inner = Address(f"{address.shown}/{link.path}", address.secret)
        name = f"{parent.name}/{link.path}"
        reason = reason_left_out(name, Facts(), sources.rules)
        try:
            url = "" if reason else _resolve(urls.get(path_to_bytes(link.path), b""), address)
        except SourceError as error:
            reason = f"a submodule that is not entered: {error}"
        if reason:
            found.append(Repository(name, inner.shown, status="skipped", reason=reason))
            continue
        inner = replace(inner, other_url=url)
        repository = replace(mirror(inner, sources, mirrors, pinned=link.blob_id), name=name)
        found.append(repository)
        found += fetch_submodules(repository, inner, sources, mirrors, depth + 1)
    return found


def _read(parent: Repository, address: Address) -> tuple[list[Entry], dict[bytes, bytes]]:
    """Return the submodules of a commit, and the URL of each by its path."""
    place = Path(os.fsdecode(path_to_bytes(parent.git_directory)))
    fetcher = partial(fetch_blobs, place, address) if is_blobless(place) else None
    with Objects(place, parent.commit, fetcher) as reader:
        entries = reader.entries()
        links = [entry for entry in entries if entry.mode == _REPOSITORY]
        listed = [e for e in entries if e.path == _MODULES and e.mode.startswith("100")]
        if not links or not listed or (next(reader.sizes(listed)) or 0) > _MOST_BYTES:
            return links, {}
        text = next(reader.contents(listed)) or b""
    return links, _parse(text)


def _parse(text: bytes) -> dict[bytes, bytes]:
    """Read a ``.gitmodules`` file with git's own parser, which follows no include here."""
    with tempfile.NamedTemporaryFile(prefix="codelake-modules-") as file:
        file.write(text)
        file.flush()
        try:
            listing = run_git(["config", "--file", file.name, "--no-includes", "-z", "--list"])
        except GitError:  # damaged: no submodule of it is entered
            return {}
    known: dict[bytes, dict[bytes, bytes]] = {}
    for line in listing.split(b"\0"):
        match = _SETTING.fullmatch(line)
        if match:
            known.setdefault(match[1], {})[match[2]] = match[3]
    return {
        values[b"path"]: values[b"url"]
        for values in known.values()
        if {b"path", b"url"} <= values.keys()
    }


def _resolve(url: bytes, parent: Address) -> str:
    """Return the URL of a submodule.

    Raises:
        SourceError: there is none, or it leads to another server.
    """
    text = url.decode("utf-8", "replace")
    if not text:
        message = f"{_MODULES} tells no URL of it"
        raise SourceError(message)
    if text.startswith(("./", "../")):
        return _relative(text, parent)
    address = parse_address(text)
    if _host(address.shown) != _host(parent.url) or address.secret:
        message = f"it lies on another server, {display_path(address.shown)}; list that under "
        message += "sources.paths if it is to be indexed"
        raise SourceError(message)
    return address.shown


def _relative(text: str, parent: Address) -> str:
    """Return the URL that git would make of one that begins with ``./`` or ``../``."""
    if "://" not in parent.url:  # user@host:path
        host, _, path = parent.url.partition(":")
        base = f"/{path.strip('/')}/"
        return f"{host}:{urljoin(base, text).strip('/')}"
    parts = urlsplit(parent.url)
    path = urljoin(f"{parts.path.rstrip('/')}/", text).rstrip("/")
    return parse_address(urlunsplit((parts.scheme, parts.netloc, path, "", ""))).shown


def _host(url: str) -> str:
    if "://" in url:
        return urlsplit(url).netloc.rpartition("@")[2]
    return url.partition(":")[0].rpartition("@")[2]
