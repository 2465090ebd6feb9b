"""Accounts whose server is slow, wrong or hostile: waited for, told, never followed elsewhere."""

import gzip
import json
from pathlib import Path

import pytest
from accounts import NOW, Listing, answer, cut_off, forge, raw, redirect, token
from forge import Forge, Handler, Step
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codelake.errors import SourceError

__all__ = ["forge", "token"]


@pytest.mark.parametrize(
    ("step", "wait"),
    [
        (answer(429, Retry_After="7"), 7.0),
        (answer(403, "secondary rate limit", Retry_After="0"), 0.0),
        (answer(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="1796004030"), 31.0),
        (answer(429, RateLimit_Remaining="0", RateLimit_Reset="1796003000"), 1.0),
        (answer(503, Retry_After="Mon, 30 Nov 2026 02:00:09 GMT"), 9.0),
    ],
)
def test_a_limit_is_waited_for_as_long_as_it_asks(
    forge: Forge, tmp_path: Path, step: Step, wait: float
) -> None:
    assert int(NOW.timestamp()) == 1796004000
    forge.repositories["acme/a"] = {}
    forge.script = [step]
    listing = Listing(forge, tmp_path)
    assert listing.names() == ["acme/a"]
    assert listing.waits == [wait]


@pytest.mark.parametrize(
    "step", [answer(429), answer(500), answer(502), answer(504), cut_off, raw(b'[{"full_n')]
)
def test_a_fault_that_passes_is_got_over(forge: Forge, tmp_path: Path, step: Step) -> None:
    for name in "abc":
        forge.repositories[f"acme/{name}"] = {}
    listing = Listing(forge, tmp_path)
    forge.script = [step, step, Handler.answer_well, step]
    assert listing.names() == ["acme/a", "acme/b", "acme/c"]
    assert len(listing.waits) == 3
    assert 0.5 <= listing.waits[0] <= 1 <= listing.waits[1] <= 2


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (answer(500, "no luck"), "answered 500 (no luck), 5 times in a row; try again later"),
        (cut_off, "breaks off"),
        (raw(b"<html>"), "not the JSON this API gives; check sources.api"),
        (raw(b"[" * 200_000), "not the JSON"),
        (raw(b'{"full_name": "acme/a"}'), "not the JSON"),
        (raw(b'[{"full_name": 7}]'), "not the JSON"),
        (raw(b"[null]"), "not the JSON"),
        (raw(b"\xff\xfe"), "not the JSON"),
    ],
)
def test_a_fault_that_stays_is_told_after_a_while(
    forge: Forge, tmp_path: Path, step: Step, reason: str
) -> None:
    forge.script = [step] * 5
    listing = Listing(forge, tmp_path)
    assert reason in listing.reason()
    assert len(listing.waits) == 4
    assert not forge.script


@pytest.mark.parametrize(
    "step",
    [
        answer(429, Retry_After="3600"),
        answer(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="1796007600"),
        answer(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="9" * 400),
        answer(429, Retry_After="9" * 400),
    ],
)
def test_a_limit_of_an_hour_is_told_and_not_waited_for(
    forge: Forge, tmp_path: Path, step: Step
) -> None:
    forge.script = [step] * 5
    listing = Listing(forge, tmp_path)
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
    assert "has no end" in Listing(forge, tmp_path).reason()


def test_a_packed_answer_is_not_unpacked(forge: Forge, tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    forge.script = [raw(bomb, Content_Encoding="gzip")] * 5
    assert (
        f"answered {len(bomb):,} bytes that are not the JSON" in Listing(forge, tmp_path).reason()
    )
    assert forge.seen[0].headers["Accept-Encoding"] == "identity"


def test_no_change_that_nobody_asked_about_is_a_fault(forge: Forge, tmp_path: Path) -> None:
    forge.repositories["acme/a"] = {}
    listing = Listing(forge, tmp_path)
    forge.script = [answer(304)]
    assert listing.names() == ["acme/a"]
    (kept,) = listing.folder.iterdir()
    kept.unlink()
    forge.script = [answer(304)] * 5
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
    listing = Listing(forge, tmp_path)
    try:
        found = listing.names()
    except SourceError as refused:
        assert len(str(refused)) < 1000  # noqa: PT017 # both outcomes are right
    else:
        assert all(name.startswith("acme/") for name in found)
    assert all(0 <= wait <= 300 for wait in listing.waits)


@pytest.mark.parametrize("code", [400, 403, 410, 422])
def test_a_refusal_is_not_repeated(forge: Forge, tmp_path: Path, code: int) -> None:
    forge.script = [answer(code, "\x1b[31mno\u202e")]
    listing = Listing(forge, tmp_path)
    reason = listing.reason()
    assert f"answered {code} (\\x1b[31mno\\u202e)" in reason
    assert listing.waits == []


def test_a_server_that_repeats_the_token_is_not_quoted(
    forge: Forge, tmp_path: Path, token: str
) -> None:
    forge.script = [answer(400, f"bad header Bearer {token}")]
    assert "Bearer ***" in Listing(forge, tmp_path).reason()


def test_a_server_that_is_not_there_is_told(forge: Forge, tmp_path: Path) -> None:
    listing = Listing(forge, tmp_path)
    forge.__exit__(None, None, None)
    assert "cannot be reached: Connection refused" in listing.reason()
    forge.__enter__()


@pytest.mark.parametrize("place", ["/api/v3/orgs/acme/repos", "http://{host}/api/v3/x?page=1"])
def test_a_redirect_on_the_server_is_followed(forge: Forge, tmp_path: Path, place: str) -> None:
    forge.repositories["acme/a"] = {}
    forge.script = [redirect(place), lambda handler: handler.reply_page(["acme/a"], {})]
    assert Listing(forge, tmp_path).names() == ["acme/a"]


@pytest.mark.parametrize(
    "place", ["http://localhost:1/x", "https://{host}/x", "file:///etc/passwd", "http://[", "//h/x"]
)
def test_neither_redirects_nor_pages_lead_to_another_server(
    forge: Forge, tmp_path: Path, token: str, place: str
) -> None:
    del token
    forge.repositories["acme/a"] = {}
    forge.script = [redirect(place)]
    assert "which is not asked" in Listing(forge, tmp_path).reason()
    link = f'<{place.format(host=forge.host)}>; rel="next"'
    forge.script = [lambda handler: handler.reply([], link=link)]
    assert "which is not asked" in Listing(forge, tmp_path).reason()


def test_a_list_without_an_end_is_told(forge: Forge, tmp_path: Path) -> None:
    def circle(handler: Handler) -> None:
        handler.reply([], link=f'<{handler.path}>; rel="next"')

    def redirects(handler: Handler) -> None:
        handler.reply({}, 302, Location=handler.path)

    forge.script = [circle]
    assert "has no end" in Listing(forge, tmp_path).reason()
    forge.script = [redirects] * 4
    assert "redirects more than" in Listing(forge, tmp_path).reason()


def test_an_answer_without_an_end_is_not_kept(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.sources.asking._MOST_BYTES", 100_000)
    forge.script = [raw(b" " * 300_000 + b"[]")]
    assert "has no end" in Listing(forge, tmp_path).reason()
