"""Sources that are more than one repository behind a URL: accounts that an API lists."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from codelake.repository_rules import Facts
from codelake.source_settings import RepositoryRules
from resources.addresses import Address
from resources.sources.accounts import Account
from resources.sources.asking import Asker
from resources.sources.github import list_github
from resources.sources.gitlab import list_gitlab
from resources.sources.listing import Listed, Pages

LISTINGS: Final[dict[str, Callable[[Pages, RepositoryRules], list[Listed]]]] = {
    "github": list_github,
    "gitlab": list_gitlab,
}


def list_account(
    account: Account, rules: RepositoryRules, folder: Path, asker: Asker | None = None
) -> list[tuple[Address, Facts]]:
    """Return the repositories of an account by name, with what is known of each.

    Args:
        account: whose.
        rules: tell which facts are needed.
        folder: where the pages and their tags are kept for the next time.
        asker: of the account, where the usual one would wait too long.

    Raises:
        SourceError: the list cannot be had; the message says what to do.
    """
    with asker or Asker(account) as opened:
        found = LISTINGS[account.kind](Pages(opened, folder), rules)
    return [_read(one, account) for one in sorted(found, key=lambda one: one.name)]


def _read(listed: Listed, account: Account) -> tuple[Address, Facts]:
    # The owner as it was written, so that all begins with what the account is known by.
    inner = listed.name[len(account.owner) :]
    languages = None if listed.language is None else frozenset({listed.language} - {""})
    return (
        Address(f"{account.shown}{inner}.git", other_url=listed.ssh_url),
        Facts(
            topics=None if listed.topics is None else frozenset(listed.topics),
            languages=languages,
            megabytes=listed.megabytes,
            is_archived=listed.is_archived,
            is_fork=listed.is_fork,
        ),
    )
