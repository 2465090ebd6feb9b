"""Addresses of git servers: what of them may be shown and stored, and what opens the door."""

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from codelake.errors import SourceError
from codelake.source_settings import SourceSettings
from resources.embedders.providers import is_this_machine
from resources.git import without_credentials
from resources.places import expand_home

_SCHEMES: Final = frozenset({"http", "https", "ssh", "git"})
_SCP_LIKE: Final = re.compile(r"(?:[\w.+-]+@)?[\w.-]+:(?!//)[^\\].*")
_HELPER: Final = re.compile(r"[\w+.-]+::")  # ext::sh -c ..., a command in an address
_NAME_DIGITS: Final = 10  # of the hash that keeps two mirrors apart
_ANY_USER: Final = "x-access-token"  # servers that take a token as password ask for no name


@dataclass(frozen=True, slots=True)
class Address:
    """A git URL, split into what may be shown and stored and what may not.

    ``shown`` is what the repository is known by; git is given ``url``, which differs where an API
    told another way to the same repository.
    """

    shown: str
    secret: Mapping[str, str] = field(default_factory=dict)  # git settings with the credentials
    other_url: str = ""

    @property
    def url(self) -> str:
        """Return what git is given."""
        return self.other_url or self.shown

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


def is_url(source: str, folder: str = "") -> bool:
    """Say whether ``source`` names a server (or a helper program) rather than a local path.

    Args:
        source: as it is written.
        folder: where relative paths start; empty: the present one.
    """
    place = Path(folder, expand_home(source))
    if source.startswith("file://") or os.path.exists(place):  # noqa: PTH110 # that of Path raises if too long
        return False
    return "://" in source or bool(_HELPER.match(source) or _SCP_LIKE.match(source))


def is_ssh(url: str) -> bool:
    """Say whether git would reach ``url`` over ssh."""
    if "://" in url or _HELPER.match(url):
        return url.startswith("ssh://")
    return _SCP_LIKE.fullmatch(url) is not None


def parse_address(url: str) -> Address:
    """Split a git URL.

    Raises:
        SourceError: a scheme that is not fetched, such as ``ext::``, or no host.
    """
    if "://" not in url and not _HELPER.match(url):
        return Address(url)  # user@host:path has no place for a password
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:  # half an IPv6 address
        parts, host = urlsplit(""), None
    if parts.scheme not in _SCHEMES or _HELPER.match(url) or not host:
        message = (
            f"cannot fetch {without_credentials(url)!r}: give an http, https, ssh or git URL, "
            "user@host:path, or a local path"
        )
        raise SourceError(message)
    shown = without_credentials(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))
    host = urlsplit(shown).netloc
    if parts.netloc == host:
        return Address(shown)
    place = f"{parts.scheme}://{parts.netloc}/"
    return Address(shown, {f"url.{place}.insteadOf": f"{parts.scheme}://{host}/"})


def with_token(
    address: Address,
    sources: SourceSettings,
    user: str = _ANY_USER,
    environment: Mapping[str, str] = os.environ,
) -> Address:
    """Return ``address`` with the token of its host, unless it has credentials or needs none.

    Raises:
        SourceError: the token cannot be sent, see :func:`read_token`.
    """
    parts = urlsplit(address.url)
    if address.secret or parts.scheme not in {"http", "https"}:
        return address
    place = f"{parts.scheme}://{parts.netloc}/"
    token = read_token(place, sources, environment)
    if not token:
        return address
    basic = base64.b64encode(f"{user}:{token}".encode()).decode()
    return replace(address, secret={f"http.{place}.extraHeader": f"Authorization: Basic {basic}"})


def read_token(
    url: str, sources: SourceSettings, environment: Mapping[str, str] = os.environ
) -> str:
    """Return the token for the host of ``url``, empty if there is none.

    Raises:
        SourceError: it is no token, or it would travel unencrypted to another machine.
    """
    parts = urlsplit(url)
    variable = sources.tokens.get(parts.netloc, "")
    token = environment.get(variable, "").strip()
    if not re.fullmatch(r"[!-~]*", token):
        message = f"what {variable} of the environment holds is no token; set it anew"
        raise SourceError(message)
    if token and parts.scheme != "https" and not is_this_machine(url):
        message = f"the token of {parts.netloc} would travel unencrypted; use https"
        raise SourceError(message)
    return token
