"""Accounts: an API lists what there is, at the cost of what changed, and opens nothing else."""

import datetime as dt
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from forge import Forge, Handler, Step
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codelake.errors import SourceError
from codelake.repositories import Repository
from codelake.settings import Settings, build_settings
from codelake.source_settings import RepositoryRules
from resources.repositories import discover
from resources.sources import list_account
from resources.sources.accounts import parse_account
from resources.sources.asking import Asker
from resources.sources.words import source_places

_KINDS = ("github", "gitlab")
_NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)
_TOKEN = "t0ken-of-the-robot"  # noqa: S105 # a made-up one


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge(tmp_path / "served") as started:
        yield started


@pytest.fixture
def token(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the server want a token, and have it."""
    forge.token = _TOKEN
    monkeypatch.setenv("FORGE_TOKEN", _TOKEN)
    return _TOKEN


def _settings(forge: Forge, tmp_path: Path, kind: str = "github", **sources: object) -> Settings:
    tokens = {forge.host: "FORGE_TOKEN"}
    more = forge.sources(kind, tokens=tokens, **sources)
    return build_settings({"store": str(tmp_path / "store"), "sources": more})


def _found(forge: Forge, settings: Settings, kind: str = "github") -> list[Repository]:
    return discover([f"{kind}://{forge.host}/acme"], settings)


class _Listing:
    """Lists an account as the product does, with a clock that stands and no waiting."""

    def __init__(self, forge: Forge, folder: Path, kind: str = "github") -> None:
        sources = build_settings(
            {"sources": forge.sources(kind, tokens={forge.host: "FORGE_TOKEN"})}
        ).sources
        self.account = parse_account(f"{kind}://{forge.host}/acme", sources)
        self.folder = folder / "listings"
        self.waits: list[float] = []

    def names(self, **rules: object) -> list[str]:
        asker = Asker(self.account, pause=self.waits.append, now=lambda: _NOW)
        found = list_account(self.account, RepositoryRules(**rules), self.folder, asker)
        return [address.name for address, _ in found]

    def reason(self) -> str:
        with pytest.raises(SourceError) as refused:
            self.names()
        return str(refused.value)


def _status(code: int, message: str = "", **headers: str) -> Step:
    return lambda handler: handler.reply({"message": message}, code, **headers)


def _raw(body: bytes, **headers: str) -> Step:
    return lambda handler: handler.send(body, **headers)


def _cut(handler: Handler) -> None:
    handler.send(b'[{"full_name": "acme/a"', length=5000)


def _redirect(place: str) -> Step:
    def step(handler: Handler) -> None:
        handler.reply({}, 301, Location=place.format(host=handler.forge.host))

    return step


@pytest.mark.parametrize("kind", _KINDS)
def test_an_organisation_is_listed_page_by_page(forge: Forge, tmp_path: Path, kind: str) -> None:
    for name in "abcde":
        forge.add(f"acme/{name}")
    forge.add("other/f")
    found = _found(forge, _settings(forge, tmp_path, kind), kind)
    assert [(r.name, r.status, r.branch) for r in found] == [
        (f"acme/{name}", "", "main") for name in "abcde"
    ]
    assert found[0].source == f"http://{forge.host}/acme/a.git"
    assert forge.statuses() == [200, 200, 200]


@pytest.mark.parametrize("kind", _KINDS)
def test_only_a_page_that_changed_is_sent_again(forge: Forge, tmp_path: Path, kind: str) -> None:
    for name in "abcd":
        forge.repositories[f"acme/{name}"] = {}
    listing = _Listing(forge, tmp_path, kind)
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
    listing = _Listing(forge, tmp_path)
    assert listing.names() == ["acme/a"]
    (kept,) = listing.folder.iterdir()
    for text in ('{"form": 1, "pages": {"x": 1}}', '{"form": 99}', "[" * 100_000, ""):
        kept.write_text(text)
        assert listing.names() == ["acme/a"]
    assert forge.statuses() == [200] * 5


def test_a_tag_of_the_memory_that_is_none_is_not_sent(forge: Forge, tmp_path: Path) -> None:
    forge.repositories["acme/a"] = {}
    listing = _Listing(forge, tmp_path)
    listing.names()
    (kept,) = listing.folder.iterdir()
    document = json.loads(kept.read_text())
    (page,) = document["pages"].values()
    page["tag"] = '"x"\r\nX-Injected: 1'
    kept.write_text(json.dumps(document))
    assert listing.names() == ["acme/a"]
    assert "X-Injected" not in forge.seen[-1].headers


@pytest.mark.parametrize("kind", _KINDS)
def test_a_user_is_listed_where_there_is_no_organisation(
    forge: Forge, tmp_path: Path, kind: str
) -> None:
    forge.kind = "user"
    forge.repositories["acme/a"] = {}
    assert _Listing(forge, tmp_path, kind).names() == ["acme/a"]


def test_a_users_own_token_lists_what_is_private(forge: Forge, tmp_path: Path, token: str) -> None:
    del token
    forge.kind, forge.login = "user", "Acme"
    forge.repositories |= {"acme/a": {}, "Acme/private": {}}
    assert _Listing(forge, tmp_path).names() == ["acme/private"]
    assert "/api/v3/user/repos" in forge.seen[-1].path


@pytest.mark.parametrize("kind", _KINDS)
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
    found = _found(forge, _settings(forge, tmp_path, kind, rules=rules), kind)
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
    listing = _Listing(forge, tmp_path, "gitlab")
    listing.names()
    assert forge.statuses() == [200]
    listing.names(languages=["go"])
    assert forge.statuses() == [304, 200, 200]


def test_a_token_opens_api_and_git_and_is_written_nowhere(
    forge: Forge, tmp_path: Path, token: str
) -> None:
    forge.add("acme/a")
    settings = _settings(forge, tmp_path)
    (found,) = _found(forge, settings)
    assert (found.status, found.reason) == ("", "")
    kept = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if token.encode() in path.read_bytes()]
    (again,) = discover([f"http://{forge.host}/acme/a.git"], settings)
    assert again == found


@pytest.mark.parametrize("kind", _KINDS)
def test_a_missing_or_wrong_token_is_said(
    forge: Forge, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge.repositories["acme/a"] = {}
    forge.token = _TOKEN
    (failed,) = _found(forge, _settings(forge, tmp_path, kind), kind)
    assert failed.status == "failed"
    assert "401 (Bad credentials)" in failed.reason
    assert "set FORGE_TOKEN to a token" in failed.reason
    assert failed.source == f"http://{forge.host}/acme"
    monkeypatch.setenv("FORGE_TOKEN", "wr0ng")
    (failed,) = _found(forge, _settings(forge, tmp_path, kind), kind)
    assert "what the token in FORGE_TOKEN may read" in failed.reason
    assert "wr0ng" not in str(failed)


@pytest.mark.parametrize("kind", _KINDS)
def test_an_account_that_is_not_there_is_said(forge: Forge, tmp_path: Path, kind: str) -> None:
    reason = _Listing(forge, tmp_path, kind).reason()
    assert "or user 'acme' on 127.0.0.1" in reason
    assert "check the name, or set FORGE_TOKEN" in reason


@pytest.mark.parametrize("kind", _KINDS)
def test_a_host_without_a_variable_is_told_of_the_setting(
    forge: Forge, tmp_path: Path, kind: str
) -> None:
    forge.token = _TOKEN
    chosen = build_settings({"store": str(tmp_path), "sources": forge.sources(kind)})
    (failed,) = _found(forge, chosen, kind)
    assert f"name the variable of a token: sources.tokens.'{forge.host}'" in failed.reason


@pytest.mark.parametrize("kind", _KINDS)
def test_a_user_that_may_not_be_listed_is_told(forge: Forge, tmp_path: Path, kind: str) -> None:
    forge.script = [_status(404), _status(403, "no")]
    assert "answered 403 (no)" in _Listing(forge, tmp_path, kind).reason()


@pytest.mark.parametrize(
    ("value", "telling"), [("two\nlines", "is no token"), ("caf\xe9", "is no token")]
)
def test_a_token_that_is_none_is_not_shown(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, telling: str
) -> None:
    monkeypatch.setenv("FORGE_TOKEN", value)
    (failed,) = _found(forge, _settings(forge, tmp_path))
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
    ("step", "wait"),
    [
        (_status(429, Retry_After="7"), 7.0),
        (_status(403, "secondary rate limit", Retry_After="0"), 0.0),
        (_status(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="1796004030"), 31.0),
        (_status(429, RateLimit_Remaining="0", RateLimit_Reset="1796003000"), 1.0),
        (_status(503, Retry_After="Mon, 30 Nov 2026 02:00:09 GMT"), 9.0),
    ],
)
def test_a_limit_is_waited_for_as_long_as_it_asks(
    forge: Forge, tmp_path: Path, step: Step, wait: float
) -> None:
    assert int(_NOW.timestamp()) == 1796004000
    forge.repositories["acme/a"] = {}
    forge.script = [step]
    listing = _Listing(forge, tmp_path)
    assert listing.names() == ["acme/a"]
    assert listing.waits == [wait]


@pytest.mark.parametrize(
    "step", [_status(429), _status(500), _status(502), _status(504), _cut, _raw(b'[{"full_n')]
)
def test_a_fault_that_passes_is_got_over(forge: Forge, tmp_path: Path, step: Step) -> None:
    for name in "abc":
        forge.repositories[f"acme/{name}"] = {}
    listing = _Listing(forge, tmp_path)
    forge.script = [step, step, Handler.answer_well, step]
    assert listing.names() == ["acme/a", "acme/b", "acme/c"]
    assert len(listing.waits) == 3
    assert 0.5 <= listing.waits[0] <= 1 <= listing.waits[1] <= 2


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (_status(500, "no luck"), "answered 500 (no luck), 5 times in a row; try again later"),
        (_cut, "breaks off"),
        (_raw(b"<html>"), "not the JSON this API gives; check sources.api"),
        (_raw(b"[" * 200_000), "not the JSON"),
        (_raw(b'{"full_name": "acme/a"}'), "not the JSON"),
        (_raw(b'[{"full_name": 7}]'), "not the JSON"),
        (_raw(b"[null]"), "not the JSON"),
        (_raw(b"\xff\xfe"), "not the JSON"),
    ],
)
def test_a_fault_that_stays_is_told_after_a_while(
    forge: Forge, tmp_path: Path, step: Step, reason: str
) -> None:
    forge.script = [step] * 5
    listing = _Listing(forge, tmp_path)
    assert reason in listing.reason()
    assert len(listing.waits) == 4
    assert not forge.script


@pytest.mark.parametrize(
    "step",
    [
        _status(429, Retry_After="3600"),
        _status(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="1796007600"),
        _status(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="9" * 400),
        _status(429, Retry_After="9" * 400),
    ],
)
def test_a_limit_of_an_hour_is_told_and_not_waited_for(
    forge: Forge, tmp_path: Path, step: Step
) -> None:
    forge.script = [step] * 5
    listing = _Listing(forge, tmp_path)
    reason = listing.reason()
    assert "run it later, or with a token" in reason
    assert len(reason) < 500


def test_an_answer_that_comes_byte_by_byte_is_left(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drip(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100_000):
            handler.wfile.write(b" ")

    monkeypatch.setattr("resources.sources.asking._ANSWER_SECONDS", 0.0)
    forge.script = [drip]
    assert "has no end" in _Listing(forge, tmp_path).reason()


def test_a_packed_answer_is_not_unpacked(forge: Forge, tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    forge.script = [_raw(bomb, Content_Encoding="gzip")] * 5
    assert (
        f"answered {len(bomb):,} bytes that are not the JSON" in _Listing(forge, tmp_path).reason()
    )
    assert forge.seen[0].headers["Accept-Encoding"] == "identity"


def test_no_change_that_nobody_asked_about_is_a_fault(forge: Forge, tmp_path: Path) -> None:
    forge.repositories["acme/a"] = {}
    listing = _Listing(forge, tmp_path)
    forge.script = [_status(304)]
    assert listing.names() == ["acme/a"]
    (kept,) = listing.folder.iterdir()
    kept.unlink()
    forge.script = [_status(304)] * 5
    assert "nothing has changed, unasked" in listing.reason()


_HEADERS = st.sampled_from(["Retry-After", "X-RateLimit-Remaining", "X-RateLimit-Reset", "ETag",
                            "Link", "Location", "Content-Encoding", "Retry-After-Ms"])  # fmt: skip
_VALUES = st.one_of(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30),
    st.sampled_from(
        ["0", "-1", "nan", "inf", "1e999", "Mon, 01 Jan 0001 00:00:00 +2359", "9" * 50, "<", "<>;",
         '<x>; rel="next"', '</api/v3/x>; rel=next; rel="next', 'W/"', '"""', "http://[", "gzip"]
    ),
)  # fmt: skip
_BODIES = st.one_of(
    st.binary(max_size=50),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["full_name", "size", "topics", "fork", "message", "login", "archived"]
                ),
                inner,
                max_size=4,
            )
        ),
    ).map(lambda value: json.dumps(value).encode()),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from([200, 204, 301, 304, 403, 404, 429, 500, 999]), _BODIES,
                          st.dictionaries(_HEADERS, _VALUES, max_size=3)), max_size=6))  # fmt: skip
def test_whatever_is_answered_gives_names_or_a_reason(
    forge: Forge, tmp_path: Path, answers: list[tuple[int, bytes, dict[str, str]]]
) -> None:
    def step(status: int, body: bytes, headers: dict[str, str]) -> Step:
        return lambda handler: handler.send(
            body, status, **{name.replace("-", "_"): value for name, value in headers.items()}
        )

    forge.script = [step(*answer) for answer in answers]
    listing = _Listing(forge, tmp_path)
    try:
        found = listing.names()
    except SourceError as refused:
        assert len(str(refused)) < 1000  # noqa: PT017 # both outcomes are right
    else:
        assert all(name.startswith("acme/") for name in found)
    assert all(0 <= wait <= 300 for wait in listing.waits)


@pytest.mark.parametrize("code", [400, 403, 410, 422])
def test_a_refusal_is_not_repeated(forge: Forge, tmp_path: Path, code: int) -> None:
    forge.script = [_status(code, "\x1b[31mno\u202e")]
    listing = _Listing(forge, tmp_path)
    reason = listing.reason()
    assert f"answered {code} (\\x1b[31mno\\u202e)" in reason
    assert listing.waits == []


def test_a_server_that_repeats_the_token_is_not_quoted(
    forge: Forge, tmp_path: Path, token: str
) -> None:
    forge.script = [_status(400, f"bad header Bearer {token}")]
    assert "Bearer ***" in _Listing(forge, tmp_path).reason()


def test_a_server_that_is_not_there_is_told(forge: Forge, tmp_path: Path) -> None:
    listing = _Listing(forge, tmp_path)
    forge.__exit__(None, None, None)
    assert "cannot be reached: Connection refused" in listing.reason()
    forge.__enter__()


@pytest.mark.parametrize("place", ["/api/v3/orgs/acme/repos", "http://{host}/api/v3/x?page=1"])
def test_a_redirect_on_the_server_is_followed(forge: Forge, tmp_path: Path, place: str) -> None:
    forge.repositories["acme/a"] = {}
    forge.script = [_redirect(place), lambda handler: handler.reply_page(["acme/a"], {})]
    assert _Listing(forge, tmp_path).names() == ["acme/a"]


@pytest.mark.parametrize(
    "place", ["http://localhost:1/x", "https://{host}/x", "file:///etc/passwd", "http://[", "//h/x"]
)
def test_neither_redirects_nor_pages_lead_to_another_server(
    forge: Forge, tmp_path: Path, token: str, place: str
) -> None:
    del token
    forge.repositories["acme/a"] = {}
    forge.script = [_redirect(place)]
    assert "which is not asked" in _Listing(forge, tmp_path).reason()
    link = f'<{place.format(host=forge.host)}>; rel="next"'
    forge.script = [lambda handler: handler.reply([], link=link)]
    assert "which is not asked" in _Listing(forge, tmp_path).reason()


def test_a_list_without_an_end_is_told(forge: Forge, tmp_path: Path) -> None:
    def circle(handler: Handler) -> None:
        handler.reply([], link=f'<{handler.path}>; rel="next"')

    def redirects(handler: Handler) -> None:
        handler.reply({}, 302, Location=handler.path)

    forge.script = [circle]
    assert "has no end" in _Listing(forge, tmp_path).reason()
    forge.script = [redirects] * 4
    assert "redirects more than" in _Listing(forge, tmp_path).reason()


def test_an_answer_without_an_end_is_not_kept(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.sources.asking._MOST_BYTES", 100_000)
    forge.script = [_raw(b" " * 300_000 + b"[]")]
    assert "has no end" in _Listing(forge, tmp_path).reason()


@pytest.mark.parametrize(
    "name",
    ["acme/../../etc", "acme/-oProxyCommand=x", "acme", "acme/a b", "acme/a\nb", "acme//a", "b/a",
     "acme/.", "acme/a?b", "acme/a#b", "acme/\u202ea", "acme/a@b:c"],
)  # fmt: skip
@pytest.mark.parametrize("kind", _KINDS)
def test_a_name_that_leads_elsewhere_is_refused(
    forge: Forge, tmp_path: Path, kind: str, name: str
) -> None:
    key = "full_name" if kind == "github" else "path_with_namespace"
    forge.script = [_raw(json.dumps([{"id": 1, key: name}]).encode())]
    reason = _Listing(forge, tmp_path, kind).reason()
    assert "which is not below 'acme'" in reason
    assert "\n" not in reason


def test_a_failed_list_removes_nothing_and_stops_no_other(forge: Forge, tmp_path: Path) -> None:
    forge.add("acme/a")
    forge.add("other/b")
    settings = _settings(forge, tmp_path)
    forge.script = [_status(403, "blocked")]
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
    assert [r.name for r in discover(sources, _settings(forge, tmp_path))] == ["acme/a"]


def test_the_owner_is_spelt_as_the_source_spells_it(forge: Forge, tmp_path: Path) -> None:
    forge.script = [_raw(b'[{"full_name": "ACME/Tool"}]')]
    assert _Listing(forge, tmp_path).names() == ["acme/Tool"]
