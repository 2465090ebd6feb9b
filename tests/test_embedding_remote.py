"""The real clients against a real server that misbehaves: nothing lost, twice, or given away."""

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from codelake.embedding import BLANK, embed_texts
from codelake.errors import EmbeddingError
from codelake.settings import EmbeddingSettings
from resources.embedders.openai import open_compatible, open_openai
from resources.embedders.providers import Limits
from resources.embedders.remote import RemoteEmbedder
from resources.embedders.sending import Clock
from resources.embedders.voyage import open_voyage
from tests.embedding_server import POISON, EmbeddingServer, vector

KEY = "sk-very-secret-0123456789"
TEXTS = [f"def function_{i}(): return {i}" for i in range(10)]
SMALL = Limits(text_tokens=1000, batch_tokens=4000, batch_texts=4)

Opener = Callable[[EmbeddingServer], RemoteEmbedder]


def quickly(embedder: RemoteEmbedder, server: EmbeddingServer) -> RemoteEmbedder:
    """Let a minute of the embedder's clock pass in no time."""
    time = [0.0]

    def sleep(seconds: float) -> None:
        time[0] += seconds

    embedder.service.clock = Clock(lambda: time[0], sleep)
    embedder.service.noise = random.Random(5)  # noqa: S311 # the same waits every time
    embedder.service.limits = SMALL
    embedder.service.width = 1
    server.clients.append(embedder)
    return embedder


def openai(server: EmbeddingServer) -> RemoteEmbedder:
    settings = EmbeddingSettings(embedder="openai", base_url=server.url, dimensions=256)
    return quickly(open_openai(settings, {"OPENAI_API_KEY": KEY}), server)


def compatible(server: EmbeddingServer) -> RemoteEmbedder:
    settings = EmbeddingSettings(embedder="openai-compatible", base_url=server.url, model="nomic")
    return quickly(open_compatible(settings, {}), server)


def voyage(server: EmbeddingServer) -> RemoteEmbedder:
    settings = EmbeddingSettings(embedder="voyage", base_url=server.url, dimensions=256)
    return quickly(open_voyage(settings, {"VOYAGE_API_KEY": KEY}), server)


OPENERS = pytest.mark.parametrize("opener", [openai, compatible, voyage])


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


def run(
    embedder: RemoteEmbedder, texts: Sequence[str] = TEXTS
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return what is stored and what is reported."""
    stored: dict[str, np.ndarray] = {}
    failures: dict[str, str] = {}
    for part in embed_texts(((text, text) for text in texts), embedder):
        for row in part.table.to_pylist():
            assert row["text_hash"] not in stored
            stored[row["text_hash"]] = np.array(row["vector"], dtype=np.float32)
        failures |= part.failures
    return stored, failures


def check(stored: dict[str, np.ndarray], texts: Sequence[str], dimension: int) -> None:
    assert sorted(stored) == sorted(texts)
    for text in texts:
        np.testing.assert_allclose(stored[text], vector(text, dimension), atol=1e-3)


@OPENERS
def test_every_text_gets_its_own_vector(opener: Opener, server: EmbeddingServer) -> None:
    embedder = opener(server)
    stored, failures = run(embedder)
    check(stored, TEXTS, embedder.dimension)
    assert not failures
    assert embedder.usage.requests == len(server.seen)


@OPENERS
@pytest.mark.parametrize(
    "script",
    [
        ["429:7"],
        ["429"],
        ["429:Wed, 21 Oct 2015 07:28:00 GMT"],
        ["429:soon"],
        ["500", "503", "ok"],
        ["cut"],
        ["html"],
        ["nothing"],
        ["shuffle"],
        ["short"],
        ["renumbered"],
        ["twice"],
        ["nan"],
        ["infinite"],
        ["zero"],
        ["floats"],
        ["529"],
    ],
    ids=lambda script: script[0],
)
def test_a_fault_that_passes_loses_nothing(
    opener: Opener, script: list[str], server: EmbeddingServer
) -> None:
    embedder = opener(server)
    dimension = embedder.dimension
    server.script = list(script)
    stored, failures = run(embedder)
    check(stored, TEXTS, dimension)
    assert not failures
    if script[0] not in {"shuffle", "floats"}:
        assert embedder.usage.retries > 0


@OPENERS
@pytest.mark.parametrize("step", ["wrongdim", "garbage"])
def test_a_vector_of_another_length_is_reported(
    opener: Opener, step: str, server: EmbeddingServer
) -> None:
    embedder = opener(server)
    dimension = embedder.dimension
    server.script = [step]
    stored, failures = run(embedder)
    check(stored, TEXTS[1:], dimension)
    assert list(failures) == TEXTS[:1]
    assert "wrong dimension" in failures[TEXTS[0]]


@OPENERS
def test_another_dimension_altogether_ends_the_run(opener: Opener, server: EmbeddingServer) -> None:
    embedder = opener(server)
    assert embedder.dimension
    server.script = ["otherdim"]
    with pytest.raises(EmbeddingError, match=r"check embedding\.model and embedding\.dimensions"):
        run(embedder)


@OPENERS
@pytest.mark.parametrize("step", ["401", "403", "404", "quota", "307:http://192.0.2.1/"])
def test_what_cannot_get_better_is_not_tried_again(
    opener: Opener, step: str, server: EmbeddingServer
) -> None:
    embedder = opener(server)
    assert embedder.dimension
    before = len(server.seen)
    server.script = [step, "ok"]
    with pytest.raises(EmbeddingError, match="refuses every request"):
        run(embedder)
    assert len(server.seen) == before + 1


@OPENERS
def test_a_text_that_is_refused_is_found_and_reported_alone(
    opener: Opener, server: EmbeddingServer
) -> None:
    embedder = opener(server)
    bad = f"{POISON} pill"
    stored, failures = run(embedder, [*TEXTS[:6], bad, *TEXTS[6:]])
    check(stored, TEXTS, embedder.dimension)
    assert list(failures) == [bad]
    assert "not acceptable" in failures[bad]


@OPENERS
def test_a_text_that_is_too_long_is_cut_until_it_is_taken(
    opener: Opener, server: EmbeddingServer
) -> None:
    server.most_characters = 500
    embedder = opener(server)
    long = "long " + "ä" * 1500
    slices = list(embed_texts([("long", long), ("short", "short")], embedder))
    assert {h for s in slices for h in s.table["text_hash"].to_pylist()} == {"long", "short"}
    assert [h for s in slices for h in s.truncated] == ["long"]
    assert embedder.usage.truncated == 1
    taken = [text for text in server.sent() if 5 < len(text) <= 500]
    assert all(long.startswith(text) for text in taken if text.startswith("long"))


@OPENERS
def test_a_service_that_takes_fewer_texts_is_not_asked_too_much_twice(
    opener: Opener, server: EmbeddingServer
) -> None:
    server.most_texts = 2
    embedder = opener(server)
    stored, failures = run(embedder, [f"text {i}" for i in range(24)])
    assert len(stored) == 24
    assert not failures
    assert sum(len(seen.texts) > 2 for seen in server.seen) == 1


@OPENERS
def test_a_persistent_fault_is_reported_and_the_others_are_stored(
    opener: Opener, server: EmbeddingServer
) -> None:
    embedder = opener(server)
    assert embedder.dimension
    server.script = ["nan"] * 3
    stored, failures = run(embedder, TEXTS[:1])
    assert not stored
    assert "not finite" in failures[TEXTS[0]]


@OPENERS
def test_an_answer_that_is_always_short_is_narrowed_down(
    opener: Opener, server: EmbeddingServer
) -> None:
    embedder = opener(server)
    dimension = embedder.dimension
    server.script = ["short"] * 5
    stored, failures = run(embedder, TEXTS[:4])
    check(stored, TEXTS[:4], dimension)
    assert not failures


@OPENERS
def test_keys_are_seen_by_the_server_and_by_nobody_else(
    opener: Opener, server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = opener(server)
    assert embedder.dimension
    server.script = ["ok", "401"]
    with pytest.raises(EmbeddingError) as caught:
        run(embedder)
    sent = [seen.headers.get("authorization") for seen in server.seen]
    assert set(sent) == ({None} if opener is compatible else {f"Bearer {KEY}"})
    shown: list[object] = [caught.value, caught.value.__cause__, caught.value.__context__]
    shown += [embedder, embedder.service, embedder.service.provider, caplog.text]
    assert not [value for value in shown if KEY in repr(value) or KEY in str(value)]


@OPENERS
def test_several_requests_at_once_lose_and_repeat_nothing(
    opener: Opener, server: EmbeddingServer
) -> None:
    embedder = opener(server)
    assert embedder.dimension
    already = len(server.seen)
    embedder.service.width = 8
    server.script = ["ok", "429:1", "500", "ok", "shuffle", "503"] * 3
    texts = [f"text number {i}" for i in range(200)]
    stored, failures = run(embedder, texts)
    check(stored, texts, embedder.dimension)
    assert not failures
    refused = sum(word in {"429:1", "500", "503"} for word in ["ok", "429:1", "500", "503"] * 3)
    assert len(server.seen) - already == 50 + refused


def test_a_server_that_hangs_is_asked_again(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.embedders.openai.TIMEOUT", 0.2)
    embedder = openai(server)
    server.script = ["hang"]
    stored, _ = run(embedder, TEXTS[:2])
    check(stored, TEXTS[:2], 256)
    assert embedder.usage.retries == 1


def test_a_server_that_is_not_there_ends_the_run() -> None:
    server = EmbeddingServer()
    with server:
        embedder = compatible(server)
    with pytest.raises(EmbeddingError, match="ConnectError"):
        run(embedder)


def test_a_question_with_no_answer_is_an_error(server: EmbeddingServer) -> None:
    embedder = voyage(server)
    server.script = ["500"] * 3
    with pytest.raises(EmbeddingError, match="no vector for a question"):
        embedder.embed_queries(["where?"])
    assert len(server.seen) == 3


def test_questions_and_documents_are_told_apart_where_the_model_does(
    server: EmbeddingServer,
) -> None:
    embedder = voyage(server)
    answer = embedder.embed_queries(["where?", " "])
    assert answer.failures == {1: BLANK}
    assert embedder.embed_documents(["here", ""]).failures == {1: BLANK}
    kinds = [(seen.body["input_type"], seen.body["truncation"]) for seen in server.seen]
    assert kinds == [("query", False), ("document", False)]
    assert {seen.body["output_dimension"] for seen in server.seen} == {256}


@pytest.mark.parametrize("step", ["ok", "floats"])
@pytest.mark.parametrize(("form", "cosine"), [("float", 0.99999), ("int8", 0.999), ("binary", 0.7)])
def test_numbers_come_in_the_form_that_was_asked_for(
    form: Literal["float", "int8", "binary"], cosine: float, step: str, server: EmbeddingServer
) -> None:
    settings = EmbeddingSettings(
        embedder="voyage", base_url=server.url, dimensions=256, output_type=form
    )
    embedder = quickly(open_voyage(settings, {"VOYAGE_API_KEY": KEY}), server)
    server.script = [step]
    answer = embedder.embed_documents(TEXTS[:1])
    assert not answer.failures
    assert answer.vectors[0] @ vector(TEXTS[0], 256) > cosine
    assert server.seen[0].body["output_dtype"] == form


def test_half_characters_do_not_stop_a_request(server: EmbeddingServer) -> None:
    (only,) = embed_texts([("half", "half \ud800 pair")], openai(server))
    assert not only.failures
    assert only.table["text_hash"].to_pylist() == ["half"]
    assert server.sent() == ["half ? pair"]


def test_money_and_tokens_are_counted(server: EmbeddingServer) -> None:
    embedder = openai(server)
    run(embedder)
    tokens = sum(len(text) // 4 + 1 for text in TEXTS)
    assert embedder.usage.tokens == tokens
    assert embedder.usage.texts == len(TEXTS)
    assert embedder.usage.cost == pytest.approx(tokens * 0.02 / 1e6)


def test_the_budget_is_never_passed_and_the_rest_stays_for_later(server: EmbeddingServer) -> None:
    embedder = openai(server)
    embedder.service.price, embedder.service.max_cost = 1e6, 60.0  # a dollar a token
    stored: list[str] = []
    with pytest.raises(EmbeddingError, match=r"stopped before embedding\.max_cost = \$60"):
        stored.extend(
            text_hash
            for part in embed_texts(((text, text) for text in TEXTS), embedder)
            for text_hash in part.table["text_hash"].to_pylist()
        )
    tokens = max(len(text) // 2 + 1 for text in TEXTS)  # a text may cost that much
    assert 60 - tokens < embedder.usage.cost <= 60
    assert stored == server.sent() == TEXTS[: len(stored)]
    assert 0 < len(stored) < len(TEXTS)


def test_a_run_that_is_stopped_has_sent_little_more_than_it_stored(server: EmbeddingServer) -> None:
    embedder = replace(openai(server), is_remote=True)
    slices = embed_texts(((text, text) for text in TEXTS), embedder)
    kept = [h for _ in range(2) for h in next(slices).table["text_hash"].to_pylist()]
    slices.close()  # type: ignore[attr-defined] # a generator
    assert kept == server.sent() == TEXTS[:8]
