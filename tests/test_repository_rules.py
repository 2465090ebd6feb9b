"""Rules leave repositories out by what is known of them, and by nothing that is not."""

import pytest

from codelake.errors import UsageError
from codelake.repository_rules import Facts, chosen_branch, has_language_rule, reason_left_out
from codelake.settings import Settings, build_settings

_APP = Facts(
    topics=frozenset({"web", "payments"}),
    languages=frozenset({"Python"}),
    megabytes=12.4,
    is_archived=True,
    is_fork=True,
)


def _reason(facts: Facts = _APP, **rules: object) -> str:
    settings = build_settings({"sources": {"rules": rules}})
    return reason_left_out("Team/app", facts, settings.sources.rules)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({}, ""),
        ({"include": ["team/*"]}, ""),
        ({"include": ["other/*", "*app"]}, ""),
        ({"include": ["app"]}, "not in include"),
        ({"exclude": ["TEAM/a??"]}, "in exclude"),
        ({"include": ["team/*"], "exclude": ["*/app"]}, "in exclude"),
        ({"topics": ["Web"]}, ""),
        ({"topics": ["ios"]}, "no topic"),
        ({"exclude_topics": ["payments"]}, "a topic"),
        ({"languages": ["python", "go"]}, ""),
        ({"languages": ["go"]}, "no language"),
        ({"exclude_languages": ["PYTHON"]}, "a language"),
        ({"max_megabytes": 12}, "12 MB"),
        ({"max_megabytes": 13}, ""),
        ({"archived": False}, "archived = false"),
        ({"forks": False}, "forks = false"),
    ],
)
def test_a_rule_says_why_it_leaves_a_repository_out(rules: dict[str, object], reason: str) -> None:
    found = _reason(**rules)
    assert (reason in found) if reason else not found


def test_what_is_not_known_leaves_nothing_out() -> None:
    rules = {"topics": ["x"], "languages": ["x"], "exclude_topics": ["y"], "max_megabytes": 1}
    assert not _reason(Facts(), **rules, archived=False, forks=False)
    assert _reason(Facts(topics=frozenset()), topics=["x"])


def test_the_first_glob_that_matches_names_the_branch() -> None:
    branches = {"team/app": "develop", "TEAM/*": "stable"}
    assert [chosen_branch(name, branches) for name in ("team/app", "team/b", "c")] == [
        "develop",
        "stable",
        "",
    ]


def test_languages_are_asked_for_only_if_a_rule_needs_them() -> None:
    rules = [{}, {"languages": ["go"]}, {"exclude_languages": ["go"]}]
    found = [build_settings({"sources": {"rules": rule}}).sources.rules for rule in rules]
    assert [has_language_rule(rule) for rule in found] == [False, True, True]


def test_tokens_of_other_hosts_stand_beside_the_usual_ones() -> None:
    settings = build_settings({"sources": {"tokens": {"git.example.org": "WORK_TOKEN"}}})
    assert settings.sources.tokens == {
        **Settings().sources.tokens,
        "git.example.org": "WORK_TOKEN",
    }
    assert build_settings(settings.model_dump()) == settings


@pytest.mark.parametrize(
    "sources",
    [
        {"tokens": {"github.com": "ghp_0123456789abcdefghij"}},
        {"tokens": {"gitlab.com": "glpat-0123456789abcdefghij"}},
        {"api": {"git.example.org": "https://robot:0123456789@git.example.org/api/v3"}},
        {"api": {"git.example.org": "file:///0123456789"}},
    ],
)
def test_a_token_in_the_settings_is_refused_and_not_shown(
    sources: dict[str, object],
) -> None:
    with pytest.raises(UsageError) as refused:
        build_settings({"sources": sources})
    assert "0123456789" not in str(refused.value)
    assert "give" in str(refused.value)
