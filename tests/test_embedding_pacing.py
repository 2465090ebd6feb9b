"""When a service is asked again, how much at once, and how texts are filled into requests."""

import datetime as dt
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.errors import UsageError
from resources.embedders.pacing import LONGEST_WAIT, Width, is_fatal, is_transient, wait_before
from resources.embedders.providers import (
    Limits,
    ProviderError,
    find_model,
    hosted_models,
    parse_answer,
    retry_after,
)
from resources.embedders.requests import BYTES_PER_TOKEN, Filling, Text

NOW = dt.datetime(2026, 11, 30, 12, 0, 0, tzinfo=dt.UTC)
SEED = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "x"}, None),
    ],
    ids=str,
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "message", "answer"),
    [
        (None, "timed out", "again"),
        (200, "no json", "again"),
        (302, "elsewhere", "end"),
        (400, "bad text", "halve"),
        (401, "wrong key", "end"),
        (404, "no such model", "end"),
        (408, "timeout", "again"),
        (413, "too large", "halve"),
        (422, "batch too large", "halve"),
        (429, "slow down", "again"),
        (429, "insufficient_quota: pay first", "end"),
        (500, "broken", "again"),
        (500, "input is too large to process", "halve"),
        (503, "overloaded", "again"),
    ],
)
def test_each_fault_has_its_answer(status: int | None, message: str, answer: str) -> None:
    error = ProviderError(message, status=status)
    kind = "end" if is_fatal(error) else "again" if is_transient(error) else "halve"
    assert kind == answer


@given(st.integers(2, 30), SEED)
def test_waits_are_bounded_and_grow(attempt: int, seed: int) -> None:
    wait = wait_before(attempt, None, random.Random(seed))  # noqa: S311 # no secret
    assert 0 < wait <= LONGEST_WAIT
    later = wait_before(attempt + 1, None, random.Random(seed))  # noqa: S311 # no secret
    assert later >= wait


@given(st.integers(2, 30), st.floats(0, 300), SEED)
def test_what_a_service_asks_for_is_never_undercut(attempt: int, asked: float, seed: int) -> None:
    assert wait_before(attempt, asked, random.Random(seed)) >= asked  # noqa: S311 # no secret


def test_fewer_requests_after_a_rate_limit_more_when_it_goes_well() -> None:
    width = Width(8, value=8.0)
    width.rate_limited(sent_at=1.0, now=2.0)
    assert width.value == 4.0
    width.rate_limited(sent_at=1.5, now=2.5)  # sent before the first was known
    assert width.value == 4.0
    width.rate_limited(sent_at=3.0, now=4.0)
    assert width.value == 2.0
    for _ in range(100):
        width.succeeded()
    assert width.value == 8.0
    assert width.allows(7)
    assert not width.allows(8)


@given(
    st.lists(st.text(min_size=1, max_size=60), max_size=40),
    st.integers(4, 40),
    st.integers(4, 60),
    st.integers(1, 6),
)
def test_requests_hold_every_text_in_order_within_the_limits(
    texts: list[str], text_tokens: int, batch_tokens: int, batch_texts: int
) -> None:
    limits = Limits(text_tokens, batch_tokens, batch_texts)
    filling = Filling(texts, limits)
    requests = []
    while (request := filling.next()) is not None:
        requests.append(request)
    assert filling.is_empty
    found = [text for request in requests for text in request.texts]
    assert [text.position for text in found] == list(range(len(texts)))
    for text, given_text in zip(found, texts, strict=True):
        assert given_text.encode("utf-8", "replace").decode().startswith(text.text)
        assert text.text
        assert text.is_cut or text.text == given_text.encode("utf-8", "replace").decode()
    for request in requests:
        assert len(request.texts) <= batch_texts
        assert request.tokens <= batch_tokens
        assert all(text.size <= BYTES_PER_TOKEN * text_tokens for text in request.texts)


@given(st.text(min_size=1).filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t)))
def test_a_cut_is_the_beginning_and_never_empty(text: str) -> None:
    whole = Text(0, text, len(text.encode()))
    for most in range(whole.size + 2):
        part = whole.cut(most)
        assert part.text
        assert text.startswith(part.text)
        assert part.size == len(part.text.encode())
        assert part.is_cut == (part.size < whole.size or (most < whole.size))


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"data": 3},
        {"data": [{}]},
        {"data": [{"index": "0", "embedding": [1.0]}]},
        {"data": [{"index": 0}]},
    ],
    ids=repr,
)
def test_an_answer_that_is_none_is_an_error(body: object) -> None:
    with pytest.raises(ProviderError, match="no list of embeddings"):
        parse_answer(body, status=200)


@pytest.mark.parametrize(
    "embedding", [None, "???", "AAA=", {"a": 1}, ["x"], [[1.0], [2.0, 3.0]]], ids=repr
)
def test_an_unreadable_vector_has_no_numbers(embedding: object) -> None:
    answer = parse_answer({"data": [{"index": 0, "embedding": embedding}]})
    assert answer.vectors[0][1].size in {0, 1}


def test_null_in_a_vector_is_not_a_number() -> None:
    answer = parse_answer({"data": [{"index": 0, "embedding": [1.0, None]}], "usage": None})
    assert np.isnan(answer.vectors[0][1]).tolist() == [False, True]
    assert answer.tokens == 0


def test_every_hosted_model_is_described() -> None:
    for provider, models in hosted_models().items():
        for name, model in models.items():
            assert find_model(provider, name, model.dimensions[-1]) is model
            assert 0 < model.limits.text_tokens < model.limits.batch_tokens
            assert model.limits.batch_texts > 0
            assert model.price > 0
    with pytest.raises(UsageError, match="choose from"):
        find_model("openai", "none", 0)
