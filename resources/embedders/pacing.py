"""When to ask again, and how many requests to have under way."""

import random
import re
from dataclasses import dataclass, field
from typing import Final

from resources.embedders.providers import ProviderError

# Attempts of one batch. With the waits below that is two minutes of trying; one request in five
# failing at random, a batch is lost once in 400,000.
ATTEMPTS: Final = 8
FIRST_WAIT: Final = 1.0  # seconds before the second attempt
LONGEST_WAIT: Final = 60.0  # seconds
# A service that asks for more than this is treated as one that does not answer, in seconds.
LONGEST_ASKED_WAIT: Final = 300.0
_TRANSIENT: Final = frozenset({408, 409, 425, 429})
_SERVER_FAULT: Final = 500
_CLIENT_FAULT: Final = 400
# What a wrong key, wrong address, wrong model or an empty account answer: the next request would
# be answered the same.
_FATAL: Final = frozenset({401, 402, 403, 404, 405, 407, 410})
RATE_LIMITED: Final = 429
_PAYLOAD_TOO_LARGE: Final = 413
_TOO_MANY: Final = re.compile(r"batch|request|too many|inputs", re.IGNORECASE)
_TOO_LARGE: Final = re.compile(r"too (?:large|long)", re.IGNORECASE)


def is_fatal(error: ProviderError) -> bool:
    """Tell whether every further request would fail the same way."""
    if error.status in _FATAL or "insufficient_quota" in error.message:
        return True
    return error.status is not None and 300 <= error.status < _CLIENT_FAULT  # noqa: PLR2004 # a redirect


def is_transient(error: ProviderError) -> bool:
    """Tell whether the same request may succeed later."""
    if error.status is None or error.status in _TRANSIENT:
        return True
    # llama.cpp says 500 to a text that is longer than its batch.
    if error.status == _SERVER_FAULT and _TOO_LARGE.search(error.message):
        return False
    return error.status >= _SERVER_FAULT or error.status < _CLIENT_FAULT


def is_too_many(error: ProviderError) -> bool:
    """Tell whether a refusal may mean that a smaller request is taken."""
    if is_fatal(error) or is_transient(error):
        return False
    return error.status == _PAYLOAD_TOO_LARGE or bool(_TOO_MANY.search(error.message))


def wait_before(attempt: int, asked: float | None, noise: random.Random) -> float:
    """Return the seconds to wait before ``attempt`` (from 2).

    A wait doubles each time, half of it random, so that requests which failed together do not
    come back together; what the service asked for is never undercut.
    """
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 2))
    wait *= 0.5 + noise.random() / 2
    if asked is None:
        return wait
    return max(asked, min(wait, LONGEST_WAIT)) + noise.random() / 10


@dataclass(slots=True)
class Width:
    """How many requests are under way: one more a round that went well, half after a 429.

    Args:
        most: never more than this.
        value: the number now, a fraction counting towards the next.
    """

    most: int = 16
    value: float = 4.0
    _shrunk_at: float = field(default=float("-inf"))

    def allows(self, running: int) -> bool:
        """Tell whether one more request may start."""
        return running < int(self.value)

    def succeeded(self) -> None:
        """Grow by one after as many good answers as there are requests under way."""
        self.value = min(float(self.most), self.value + 1.0 / self.value)

    def rate_limited(self, sent_at: float, now: float) -> None:
        """Halve, once for all requests that were under way together."""
        if sent_at >= self._shrunk_at:
            self.value = max(1.0, self.value / 2)
            self._shrunk_at = now
