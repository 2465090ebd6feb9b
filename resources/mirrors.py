"""Bare mirrors of repositories behind URLs, fetched again only when the server's HEAD has moved."""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from codelake.errors import SourceError
from codelake.repositories import Repository
from resources.git import GitError, network_environment, run_git, without_credentials
from resources.places import expand_home

_SCHEMES: Final = frozenset({"http", "https", "ssh", "git"})
_ASK_SECONDS: Final = 60.0  # for one list of names; a server that is down must not hold up a night
_FETCH_SECONDS: Final = 3600.0  # for a first fetch of a large repository over a slow line
_LONGEST_FETCH: Final = 3 * _FETCH_SECONDS  # with one more try and something to spare
_FETCHING: Final = ".fetching-"  # and a random name: a mirror until it is whole
_SCP_LIKE: Final = re.compile(r"(?:[\w.+-]+@)?[\w.-]+:(?!//)[^\\]")
_HELPER: Final = re.compile(r"[\w+.-]+::")  # ext::sh -c ..., a command in an address
_HEAD: Final = "refs/codelake/head"
_MOST_PACKS: Final = 20  # each fetch adds a pack and git gets slower with their number
_NAME_DIGITS: Final = 10  # of the hash that keeps two mirrors apart
_LIMITS: Final = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60"}


@dataclass(frozen=True, slots=True)
class Address:
    """A git URL, split into what may be shown and stored and what may not."""

    shown: str
    secret: Mapping[str, str]  # git settings that put the credentials back

    @property
    def name(self) -> str:
        """Return ``organisation/repository``, the path of the URL."""
        path = urlsplit(self.shown).path if "://" in self.shown else self.shown.split(":", 1)[1]
        name = path.strip("/").removesuffix(".git").removeprefix("~")
        return name or urlsplit(self.shown).netloc

    @property
    def folder(self) -> str:
        """Return a folder name for the mirror, safe on every file system."""
        mark = hashlib.blake2b(self.shown.encode()).hexdigest()[:_NAME_DIGITS]
        return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', self.name).strip('.-')[:80]}-{mark}.git"


def is_url(source: str) -> bool:
    """Say whether ``source`` names a server (or a helper program) rather than a local path."""
    if source.startswith("file://") or os.path.exists(expand_home(source)):  # noqa: PTH110 # that of Path raises if too long
        return False
    return "://" in source or bool(_HELPER.match(source) or _SCP_LIKE.match(source))


def parse_address(url: str) -> Address:
    """Split a git URL.

    Raises:
        SourceError: a scheme that is not fetched, such as ``ext::``, or no host.
    """
    if "://" not in url and not _HELPER.match(url):
        return Address(url, {})  # user@host:path has no place for a password
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or _HELPER.match(url) or not parts.hostname:
        message = (
            f"cannot fetch {without_credentials(url)!r}: give an http, https, ssh or git URL, "
            "user@host:path, or a local path"
        )
        raise SourceError(message)
    shown = without_credentials(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))
    host = urlsplit(shown).netloc
    if parts.netloc == host:
        return Address(shown, {})
    place = f"{parts.scheme}://{parts.netloc}/"
    return Address(shown, {f"url.{place}.insteadOf": f"{parts.scheme}://{host}/"})


def mirror(url: str, mirrors: Path) -> Repository:
    """Return the repository behind ``url`` after bringing its mirror up to date.

    A server that cannot be reached gives a failed repository with git's reason.
    """
    try:
        address = parse_address(url)
    except SourceError as error:
        shown = without_credentials(url)
        return Repository(shown, shown, status="failed", reason=str(error))
    try:
        return _mirror(address, mirrors)
    except SourceError as error:
        reason = f"cannot fetch {address.shown}: {error}; check the address, the network and "
        reason += "your access"
        return Repository(address.name, address.shown, status="failed", reason=reason)


def _mirror(address: Address, mirrors: Path) -> Repository:
    commit, branch = _remote_head(address)
    place = mirrors / address.folder
    if commit and _local_head(place) != commit:
        commit = _update(address, place, commit)
    return Repository(
        address.name,
        address.shown,
        str(place),
        commit,
        branch,
        reason="" if commit else "no commits",
    )


def _remote_head(address: Address) -> tuple[str, str]:
    """Return commit and branch of the server's HEAD, empty for an empty repository."""
    question = ["ls-remote", "--symref", "--", address.shown, "HEAD"]
    answer = run_git(question, environment=_environment(address), seconds=_ASK_SECONDS)
    commit = branch = ""
    for line in os.fsdecode(answer).splitlines():
        value, _, name = line.partition("\t")
        if name != "HEAD":
            continue
        if value.startswith("ref: "):
            branch = value.removeprefix("ref: refs/heads/")
        else:
            commit = value
    return commit, branch


def _local_head(place: Path) -> str:
    if not place.is_dir():
        return ""
    try:
        found = run_git([f"--git-dir={place}", "rev-parse", "--verify", f"{_HEAD}^{{tree}}", _HEAD])
    except GitError:  # half a fetch, or a damaged mirror: fetched again
        return ""
    return os.fsdecode(found).split("\n")[1]


def _update(address: Address, place: Path, commit: str) -> str:
    """Bring the mirror up to date; one that refuses is replaced by a new one."""
    if place.is_dir():
        try:
            return _fetch(address, place)
        except GitError:  # a lock of a killed run, a damaged pack, a server that lost the base
            pass
    place.parent.mkdir(parents=True, exist_ok=True)
    _drop_leftovers(place.parent)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=_FETCHING) as folder:
        fresh = Path(folder) / place.name
        form = "sha256" if len(commit) > 40 else "sha1"  # noqa: PLR2004 # digits of a sha1
        run_git(["init", "--bare", "--quiet", "--template=", f"--object-format={form}", str(fresh)])
        fetched = _fetch(address, fresh)
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)
    return fetched


def _drop_leftovers(mirrors: Path) -> None:
    """Remove what killed runs left of their fetches; another run may still be at a younger one."""
    for folder in mirrors.glob(f"{_FETCHING}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > _LONGEST_FETCH:
                shutil.rmtree(folder, ignore_errors=True)


def _fetch(address: Address, place: Path) -> str:
    """Fetch the server's HEAD, without history where the server can, and return its commit."""
    where = f"--git-dir={place}"
    options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--force", "--update-shallow"]
    target = ["--", address.shown, f"+HEAD:{_HEAD}"]
    environment = _environment(address)
    try:
        shallow = [where, "fetch", *options, "--depth=1", *target]
        run_git(shallow, environment=environment, seconds=_FETCH_SECONDS)
    except GitError as error:
        if "shallow" not in str(error):  # a plain file server has no part of a history to give
            raise
        full = [where, "fetch", *options, *target]
        run_git(full, environment=environment, seconds=_FETCH_SECONDS)
    if len(list((place / "objects" / "pack").glob("*.pack"))) > _MOST_PACKS:
        run_git([where, "repack", "-a", "-d", "-q"], seconds=_FETCH_SECONDS)
    return os.fsdecode(run_git([where, "rev-parse", "--verify", _HEAD])).strip()


def _environment(address: Address) -> dict[str, str]:
    return network_environment({**_LIMITS, **address.secret})
