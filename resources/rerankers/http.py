"""A reranker behind a service: a question and texts go out, a score a text comes back."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codelake.errors import EmbeddingError
from resources.embedders.pacing import is_fatal, is_too_many, is_transient, wait_before
from resources.embedders.providers import ProviderError, is_this_machine
from resources.embedders.remote import QUICK_ATTEMPTS
from resources.embedders.requests import BYTES_PER_TOKEN, Text, whole_text
from resources.embedders.sending import Clock
from resources.rerankers.posting import post_json

# A service that asks for a longer wait is given up: without scores the question is answered by
# hybrid search, and somebody waits. In seconds.
_LONGEST_WAIT: Final = 5.0
_ANSWERED: Final = 200  # status of an answer that came and makes no sense
_SHOWN: Final = 300  # characters of a service's message that are repeated


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service takes.

    Args:
        query_tokens: most tokens of a question.
        pair_tokens: most tokens of a question and one text together.
        batch_tokens: most tokens of a request, the question counted once a text.
        batch_texts: most texts of a request.
    """

    query_tokens: int
    pair_tokens: int
    batch_tokens: int
    batch_texts: int


@dataclass(frozen=True, slots=True)
class Style:
    """How a service is spoken to.

    Args:
        path: what follows the base URL.
        body: makes a request of model, question and texts.
        scores: reads pairs of place and score out of an answer; anything may come over the wire,
            and KeyError, TypeError or AttributeError say that it is no such answer.
        limits: what a request takes.
    """

    path: str
    body: Callable[[str, str, Sequence[str]], dict[str, Any]]
    scores: Callable[[Any], Sequence[tuple[int, float]]]
    limits: Limits


@dataclass(slots=True)
class HttpReranker:
    """Score through a service.

    Args:
        name: what errors call it.
        style: how it is spoken to.
        base_url: where it is.
        model: the model's name there; empty where the service has only one.
        key: the API key; empty sends none.
        is_raw: whether scores are raw and have to be brought between 0 and 1.
        clock: the time and the waiting.
    """

    name: str
    style: Style
    base_url: str
    model: str = ""
    key: str = field(default="", repr=False)
    is_raw: bool = False
    clock: Clock = field(default_factory=Clock)
    _limits: Limits = field(init=False)

    def __post_init__(self) -> None:
        """Start with what the service documents."""
        self._limits = self.style.limits

    @property
    def model_id(self) -> str:
        """Name of service and model."""
        return f"{self.name}-{self.model}" if self.model else self.name

    @property
    def is_remote(self) -> bool:
        """Whether texts are sent to another machine."""
        return not is_this_machine(self.base_url)

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score between 0 and 1 for each text; 0 for a blank one, which is not sent.

        Raises:
            EmbeddingError: the service cannot be used, or its answer makes no sense.
        """
        scores = np.zeros(len(texts), dtype=np.float32)
        asked = whole_text(0, query).cut(BYTES_PER_TOKEN * (self._limits.query_tokens - 1))
        room = BYTES_PER_TOKEN * (self._limits.pair_tokens - asked.tokens - 1)
        given = [whole_text(i, text).cut(room) for i, text in enumerate(texts) if text.strip()]
        waiting = given if query.strip() else []
        most = self._limits.batch_texts
        while waiting:
            batch = waiting[: self._fitting(asked, waiting[:most])]
            answer = self._ask(asked.text, batch)
            if answer is None:
                most = len(batch) // 2
                continue
            for text, score in zip(batch, answer, strict=True):
                scores[text.position] = score
            waiting = waiting[len(batch) :]
            # A service that took less than it documents is not asked too much again.
            self._limits = replace(self._limits, batch_texts=most)
        return scores

    def _fitting(self, query: Text, texts: Sequence[Text]) -> int:
        """Return how many of ``texts`` go into one request, at least one."""
        tokens = 0
        for count, text in enumerate(texts):
            tokens += query.tokens + text.tokens
            if count and tokens > self._limits.batch_tokens:
                return count
        return len(texts)

    def _ask(self, query: str, batch: Sequence[Text]) -> list[float] | None:
        """Return the scores of ``batch``, or None where the service wants smaller requests."""
        for attempt in range(1, QUICK_ATTEMPTS + 1):
            try:
                return self._send(query, [text.text for text in batch])
            except ProviderError as error:
                if len(batch) > 1 and is_too_many(error):
                    return None
                asked = error.retry_after
                is_last = attempt == QUICK_ATTEMPTS or (asked or 0.0) > _LONGEST_WAIT
                if is_last or is_fatal(error) or not is_transient(error):
                    raise EmbeddingError(self._complaint(error)) from None
                noise = random.Random()  # noqa: S311 # spreads requests, keeps no secret
                self.clock.sleep(wait_before(attempt + 1, asked, noise))
        raise AssertionError  # the last attempt returns or raises

    def _complaint(self, error: ProviderError) -> str:
        status = f"HTTP {error.status}: " if error.status else ""
        return f"the reranker {self.name} gives no scores: {status}{error.message[:_SHOWN]}"

    def _send(self, query: str, texts: Sequence[str]) -> list[float]:
        body = self.style.body(self.model, query, texts)
        url = self.base_url.rstrip("/") + self.style.path
        answer = post_json(url, body, self.key, is_direct=not self.is_remote)
        try:
            pairs = list(self.style.scores(answer))
            by_place = {place: float(score) for place, score in pairs}
        except (KeyError, TypeError, ValueError, AttributeError):
            message = "the answer is no list of scores"
            raise ProviderError(message, status=_ANSWERED) from None
        if len(pairs) != len(texts) or sorted(by_place) != list(range(len(texts))):
            message = f"{len(pairs)} scores for {len(texts)} texts, or unusable places"
            raise ProviderError(message, status=_ANSWERED)
        return [self._scaled(by_place[place]) for place in range(len(texts))]

    def _scaled(self, score: float) -> float:
        if not math.isfinite(score):
            message = f"a score is {score}, which is no number"
            raise ProviderError(message, status=_ANSWERED)
        if self.is_raw:
            return _sigmoid(score)
        if not 0.0 <= score <= 1.0:
            message = (
                f"the reranker {self.name} gives a score of {score:g}, expected 0 to 1; if its "
                "scores are raw, set search.reranking.raw_scores = true"
            )
            raise EmbeddingError(message)
        return score


def _sigmoid(score: float) -> float:
    return 0.5 * (1.0 + math.tanh(score / 2.0))  # this form never overflows
