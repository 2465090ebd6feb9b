"""The settings of where repositories come from, and what all sections share."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

# Where a token may be looked for when nothing is said; other hosts get none.
TOKENS: Final[Mapping[str, str]] = {"github.com": "GITHUB_TOKEN", "gitlab.com": "GITLAB_TOKEN"}


class Section(BaseModel):
    """A part of the settings; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RepositoryRules(Section):
    """Which repositories are indexed, by what is known of them; names are known of every one."""

    include: tuple[str, ...] = Field(
        (), description="globs of repository names, e.g. 'team/*'; empty means every repository"
    )
    exclude: tuple[str, ...] = Field((), description="globs of repository names that are left out")
    topics: tuple[str, ...] = Field((), description="only with one of these topics; empty: any")
    exclude_topics: tuple[str, ...] = Field((), description="left out with one of these topics")
    languages: tuple[str, ...] = Field(
        (), description="only with one of these main languages; empty: any"
    )
    exclude_languages: tuple[str, ...] = Field(
        (), description="left out with one of these main languages"
    )
    max_megabytes: int = Field(
        0, ge=0, description="larger repositories are left out, in megabytes of the server; 0: none"
    )
    archived: bool = Field(default=True, description="index archived repositories")
    forks: bool = Field(default=True, description="index forks")
    empty: bool = Field(default=True, description="list repositories without a commit as indexed")


class SourceSettings(Section):
    """Where repositories come from."""

    paths: tuple[str, ...] = Field(
        (),
        description="folders of clones, single repositories, git URLs, files that list such, "
        "github://HOST/OWNER, gitlab://HOST/GROUP, tar+ssh://HOST/FOLDER",
    )
    prune: bool = Field(
        default=True, description="forget stored repositories that no source holds any more"
    )
    most_forgotten: float = Field(
        0.2,
        ge=0,
        le=1,
        description="share of the repositories in the sources that one night may forget, more than "
        "ten of them; a list that got shorter than that removes nothing and is told",
    )
    untracked: bool = Field(
        default=False,
        description="index the working tree with untracked files that are not ignored, "
        "instead of the commit that is checked out",
    )
    nested: bool = Field(
        default=False,
        description="index clones that lie inside another repository too, and submodules",
    )
    folders: bool = Field(
        default=False, description="index a plain folder that is no git repository as one"
    )
    rules: RepositoryRules = RepositoryRules()
    mirror: Literal["shallow", "blobless", "full"] = Field(
        "shallow",
        description="what is fetched of a URL: one commit; every commit and of the files those "
        "that are read; everything",
    )
    protocol: Literal["https", "ssh"] = Field(
        "https", description="how the repositories that an API lists are fetched"
    )
    archive_bytes: int = Field(
        20_000_000_000, gt=0, description="a folder that tar+ssh:// gives more of is refused"
    )
    branches: dict[str, str] = Field(
        default_factory=dict,
        description="branch by glob of repository names, e.g. {'team/app' = 'develop'}; "
        "the default branch otherwise",
    )
    tokens: dict[str, str] = Field(
        default_factory=lambda: dict(TOKENS),
        validate_default=True,
        description="name of the environment variable that holds the token of a host; "
        "empty: none is sent",
    )
    api: dict[str, str] = Field(
        default_factory=dict,
        description="base URL of a host's API, where it is not https://HOST/api/v3 or v4",
    )

    @field_validator("tokens")
    @classmethod
    def _name_variables(cls, tokens: dict[str, str]) -> dict[str, str]:
        if not all(re.fullmatch(r"[A-Z_][A-Z0-9_]*|", name) for name in tokens.values()):
            message = "give names of environment variables in capitals, never a token itself"
            raise ValueError(message)
        return {**TOKENS, **tokens}

    @field_validator("api")
    @classmethod
    def _check_addresses(cls, api: dict[str, str]) -> dict[str, str]:
        if not all(re.fullmatch(r"https?://[\w.:\[\]-]+(/[\w./-]*)?", url) for url in api.values()):
            message = "give a URL such as https://git.example.org/api/v3, without credentials"
            raise ValueError(message)
        return api
