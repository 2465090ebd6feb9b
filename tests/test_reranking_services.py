"""Rerankers behind a real server on loopback that misbehaves: scores that fit, or a clear error."""

import logging
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from codelake.errors import EmbeddingError, UsageError
from codelake.settings import RerankingSettings
from resources.embedders.sending import Clock
from resources.rerankers import open_reranker
from resources.rerankers.http import HttpReranker, Limits
from resources.rerankers.services import open_cohere, open_tei, open_voyage
from tests.embedding_server import EmbeddingServer, score

KEY = "pa-very-secret-0123456789"
TEXTS = [f"def function_{i}(): return {i}" for i in range(10)]
SMALL = Limits(query_tokens=50, pair_tokens=200, batch_tokens=2000, batch_texts=4)

Opener = Callable[[EmbeddingServer], HttpReranker]


def quickly(reranker: HttpReranker) -> HttpReranker:
    """Let no time pass while it waits, and give it small limits."""
    reranker.clock = Clock(lambda: 0.0, lambda _: None)
    reranker._limits = SMALL
    return reranker


def voyage(server: EmbeddingServer) -> HttpReranker:
    settings = RerankingSettings(base_url=server.url, model="rerank-2.5-lite")
    return quickly(open_voyage(settings, {"VOYAGE_API_KEY": KEY}))


def cohere(server: EmbeddingServer) -> HttpReranker:
    settings = RerankingSettings(base_url=server.url + "/", model="rerank-v3.5")
    return quickly(open_cohere(settings, {"CODELAKE_RERANKER_KEY": KEY}))


def tei(server: EmbeddingServer) -> HttpReranker:
    return quickly(open_tei(RerankingSettings(base_url=server.url), {}))


OPENERS = pytest.mark.parametrize("opener", [voyage, cohere, tei])


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


def check(reranker: HttpReranker, texts: list[str]) -> None:
    found = reranker.rerank("where are numbers returned", texts)
    np.testing.assert_allclose(found, [score(text) for text in texts], atol=1e-6)


@OPENERS
def test_every_text_gets_its_own_score(opener: Opener, server: EmbeddingServer) -> None:
    check(opener(server), TEXTS)
    assert [len(seen.texts) for seen in server.seen] == [4, 4, 2]
    assert {seen.path for seen in server.seen} == {"/v1/rerank"}


def test_each_service_is_spoken_to_in_its_own_way(server: EmbeddingServer) -> None:
    for opener in (voyage, cohere, tei):
        opener(server).rerank("question", TEXTS[:2])
    bodies = [seen.body for seen in server.seen]
    wanted = {"query": "question", "documents": TEXTS[:2]}
    assert bodies == [
        {**wanted, "model": "rerank-2.5-lite", "truncation": True},
        {**wanted, "model": "rerank-v3.5", "top_n": 2},
        {"query": "question", "texts": TEXTS[:2], "raw_scores": False, "truncate": True},
    ]


@OPENERS
@pytest.mark.parametrize(
    "script",
    [
        ["429:2"],
        ["429"],
        ["500", "503"],
        ["cut"],
        ["html"],
        ["nothing"],
        ["short"],
        ["renumbered"],
        ["twice"],
        ["nan"],
        ["words"],
        ["shuffle"],
    ],
    ids=lambda script: script[0],
)
def test_a_fault_that_passes_changes_no_score(
    opener: Opener, script: list[str], server: EmbeddingServer
) -> None:
    server.script = list(script)
    check(opener(server), TEXTS)


@OPENERS
@pytest.mark.parametrize(
    ("script", "requests"),
    [
        (["401"], 1),
        (["404"], 1),
        (["400:no such model"], 1),
        (["307:http://192.0.2.1/"], 1),
        (["429:60"], 1),
        (["500"] * 3, 3),
        (["short"] * 3, 3),
        (["nan"] * 3, 3),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_fault_that_stays_is_told(
    opener: Opener, script: list[str], requests: int, server: EmbeddingServer
) -> None:
    server.script = list(script)
    with pytest.raises(EmbeddingError, match=r"the reranker \w+ gives no scores"):
        opener(server).rerank("where", TEXTS[:3])
    assert len(server.seen) == requests


@OPENERS
def test_a_service_that_takes_fewer_texts_is_not_asked_too_much_twice(
    opener: Opener, server: EmbeddingServer
) -> None:
    server.most_texts = 2
    reranker = opener(server)
    check(reranker, TEXTS)
    check(reranker, TEXTS)
    assert sum(len(seen.texts) > 2 for seen in server.seen) == 1


@OPENERS
def test_a_refusal_for_another_reason_leaves_the_size_of_requests(
    opener: Opener, server: EmbeddingServer
) -> None:
    reranker = opener(server)
    server.script = ["400:bad request"] * 3  # four texts, two, one
    with pytest.raises(EmbeddingError, match="bad request"):
        reranker.rerank("where", TEXTS)
    server.seen.clear()
    check(reranker, TEXTS)
    assert len(server.seen) == 3


@OPENERS
def test_long_texts_are_cut_and_requests_kept_small(
    opener: Opener, server: EmbeddingServer
) -> None:
    reranker = opener(server)
    reranker._limits = Limits(query_tokens=10, pair_tokens=40, batch_tokens=100, batch_texts=9)
    assert (reranker.rerank("q" * 100, ["ä" * 1000] * 7) > 0).all()
    assert {len(seen.body["query"]) for seen in server.seen} == {18}
    assert max(len(text) for text in server.sent()) <= 30
    assert [len(seen.texts) for seen in server.seen] == [2, 2, 2, 1]


@OPENERS
def test_blank_texts_are_not_sent_and_score_nothing(
    opener: Opener, server: EmbeddingServer
) -> None:
    reranker = opener(server)
    assert reranker.rerank(" ", TEXTS).tolist() == [0.0] * 10
    assert reranker.rerank("where", ["", " \n"]).tolist() == [0.0, 0.0]
    assert not server.seen
    assert reranker.rerank("where", ["", "half \ud800 pair"])[1] > 0
    assert server.sent() == ["half ? pair"]


@pytest.mark.parametrize("opener", [cohere, tei])
def test_raw_scores_are_told_and_then_brought_between_nothing_and_one(
    opener: Opener, server: EmbeddingServer
) -> None:
    reranker = opener(server)
    server.script = ["raw"]
    with pytest.raises(EmbeddingError, match=r"search\.reranking\.raw_scores = true"):
        reranker.rerank("where", TEXTS[:2])
    reranker.is_raw = True
    server.script = ["raw"]
    found = reranker.rerank("where", TEXTS[:2])
    assert found[0] == pytest.approx(1 / (1 + np.exp(-3.5)))
    assert 0.5 < found[1] < found[0]


def test_a_server_that_is_not_there_is_named() -> None:
    server = EmbeddingServer()
    with server:
        reranker = cohere(server)
    with pytest.raises(EmbeddingError, match="ConnectionRefusedError"):
        reranker.rerank("where", TEXTS)


def test_a_server_that_hangs_is_given_up(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.rerankers.posting.TIMEOUT", 0.2)
    server.script = ["hang", "ok"]
    check(voyage(server), TEXTS[:2])


@OPENERS
def test_keys_are_seen_by_the_server_and_by_nobody_else(
    opener: Opener, server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    reranker = opener(server)
    server.script = ["401"]
    with pytest.raises(EmbeddingError) as caught:
        reranker.rerank("where", TEXTS)
    wanted = None if opener is tei else f"Bearer {KEY}"
    assert [seen.headers.get("authorization") for seen in server.seen] == [wanted]
    shown: list[object] = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert not [v for v in [*shown, reranker, caplog.text] if KEY in repr(v) or KEY in str(v)]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("cohere", {}, "needs search.reranking.base_url"),
        ("tei", {"base_url": "h:80"}, "expected http://HOST"),
        ("tei", {"base_url": "http://me:hidden@h/"}, "CODELAKE_RERANKER_KEY"),
        ("voyage", {"model": "rerank-9"}, "choose from rerank-2.5, rerank-2.5-lite"),
        ("maxsim", {"model": "m"}, "has nothing for 'maxsim'"),
        ("onnx", {}, "needs search.reranking.model"),
        ("onnx", {"model": "x", "base_url": "http://h"}, "are for services"),
        ("cohre", {}, "choose from maxsim, onnx, voyage, cohere, tei"),
    ],
)
def test_a_wrong_setting_says_what_is_right(
    name: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        open_reranker(name, RerankingSettings.model_validate(settings))
    assert "hidden" not in str(caught.value)


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VOYAGE_API_KEY", raising=False)
    with pytest.raises(EmbeddingError, match="VOYAGE_API_KEY"):
        open_reranker("voyage")


def test_local_only_lets_this_machine_alone_have_the_texts() -> None:
    near = RerankingSettings(base_url="http://127.0.0.1:8080")
    assert not open_reranker("tei", near, local_only=True).is_remote
    far = RerankingSettings(base_url="http://192.0.2.7")
    assert open_reranker("tei", far).is_remote
    with pytest.raises(UsageError, match="local_only"):
        open_reranker("tei", far, local_only=True)


def test_a_reranker_is_named_by_service_and_model() -> None:
    server = EmbeddingServer()
    with server:
        assert voyage(server).model_id == "voyage-rerank-2.5-lite"
        assert tei(server).model_id == "tei"
