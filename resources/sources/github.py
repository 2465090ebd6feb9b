"""The repositories of an organisation or user on GitHub, or on a server of one's own."""

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel, TypeAdapter

from codelake.source_settings import RepositoryRules
from resources.sources.asking import Asker, RefusalError
from resources.sources.listing import Listed, Pages

_LIST: Final = "?per_page=100&sort=full_name&direction=asc"
_KILOBYTES: Final = 1024  # of a megabyte; sizes are in kilobytes


class _Repository(BaseModel):
    full_name: str
    ssh_url: str = ""
    topics: tuple[str, ...] | None = None
    language: str | None = None
    size: int = 0
    archived: bool = False
    fork: bool = False


class _User(BaseModel):
    login: str


_REPOSITORIES: Final = TypeAdapter(tuple[_Repository, ...])


def list_github(pages: Pages, rules: RepositoryRules) -> list[Listed]:
    """Return every repository of the account that the token may see.

    Raises:
        SourceError: there is no such account, or the list cannot be had.
    """
    del rules  # every fact stands in the list
    return pages.read_first(_lists(pages.asker), _parse, "organisation or user")


def _lists(asker: Asker) -> Iterator[str]:
    account = asker.account
    yield f"{account.api}/orgs/{account.owner}/repos{_LIST}&type=all"
    if _is_own(asker):  # a request, so only for what is no organisation
        yield f"{account.api}/user/repos{_LIST}&affiliation=owner"
    else:
        yield f"{account.api}/users/{account.owner}/repos{_LIST}&type=owner"


def _is_own(asker: Asker) -> bool:
    """Say whether the token is the user's: only then private repositories are listed."""
    account = asker.account
    if not account.token:
        return False
    try:
        _, login = asker.ask(f"{account.api}/user", _login)
    except RefusalError:  # the token of an app is no user's
        return False
    return login is not None and login.casefold() == account.owner.casefold()


def _login(body: bytes) -> str:
    return _User.model_validate_json(body).login


def _parse(body: bytes) -> tuple[Listed, ...]:
    return tuple(
        Listed(
            name=item.full_name,
            ssh_url=item.ssh_url,
            topics=item.topics,
            language=item.language or "",
            megabytes=item.size / _KILOBYTES,
            is_archived=item.archived,
            is_fork=item.fork,
        )
        for item in _REPOSITORIES.validate_json(body)
    )
