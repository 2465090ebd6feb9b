"""The repositories of a group, its subgroups included, or of a user on a GitLab server."""

from typing import Final
from urllib.parse import quote

from pydantic import AliasChoices, BaseModel, Field, TypeAdapter

from codelake.repository_rules import has_language_rule
from codelake.source_settings import RepositoryRules
from resources.sources.asking import Asker, RefusalError
from resources.sources.listing import Listed, Pages

# By number, so that a repository made meanwhile comes last and moves no other to another page.
_LIST: Final = "?per_page=100&order_by=id&sort=asc&statistics=true"
_BYTES: Final = 1 << 20  # of a megabyte


class _Statistics(BaseModel):
    repository_size: int


class _Repository(BaseModel):
    id: int
    path_with_namespace: str
    ssh_url_to_repo: str = ""
    topics: tuple[str, ...] | None = Field(
        default=None, validation_alias=AliasChoices("topics", "tag_list")
    )
    archived: bool = False
    forked_from_project: dict[str, object] | None = None
    statistics: _Statistics | None = None


_REPOSITORIES: Final = TypeAdapter(tuple[_Repository, ...])
_LANGUAGES: Final = TypeAdapter(dict[str, float])


def list_gitlab(pages: Pages, rules: RepositoryRules) -> list[Listed]:
    """Return every repository of the group, or of the user of that name, that the token may see.

    The main language takes a request for each repository, sent only if a rule needs it.

    Raises:
        SourceError: there is no such group or user, or the list cannot be had.
    """
    found = _list(pages)
    if not has_language_rule(rules):
        return found
    return [one.model_copy(update={"language": _language(pages.asker, one)}) for one in found]


def _list(pages: Pages) -> list[Listed]:
    account = pages.asker.account
    owner = quote(account.owner, safe="")
    group = f"groups/{owner}/projects{_LIST}&include_subgroups=true&with_shared=false"
    urls = (f"{account.api}/{path}" for path in (group, f"users/{owner}/projects{_LIST}"))
    return pages.read_first(urls, _parse, "group or user")


def _language(asker: Asker, listed: Listed) -> str | None:
    try:
        _, languages = asker.ask(
            f"{asker.account.api}/projects/{listed.key}/languages", _LANGUAGES.validate_json
        )
    except RefusalError:  # its code is not ours to read; fetching it will say so
        return None
    return max(languages, key=languages.__getitem__) if languages else ""


def _parse(body: bytes) -> tuple[Listed, ...]:
    return tuple(
        Listed(
            name=item.path_with_namespace,
            ssh_url=item.ssh_url_to_repo,
            topics=item.topics,
            megabytes=item.statistics and item.statistics.repository_size / _BYTES,
            is_archived=item.archived,
            is_fork=item.forked_from_project is not None,
            key=item.id,
        )
        for item in _REPOSITORIES.validate_json(body)
    )
