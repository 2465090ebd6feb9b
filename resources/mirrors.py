"""Bare mirrors of repositories behind URLs, fetched only when the server's branch has moved."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from codelake.errors import SourceError
from codelake.repositories import Repository
from codelake.repository_rules import chosen_branch
from codelake.source_settings import SourceSettings
from resources.addresses import Address, is_ssh, with_token
from resources.git import GitError, network_environment, run_git

_ASK_SECONDS: Final = 60.0  # for one list of names; a server that is down must not hold up a night
_FETCH_SECONDS: Final = 3600.0  # for a first fetch of a large repository over a slow line
_LONGEST_FETCH: Final = 3 * _FETCH_SECONDS  # with one more try and something to spare
_FETCHING: Final = ".fetching-"  # and a random name: a mirror until it is whole
_HEAD: Final = "refs/codelake/head"
_KIND_FILE: Final = "codelake-kind"  # in a mirror: the setting it was made with
_URL_FILE: Final = "codelake-url"  # in a mirror: what git was given, without credentials
_MOST_PACKS: Final = 20  # each fetch adds a pack and git gets slower with their number
_LIMITS: Final = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60"}
_QUIET: Final = ("--quiet", "--no-tags", "--no-write-fetch-head")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is fetched of a repository, and where its mirror lies."""

    address: Address
    place: Path
    kind: str
    branch: str
    pinned: str = ""

    @property
    def reference(self) -> str:
        """Return a commit, a branch, or what the server calls the default one."""
        if self.pinned:
            return self.pinned
        return f"refs/heads/{self.branch}" if self.branch else "HEAD"


def mirror(
    address: Address, sources: SourceSettings, mirrors: Path, *, pinned: str = ""
) -> Repository:
    """Return the repository at ``address`` after bringing its mirror up to date.

    ``pinned`` is the commit that is wanted where it is not that of a branch. What cannot be
    fetched gives a failed repository with the reason.
    """
    branch = chosen_branch(address.name, sources.branches)
    try:
        way = address if pinned else _by_protocol(address, sources.protocol)
        place = mirrors / address.folder
        return _mirror(_Wanted(with_token(way, sources), place, sources.mirror, branch, pinned))
    except SourceError as error:
        reason = f"cannot fetch {address.shown}: {error}"
        if isinstance(error, GitError):
            reason += "; check the address, the network and your access"
        return Repository(address.name, address.shown, status="failed", reason=reason)


def fetch_blobs(git_directory: Path, address: Address, blob_ids: Sequence[str]) -> None:
    """Fetch blobs that a blobless mirror lacks, all at once.

    Args:
        git_directory: the mirror.
        address: of its repository, with what opens the door.
        blob_ids: what is missing.

    Raises:
        GitError: the server cannot be reached or does not give them.
    """
    with contextlib.suppress(FileNotFoundError):
        other = (git_directory / _URL_FILE).read_text(encoding="utf-8")
        address = replace(address, other_url=other)
    command = [f"--git-dir={git_directory}", "-c", "fetch.negotiationAlgorithm=noop", "fetch"]
    command += [*_QUIET, "--filter=blob:none", "--stdin", "--", address.url]
    names = "".join(f"{blob_id}\n" for blob_id in blob_ids).encode()
    run_git(command, environment=_environment(address), seconds=_FETCH_SECONDS, given=names)
    _tidy(git_directory)


def is_blobless(git_directory: Path) -> bool:
    """Say whether a git directory is a mirror that lacks blobs which nobody asked for yet."""
    return _kind(git_directory) == "blobless"


def _by_protocol(address: Address, protocol: str) -> Address:
    """Return the address by the protocol that is wanted for what an API lists."""
    if protocol == "https" or not address.other_url:
        return replace(address, other_url="")
    if not is_ssh(address.other_url):
        message = "the server tells no ssh address of it; set sources.protocol to 'https'"
        raise SourceError(message)
    return address


def _mirror(wanted: _Wanted) -> Repository:
    commit, branch = (wanted.pinned, "") if wanted.pinned else _remote_head(wanted)
    if commit and _local_head(wanted) != commit:
        commit = _update(wanted, commit)
    return Repository(
        wanted.address.name,
        wanted.address.shown,
        str(wanted.place),
        commit,
        branch,
        reason="" if commit else "no commits",
    )


def _remote_head(wanted: _Wanted) -> tuple[str, str]:
    """Return commit and name of the branch, empty for an empty repository."""
    names = dict.fromkeys(("HEAD", wanted.reference))
    question = ["ls-remote", "--symref", "--", wanted.address.url, *names]
    answer = run_git(question, environment=_environment(wanted.address), seconds=_ASK_SECONDS)
    commits, branch = dict[str, str](), wanted.branch
    for line in os.fsdecode(answer).splitlines():
        value, _, name = line.partition("\t")
        if not value.startswith("ref: "):
            commits[name] = value
        elif name == wanted.reference:
            branch = value.removeprefix("ref: refs/heads/")
    if commits and wanted.reference not in commits:
        message = f"it has no branch {branch!r}; mend sources.branches"
        raise SourceError(message)
    return commits.get(wanted.reference, ""), branch


def _local_head(wanted: _Wanted) -> str:
    place = wanted.place
    if not place.is_dir() or _kind(place) != wanted.kind:
        return ""
    try:
        found = run_git([f"--git-dir={place}", "rev-parse", "--verify", f"{_HEAD}^{{tree}}", _HEAD])
    except GitError:  # half a fetch, or a damaged mirror: fetched again
        return ""
    return os.fsdecode(found).split("\n")[1]


def _kind(place: Path) -> str:
    try:
        return (place / _KIND_FILE).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return "shallow" if (place / "shallow").exists() else ""


def _update(wanted: _Wanted, commit: str) -> str:
    """Bring the mirror up to date; one that refuses is replaced by a new one."""
    place = wanted.place
    if place.is_dir() and _kind(place) == wanted.kind:
        try:
            return _fetch(wanted, place)
        except GitError:  # a lock of a killed run, a damaged pack, a server that lost the base
            pass
    place.parent.mkdir(parents=True, exist_ok=True)
    _drop_leftovers(place.parent)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=_FETCHING) as folder:
        fresh = Path(folder) / place.name
        form = "sha256" if len(commit) > 40 else "sha1"  # noqa: PLR2004 # digits of a sha1
        make_bare(fresh, form)
        (fresh / _KIND_FILE).write_text(wanted.kind, encoding="ascii")
        fetched = _fetch(wanted, fresh)
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)
    return fetched


def make_bare(place: Path, object_format: str = "sha1") -> None:
    """Make an empty bare repository.

    Raises:
        GitError: it cannot be written.
    """
    options = ["--bare", "--quiet", "--template=", f"--object-format={object_format}"]
    run_git(["init", *options, str(place)])


def _drop_leftovers(mirrors: Path) -> None:
    """Remove what killed runs left of their fetches; another run may still be at a younger one."""
    for folder in mirrors.glob(f"{_FETCHING}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > _LONGEST_FETCH:
                shutil.rmtree(folder, ignore_errors=True)


def _fetch(wanted: _Wanted, place: Path) -> str:
    """Fetch the branch as the kind of the mirror wants it, and return its commit."""
    where = f"--git-dir={place}"
    options = [*_QUIET, "--force", "--update-shallow"]
    target = ["--", wanted.address.url, f"+{wanted.reference}:{_HEAD}"]
    environment = _environment(wanted.address)
    if wanted.address.other_url:
        (place / _URL_FILE).write_text(wanted.address.other_url, encoding="utf-8")
    try:
        part = [where, "fetch", *options, *_PARTS[wanted.kind], *target]
        run_git(part, environment=environment, seconds=_FETCH_SECONDS)
    except GitError as error:
        if "shallow" not in str(error):  # a plain file server has no part of a history to give
            raise
        full = [where, "fetch", *options, *target]
        run_git(full, environment=environment, seconds=_FETCH_SECONDS)
    _tidy(place)
    return os.fsdecode(run_git([where, "rev-parse", "--verify", _HEAD])).strip()


# What of a repository is fetched, by the setting sources.mirror.
_PARTS: Final = {
    "shallow": ("--depth=1",),
    "blobless": ("--filter=blob:none",),
    "full": (),
}


def _tidy(place: Path) -> None:
    if len(list((place / "objects" / "pack").glob("*.pack"))) > _MOST_PACKS:
        run_git([f"--git-dir={place}", "repack", "-a", "-d", "-q"], seconds=_FETCH_SECONDS)


def _environment(address: Address) -> dict[str, str]:
    return network_environment({**_LIMITS, **address.secret})
