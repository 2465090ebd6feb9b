"""A stream of texts through a service: several requests at once, faults met by their kind.

What a fault is answered with:

- no answer, a timeout, 408, 409, 425, 429 or 5xx: the same request again, later;
- a wrong key, address, model or an empty account: the end, at once;
- any other refusal: the request is halved until the text that is refused stands alone; it is cut
  in half if it was too long, else reported;
- an answer with too few or too many vectors, or with unusable places: refused whole and asked
  again, since nothing says which text a vector belongs to;
- a vector with NaN, infinity or only zeros: its text is asked again, then reported;
- a vector of the wrong length: its text is reported, one more request would buy the same.
"""

import random
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codelake.embedding import Embedded, Part, Usage, unit_vectors
from codelake.errors import BudgetError, EmbeddingError
from resources.embedders.pacing import (
    ATTEMPTS,
    LONGEST_ASKED_WAIT,
    RATE_LIMITED,
    Width,
    is_fatal,
    is_too_many,
    is_transient,
    wait_before,
)
from resources.embedders.providers import Answer, Kind, Limits, Provider, ProviderError
from resources.embedders.requests import Filling, Request, Text

# Attempts of a text whose vector is refused: a model that answers NaN mostly does so again, and
# each answer is paid for.
VECTOR_ATTEMPTS: Final = 3
# Requests given up without a good answer between them after which a service counts as gone.
LOST_REQUESTS: Final = 3
_SHORTEST_CUT: Final = 64  # bytes; a refused text that is shorter is not cut further
_TOO_LONG: Final = re.compile(r"too (?:long|large)|exceed|maximum|context|tokens", re.IGNORECASE)
_MILLION: Final = 1_000_000
_SHOWN: Final = 300  # characters of a service's message that are repeated


@dataclass(frozen=True, slots=True)
class Clock:
    """The time and the waiting, in seconds; a test brings its own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class Service:
    """A provider and what is known about it.

    Args:
        provider: where requests go.
        price: US dollars for a million tokens.
        max_cost: no request is sent that could make the cost pass this; 0 is no limit.
        width: most requests under way at once.
        clock: the time and the waiting.
        noise: the random part of waits.
        usage: what was done so far.
        limits: what one request takes; less than documented once that was refused.
    """

    provider: Provider
    price: float = 0.0
    max_cost: float = 0.0
    width: int = 16
    clock: Clock = field(default_factory=Clock)
    noise: random.Random = field(default_factory=random.Random)
    usage: Usage = field(default_factory=Usage)
    limits: Limits = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        """Start with what the provider documents."""
        self.limits = self.provider.limits

    def send(self, request: Request, kind: Kind) -> Answer:
        """Send one request and count it; called from several threads."""
        with self._lock:
            self.usage.requests += 1
            self.usage.texts += len(request.texts)
        answer = self.provider.request([text.text for text in request.texts], kind)
        with self._lock:
            tokens = answer.tokens or request.tokens
            self.usage.tokens += tokens
            self.usage.cost += self.cost(tokens)
        return answer

    def cost(self, tokens: int) -> float:
        """Return the price of ``tokens`` in US dollars."""
        return tokens * self.price / _MILLION

    def can_pay(self, tokens: int) -> bool:
        """Tell whether ``tokens`` more stay within the budget."""
        return not self.max_cost or self.usage.cost + self.cost(tokens) <= self.max_cost


class Sending:
    """One stream of texts on its way through a service.

    Args:
        service: where it goes.
        texts: no text blank; read only as far as needed.
        kind: documents or queries.
        dimension: numbers of a vector; 0 takes what an answer's first vector has.
        attempts: how often a request is sent before it is given up.
    """

    def __init__(
        self,
        service: Service,
        texts: Iterable[str],
        kind: Kind,
        *,
        dimension: int,
        attempts: int = ATTEMPTS,
    ) -> None:
        """Prepare; nothing is sent yet."""
        self._service = service
        self._kind: Kind = kind
        self._dimension = dimension
        self._attempts = attempts
        self._filling = Filling(texts, service.limits)
        self._again: deque[Request] = deque()
        self._running: dict[Future[Answer], tuple[Request, float]] = {}
        self._width = Width(service.width, value=min(4.0, service.width))
        self._paused_until = float("-inf")
        self._lost = 0
        self._end: EmbeddingError | None = None

    def run(self) -> Iterator[Part]:
        """Yield parts until every text is answered or reported.

        Raises:
            EmbeddingError: the service cannot be used or the budget is spent; requests under way
                were waited for and their parts yielded.
        """
        pool = ThreadPoolExecutor(self._service.width, thread_name_prefix="embedding")
        try:
            while self._has_work():
                self._start(pool)
                for future in self._wait():
                    request, sent_at = self._running.pop(future)
                    yield from self._settle(request, sent_at, future)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if self._end:
            raise self._end

    def _has_work(self) -> bool:
        if self._end:
            return bool(self._running)
        return bool(self._running or self._again or not self._filling.is_empty)

    def _start(self, pool: ThreadPoolExecutor) -> None:
        """Send whatever may be sent now."""
        service = self._service
        now = service.clock.now()
        while (
            not self._end and now >= self._paused_until and self._width.allows(len(self._running))
        ):
            request = self._next(now)
            if request is None:
                return
            if not service.can_pay(
                request.tokens + sum(r.tokens for r, _ in self._running.values())
            ):
                if self._running:  # their answers may turn out cheaper than was feared
                    self._again.appendleft(request)
                    return
                self._spare(request)
                continue
            request = replace(request, attempts=request.attempts + 1)
            self._running[pool.submit(service.send, request, self._kind)] = request, now

    def _spare(self, request: Request) -> None:
        """Buy what can be paid of a request that cannot: halve it, and end with a single text."""
        if len(request.texts) > 1:
            self._again.extendleft(reversed(request.halves()))
            return
        self._again.appendleft(request)
        service = self._service
        message = (
            f"stopped before embedding.max_cost = ${service.max_cost:g}: "
            f"${service.usage.cost:.4g} spent, and what it bought is kept; "
            "raise the limit and run again for the rest"
        )
        self._stop(BudgetError(message))

    def _next(self, now: float) -> Request | None:
        for _ in range(len(self._again)):
            request = self._again.popleft()
            if request.ready_at <= now:
                return request
            self._again.append(request)
        self._filling.limits = self._service.limits
        return self._filling.next()

    def _wait(self) -> list[Future[Answer]]:
        """Wait for an answer, or for the time when something may be sent."""
        clock = self._service.clock
        until = max(self._paused_until, min((r.ready_at for r in self._again), default=0.0))
        pause = max(0.0, until - clock.now())
        if self._running:
            is_waiting = pause > 0 and not self._end and self._width.allows(len(self._running))
            timeout = pause if is_waiting else None
            done, _ = wait(self._running, timeout=timeout, return_when=FIRST_COMPLETED)
            return [future for future in self._running if future in done]
        if pause > 0 and not self._end:
            clock.sleep(pause)
        return []

    def _settle(self, request: Request, sent_at: float, future: Future[Answer]) -> Iterator[Part]:
        try:
            answer = future.result()
        except ProviderError as error:
            if error.status == RATE_LIMITED:
                self._width.rate_limited(sent_at, self._service.clock.now())
            yield from self._failed(request, error)
            return
        count = len(request.texts)
        if sorted(place for place, _ in answer.vectors) != list(range(count)):
            yield from self._mixed_up(
                request, f"{len(answer.vectors)} vectors for {count} texts, or unusable places"
            )
            return
        self._width.succeeded()
        self._lost = 0
        by_place = dict(answer.vectors)
        yield from self._accept(request, [by_place[place] for place in range(count)])

    def _accept(self, request: Request, vectors: Sequence[NDArray[np.float32]]) -> Iterator[Part]:
        """Yield the good vectors of an answer and see to the others."""
        dimension = self._dimension or vectors[0].size
        if len(vectors) > 1 and all(vector.size != dimension for vector in vectors):
            message = (
                f"{self._service.provider.name} gives vectors of {vectors[0].size} numbers instead "
                f"of {dimension}; check embedding.model and embedding.dimensions"
            )
            self._stop(EmbeddingError(message))
        checked = unit_vectors(vectors, dimension)
        may_ask = request.attempts < VECTOR_ATTEMPTS
        again = [row for row in checked.failures if may_ask and vectors[row].size == dimension]
        if again:
            self._requeue(replace(request, texts=tuple(request.texts[row] for row in again)))
        done = [row for row in range(len(vectors)) if row not in again]
        if done:
            rows = {row: place for place, row in enumerate(done)}
            failures = {rows[r]: why for r, why in checked.failures.items() if r in rows}
            texts = [request.texts[row] for row in done]
            yield self._part(texts, Embedded(checked.vectors[done], failures))

    def _mixed_up(self, request: Request, problem: str) -> Iterator[Part]:
        """Ask again; a text that makes every answer wrong is found by halving."""
        if request.attempts < VECTOR_ATTEMPTS:
            self._requeue(request)
        elif len(request.texts) > 1:
            for half in request.halves():
                attempts = VECTOR_ATTEMPTS - 1 if len(half.texts) > 1 else 0
                self._again.appendleft(replace(half, attempts=attempts))
            self._service.usage.retries += 1
        else:
            yield from self._give_up(request, problem)

    def _failed(self, request: Request, error: ProviderError) -> Iterator[Part]:
        if is_fatal(error):
            message = f"{self._service.provider.name} refuses every request: {_said(error)}"
            self._stop(EmbeddingError(message))
        elif not is_transient(error):
            yield from self._refused(request, error)
        elif request.attempts < self._attempts and (
            error.retry_after is None or error.retry_after <= LONGEST_ASKED_WAIT
        ):
            pause = self._requeue(request, error.retry_after)
            if error.status == RATE_LIMITED:  # the limit is the account's, not the request's
                self._paused_until = self._service.clock.now() + pause
        else:
            self._lost += 1
            self._service.usage.lost += len(request.texts)
            if self._lost >= LOST_REQUESTS:
                message = f"{self._service.provider.name} does not answer: {_said(error)}"
                self._stop(EmbeddingError(message))
            yield from self._give_up(request, f"{_said(error)}, {request.attempts} attempts")

    def _refused(self, request: Request, error: ProviderError) -> Iterator[Part]:
        """Find the text that is refused by halving; cut it if it was too long."""
        first = request.texts[0]
        if len(request.texts) > 1:
            halves = request.halves()
            if is_too_many(error):
                limits = self._service.limits
                fewer = min(limits.batch_texts, len(halves[0].texts))
                self._service.limits = replace(limits, batch_texts=fewer)
            self._again.extendleft(reversed(halves))
            self._service.usage.retries += 1
        elif _TOO_LONG.search(error.message) and first.size > _SHORTEST_CUT:
            self._again.appendleft(Request((first.cut(first.size // 2),)))
            self._service.usage.retries += 1
        else:
            yield from self._give_up(request, f"refused: {_said(error)}")

    def _requeue(self, request: Request, asked: float | None = None) -> float:
        """Put a request back with a wait, and return the wait."""
        pause = wait_before(request.attempts + 1, asked, self._service.noise)
        self._service.usage.retries += 1
        self._again.append(replace(request, ready_at=self._service.clock.now() + pause))
        return pause

    def _give_up(self, request: Request, reason: str) -> Iterator[Part]:
        count = len(request.texts)
        vectors = np.zeros((count, max(1, self._dimension)), dtype=np.float32)
        yield self._part(request.texts, Embedded(vectors, dict.fromkeys(range(count), reason)))

    def _part(self, texts: Sequence[Text], answer: Embedded) -> Part:
        cut = tuple(row for row, text in enumerate(texts) if text.is_cut)
        self._service.usage.truncated += len(cut)
        return Part([text.position for text in texts], replace(answer, truncated=cut))

    def _stop(self, error: EmbeddingError) -> None:
        self._end = self._end or error


def _said(error: ProviderError) -> str:
    status = f"HTTP {error.status}: " if error.status else ""
    return f"{status}{error.message[:_SHOWN]}"
