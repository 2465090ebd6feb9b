"""Organisations, users and groups on a server whose API lists their repositories."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from codelake.errors import SourceError
from codelake.source_settings import SourceSettings
from resources.addresses import read_token
from resources.embedders.providers import is_this_machine
from resources.git import without_credentials

_SOURCE: Final = re.compile(
    r"(?P<kind>github|gitlab)://(?P<host>[\w.-]+(?::\d+)?|\[[\da-fA-F:.]+\](?::\d+)?)"
    r"/(?P<owner>[\w.-]+(?:/[\w.-]+)*)/?"
)
_VERSIONS: Final[Mapping[str, str]] = {"github": "/api/v3", "gitlab": "/api/v4"}


@dataclass(frozen=True, slots=True)
class Account:
    """Whose repositories are listed, and where.

    ``api`` is the base of the API's URLs, ``web`` that of the repositories' own.
    """

    kind: str
    host: str
    owner: str
    api: str
    web: str
    variable: str  # of the environment, which holds the token
    token: str

    @property
    def shown(self) -> str:
        """Return what the URLs of all its repositories begin with."""
        return f"{self.web}/{self.owner}"

    @property
    def hint(self) -> str:
        """Say what may help when the server refuses."""
        if self.token:
            return f"check the name, and what the token in {self.variable} may read"
        if self.variable:
            return f"check the name, or set {self.variable} to a token that may read it"
        return f"check the name, or name the variable of a token: sources.tokens.{self.host!r}"


def is_account(source: str) -> bool:
    """Say whether ``source`` is to be asked of an API."""
    return source.startswith(("github://", "gitlab://"))


def parse_account(
    source: str, sources: SourceSettings, environment: Mapping[str, str] = os.environ
) -> Account:
    """Read ``github://HOST/OWNER`` or ``gitlab://HOST/GROUP``.

    Raises:
        SourceError: another form, or a token that cannot be sent.
    """
    match = _SOURCE.fullmatch(source)
    if match is None or not _is_owner(match["kind"], match["owner"]):
        shown = without_credentials(source)
        message = f"cannot list {shown!r}: give github://HOST/OWNER or gitlab://HOST/GROUP, "
        message += "e.g. github://github.com/octocat"
        raise SourceError(message)
    kind, host = match["kind"], match["host"]
    api = (sources.api.get(host) or _usual_api(kind, host)).rstrip("/")
    parts = urlsplit(api)
    web = f"{parts.scheme}://{host}{parts.path.removesuffix(_VERSIONS[kind])}"
    token = read_token(web, sources, environment)
    if token and parts.scheme != "https" and not is_this_machine(api):
        message = f"the token of {host} would travel unencrypted to {api}; use https"
        raise SourceError(message)
    return Account(kind, host, match["owner"], api, web, sources.tokens.get(host, ""), token)


def _is_owner(kind: str, owner: str) -> bool:
    parts = owner.split("/")
    return {".", ".."}.isdisjoint(parts) and (kind == "gitlab" or len(parts) == 1)


def _usual_api(kind: str, host: str) -> str:
    if kind == "github" and (host == "github.com" or host.endswith(".ghe.com")):
        return f"https://api.{host}"
    return f"https://{host}{_VERSIONS[kind]}"
