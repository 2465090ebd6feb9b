"""Which repositories the rules of ``sources.rules`` leave out, and which branch is read.

Names are known of every repository. Topics, main language, size and whether it is archived or a
fork are known of those that the API of a server listed: a rule about them says nothing of others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from codelake.source_settings import RepositoryRules

_LEFT_OUT: Final = "left out by sources.rules: {}"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says of a repository; ``None`` is what it does not say."""

    topics: frozenset[str] | None = None
    languages: frozenset[str] | None = None
    megabytes: float | None = None
    is_archived: bool | None = None
    is_fork: bool | None = None


def reason_left_out(name: str, facts: Facts, rules: RepositoryRules) -> str:
    """Return why a repository is left out, or an empty string."""
    found = _by_name(name, rules) or _by_words(facts, rules) or _by_kind(facts, rules)
    return _LEFT_OUT.format(found) if found else ""


def has_language_rule(rules: RepositoryRules) -> bool:
    """Say whether the languages of a repository are asked for, which may cost a request."""
    return bool(rules.languages or rules.exclude_languages)


def chosen_branch(name: str, branches: Mapping[str, str]) -> str:
    """Return the branch of the first glob that ``name`` matches, empty for the default branch."""
    return next((branch for glob, branch in branches.items() if _matches(name, [glob])), "")


def _by_name(name: str, rules: RepositoryRules) -> str:
    if rules.include and not _matches(name, rules.include):
        return "the name is not in include"
    return "the name is in exclude" if _matches(name, rules.exclude) else ""


def _by_words(facts: Facts, rules: RepositoryRules) -> str:
    for word, known, wanted, unwanted in (
        ("topic", facts.topics, rules.topics, rules.exclude_topics),
        ("language", facts.languages, rules.languages, rules.exclude_languages),
    ):
        if known is None:
            continue
        here = {one.casefold() for one in known}
        if wanted and here.isdisjoint(one.casefold() for one in wanted):
            return f"no {word} is in {word}s"
        if not here.isdisjoint(one.casefold() for one in unwanted):
            return f"a {word} is in exclude_{word}s"
    return ""


def _by_kind(facts: Facts, rules: RepositoryRules) -> str:
    if facts.is_archived and not rules.archived:
        return "archived = false"
    if facts.is_fork and not rules.forks:
        return "forks = false"
    if rules.max_megabytes and (facts.megabytes or 0) > rules.max_megabytes:
        return f"{facts.megabytes:,.0f} MB are more than max_megabytes"
    return ""


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name.casefold(), glob.casefold()) for glob in globs)
