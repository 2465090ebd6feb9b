"""Accounts: an API lists what there is, at the cost of what changed, and opens nothing else."""

import json
from pathlib import Path

import pytest
from accounts import KINDS, TOKEN, Listing, account_settings, answer, forge, found_in, raw, token
from forge import Forge

from codelake.errors import SourceError
from codelake.settings import Settings, build_settings
from resources.repositories import discover
from resources.sources.accounts import parse_account
from resources.sources.words import source_places

__all__ = ["forge", "token"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_organisation_is_listed_page_by_page(forge: Forge, tmp_path: Path, kind: str) -> None:
    for name in "abcde":
        forge.add(f"acme/{name}")
    forge.add("other/f")
    found = found_in(forge, account_settings(forge, tmp_path, kind), kind)
    assert [(r.name, r.status, r.branch) for r in found] == [
        (f"acme/{name}", "", "main") for name in "abcde"
    ]
    assert found[0].source == f"http://{forge.host}/acme/a.git"
    assert forge.statuses() == [200, 200, 200]


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_page_that_changed_is_sent_again(forge: Forge, tmp_path: Path, kind: str) -> None:
    for name in "abcd":
        forge.repositories[f"acme/{name}"] = {}
    listing = Listing(forge, tmp_path, kind)
    assert listing.names() == ["acme/a", "acme/b", "acme/c", "acme/d"]
    assert listing.names() == ["acme/a", "acme/b", "acme/c", "acme/d"]
    assert forge.statuses() == [200, 200, 304, 304]
    forge.repositories["acme/d"]["archived"] = True
    forge.repositories["acme/e"] = {}
    assert listing.names()[-1] == "acme/e"
    assert forge.statuses() == [304, 200, 200]
    del forge.repositories["acme/a"]
    assert listing.names() == ["acme/b", "acme/c", "acme/d", "acme/e"]


def test_a_damaged_memory_costs_only_requests(forge: Forge, tmp_path: Path) -> None:
    forge.repositories["acme/a"] = {}
    listing = Listing(forge, tmp_path)
    assert listing.names() == ["acme/a"]
    (kept,) = listing.folder.iterdir()
    for text in ('{"form": 1, "pages": {"x": 1}}', '{"form": 99}', "[" * 100_000, ""):
        kept.write_text(text)
        assert listing.names() == ["acme/a"]
    assert forge.statuses() == [200] * 5


def test_a_tag_of_the_memory_that_is_none_is_not_sent(forge: Forge, tmp_path: Path) -> None:
    forge.repositories["acme/a"] = {}
    listing = Listing(forge, tmp_path)
    listing.names()
    (kept,) = listing.folder.iterdir()
    document = json.loads(kept.read_text())
    (page,) = document["pages"].values()
    page["tag"] = '"x"\r\nX-Injected: 1'
    kept.write_text(json.dumps(document))
    assert listing.names() == ["acme/a"]
    assert "X-Injected" not in forge.seen[-1].headers


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_is_listed_where_there_is_no_organisation(
    forge: Forge, tmp_path: Path, kind: str
) -> None:
    forge.kind = "user"
    forge.repositories["acme/a"] = {}
    assert Listing(forge, tmp_path, kind).names() == ["acme/a"]


def test_a_users_own_token_lists_what_is_private(forge: Forge, tmp_path: Path, token: str) -> None:
    del token
    forge.kind, forge.login = "user", "Acme"
    forge.repositories |= {"acme/a": {}, "Acme/private": {}}
    assert Listing(forge, tmp_path).names() == ["acme/private"]
    assert "/api/v3/user/repos" in forge.seen[-1].path


@pytest.mark.parametrize("kind", KINDS)
def test_rules_leave_out_what_the_api_tells(forge: Forge, tmp_path: Path, kind: str) -> None:
    forge.page = 10
    forge.add("acme/kept", topics=["web"], language="Go")
    forge.add("acme/empty", files={}, topics=["web"], language="Go")
    forge.repositories |= {
        "acme/archive": {"archived": True, "topics": ["web"], "language": "Go"},
        "acme/big": {"megabytes": 51, "topics": ["web"], "language": "Go"},
        "acme/fork": {"fork": True, "topics": ["web"], "language": "Go"},
        "acme/other": {"topics": ["web"], "language": "Perl"},
        "acme/quiet": {"language": "Go"},
        "acme/site.github.io": {"topics": ["web"], "language": "Go"},
    }
    rules = {
        "exclude": ["*.github.io"],
        "topics": ["web"],
        "languages": ["go"],
        "max_megabytes": 50,
        "archived": False,
        "forks": False,
        "empty": False,
    }
    found = found_in(forge, account_settings(forge, tmp_path, kind, rules=rules), kind)
    reasons = {r.name.removeprefix("acme/"): r.reason.rpartition(": ")[2] for r in found}
    assert {r.status for r in found if r.reason} == {"skipped"}
    assert reasons == {
        "archive": "archived = false",
        "big": "51 MB are more than max_megabytes",
        "empty": "empty = false",
        "fork": "forks = false",
        "kept": "",
        "other": "no language is in languages",
        "quiet": "no topic is in topics",
        "site.github.io": "the name is in exclude",
    }


def test_gitlab_is_asked_for_languages_only_if_a_rule_needs_them(
    forge: Forge, tmp_path: Path
) -> None:
    forge.repositories |= {"acme/a": {"language": "Go"}, "acme/b": {}}
    listing = Listing(forge, tmp_path, "gitlab")
    listing.names()
    assert forge.statuses() == [200]
    listing.names(languages=["go"])
    assert forge.statuses() == [304, 200, 200]


def test_a_token_opens_api_and_git_and_is_written_nowhere(
    forge: Forge, tmp_path: Path, token: str
) -> None:
    forge.add("acme/a")
    settings = account_settings(forge, tmp_path)
    (found,) = found_in(forge, settings)
    assert (found.status, found.reason) == ("", "")
    kept = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if token.encode() in path.read_bytes()]
    (again,) = discover([f"http://{forge.host}/acme/a.git"], settings)
    assert again == found


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_or_wrong_token_is_said(
    forge: Forge, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge.repositories["acme/a"] = {}
    forge.token = TOKEN
    (failed,) = found_in(forge, account_settings(forge, tmp_path, kind), kind)
    assert failed.status == "failed"
    assert "401 (Bad credentials)" in failed.reason
    assert "set FORGE_TOKEN to a token" in failed.reason
    assert failed.source == f"http://{forge.host}/acme"
    monkeypatch.setenv("FORGE_TOKEN", "wr0ng")
    (failed,) = found_in(forge, account_settings(forge, tmp_path, kind), kind)
    assert "what the token in FORGE_TOKEN may read" in failed.reason
    assert "wr0ng" not in str(failed)


@pytest.mark.parametrize("kind", KINDS)
def test_an_account_that_is_not_there_is_said(forge: Forge, tmp_path: Path, kind: str) -> None:
    reason = Listing(forge, tmp_path, kind).reason()
    assert "or user 'acme' on 127.0.0.1" in reason
    assert "check the name, or set FORGE_TOKEN" in reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_without_a_variable_is_told_of_the_setting(
    forge: Forge, tmp_path: Path, kind: str
) -> None:
    forge.token = TOKEN
    chosen = build_settings({"store": str(tmp_path), "sources": forge.sources(kind)})
    (failed,) = found_in(forge, chosen, kind)
    assert f"name the variable of a token: sources.tokens.'{forge.host}'" in failed.reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_that_may_not_be_listed_is_told(forge: Forge, tmp_path: Path, kind: str) -> None:
    forge.script = [answer(404), answer(403, "no")]
    assert "answered 403 (no)" in Listing(forge, tmp_path, kind).reason()


@pytest.mark.parametrize(
    ("value", "telling"), [("two\nlines", "is no token"), ("caf\xe9", "is no token")]
)
def test_a_token_that_is_none_is_not_shown(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, telling: str
) -> None:
    monkeypatch.setenv("FORGE_TOKEN", value)
    (failed,) = found_in(forge, account_settings(forge, tmp_path))
    assert telling in failed.reason
    assert value not in failed.reason


def test_a_token_does_not_travel_unencrypted() -> None:
    sources = build_settings(
        {
            "sources": {
                "api": {"git.example.org": "http://git.example.org/api/v3"},
                "tokens": {"git.example.org": "WORK_TOKEN"},
            }
        }
    ).sources
    with pytest.raises(SourceError, match="unencrypted"):
        parse_account("github://git.example.org/acme", sources, {"WORK_TOKEN": "x"})
    assert parse_account("github://git.example.org/acme", sources, {}).token == ""
    elsewhere = build_settings(
        {
            "sources": {
                "api": {"localhost": "http://git.example.org/api/v3"},
                "tokens": {"localhost": "WORK_TOKEN"},
            }
        }
    ).sources
    with pytest.raises(SourceError, match=r"unencrypted to http://git\.example"):
        parse_account("github://localhost/acme", elsewhere, {"WORK_TOKEN": "x"})


def test_a_token_of_one_host_is_not_sent_to_another() -> None:
    environment = {"GITHUB_TOKEN": "hub", "GITLAB_TOKEN": "lab"}
    tokens = [
        parse_account(source, Settings().sources, environment).token
        for source in (
            "github://github.com/acme",
            "gitlab://gitlab.com/acme/tools",
            "github://gitlab.com.example.org/acme",
            "gitlab://git.example.org/acme",
        )
    ]
    assert tokens == ["hub", "lab", "", ""]


@pytest.mark.parametrize(
    ("source", "api", "shown"),
    [
        ("github://github.com/acme", "https://api.github.com", "https://github.com/acme"),
        ("github://acme.ghe.com/acme", "https://api.acme.ghe.com", "https://acme.ghe.com/acme"),
        ("github://h:8443/a-b/", "https://h:8443/api/v3", "https://h:8443/a-b"),
        ("gitlab://gitlab.com/a/b.c", "https://gitlab.com/api/v4", "https://gitlab.com/a/b.c"),
        ("gitlab://h/root/acme", "https://h/api/v4", "https://h/root/acme"),
        ("gitlab://own/acme", "https://own/lab/api/v4", "https://own/lab/acme"),
    ],
)
def test_a_host_has_its_usual_api_or_the_one_that_is_set(source: str, api: str, shown: str) -> None:
    settings = build_settings({"sources": {"api": {"own": "https://own/lab/api/v4/"}}})
    account = parse_account(source, settings.sources, {})
    assert (account.api, account.shown) == (api, shown)


@pytest.mark.parametrize(
    "source",
    [
        "github://github.com",
        "github://github.com/",
        "github://github.com/a/b",
        "github://user:s3cr3t@github.com/acme",
        "github:///acme",
        "github://github.com/..",
        "github://github.com/a?b",
        "github://github.com/a%2Fb",
        "github://github.com/a\nb",
        "gitlab://gitlab.com/a/../b",
        "gitlab://gitlab.com//a",
    ],
)
def test_a_source_of_another_form_is_explained(source: str, tmp_path: Path) -> None:
    (failed,) = discover([source], build_settings({"store": str(tmp_path)}))
    assert failed.status == "failed"
    assert "give github://HOST/OWNER or gitlab://HOST/GROUP" in failed.reason
    assert "s3cr3t" not in str(failed)


@pytest.mark.parametrize(
    "name",
    ["acme/../../etc", "acme/-oProxyCommand=x", "acme", "acme/a b", "acme/a\nb", "acme//a", "b/a",
     "acme/.", "acme/a?b", "acme/a#b", "acme/\u202ea", "acme/a@b:c"],
)  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_leads_elsewhere_is_refused(
    forge: Forge, tmp_path: Path, kind: str, name: str
) -> None:
    key = "full_name" if kind == "github" else "path_with_namespace"
    forge.script = [raw(json.dumps([{"id": 1, key: name}]).encode())]
    reason = Listing(forge, tmp_path, kind).reason()
    assert "which is not below 'acme'" in reason
    assert "\n" not in reason


def test_a_failed_list_removes_nothing_and_stops_no_other(forge: Forge, tmp_path: Path) -> None:
    forge.add("acme/a")
    forge.add("other/b")
    settings = account_settings(forge, tmp_path)
    forge.script = [answer(403, "blocked")]
    sources = [f"github://{forge.host}/acme", f"github://{forge.host}/other"]
    found = discover(sources[:1], settings) + discover(sources[1:], settings)
    assert [(r.name, r.status) for r in found] == [
        (f"github://{forge.host}/acme", "failed"),
        ("other/b", ""),
    ]
    places = source_places(settings.sources.model_copy(update={"paths": tuple(sources)}))
    assert places == {f"http://{forge.host}/acme", f"http://{forge.host}/other"}


def test_one_repository_in_two_sources_is_one(forge: Forge, tmp_path: Path) -> None:
    forge.add("acme/a")
    sources = [f"http://{forge.host}/acme/a.git", f"github://{forge.host}/acme"]
    assert [r.name for r in discover(sources, account_settings(forge, tmp_path))] == ["acme/a"]


def test_the_owner_is_spelt_as_the_source_spells_it(forge: Forge, tmp_path: Path) -> None:
    forge.script = [raw(b'[{"full_name": "ACME/Tool"}]')]
    assert Listing(forge, tmp_path).names() == ["acme/Tool"]
