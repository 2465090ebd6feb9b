"""Requests to an API: within its limits, again where that can help, and never too much read."""

import datetime as dt
import json
import math
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Final, Self, TypeVar
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from codelake.errors import SourceError
from codelake.paths import display_path
from resources.embedders.providers import is_this_machine, retry_after, without_key
from resources.sources.accounts import Account

_CONNECT_SECONDS: Final = 20.0
_READ_SECONDS: Final = 60.0  # for the next bytes; a server may think for long about a long list
_ANSWER_SECONDS: Final = 300.0  # for a whole answer, that it cannot be drawn out for ever
_MOST_BYTES: Final = 64 << 20  # of an answer; 100 repositories are about 0.6 MB
_PIECE: Final = 1 << 16
_ATTEMPTS: Final = 5
_FIRST_WAIT: Final = 1.0  # seconds before the second attempt, doubled for each that follows
_LONGEST_WAIT: Final = 300.0  # seconds a server may ask us to wait; more is a failure
_MOST_REDIRECTS: Final = 3
_MESSAGE_LENGTH: Final = 200  # characters of a server's own words that are repeated
_TRANSIENT: Final = frozenset({408, 425, 500, 502, 503, 504})
_LIMITED: Final = frozenset({403, 429})
_REDIRECTS: Final = frozenset({301, 302, 307, 308})
_TAG: Final = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,1000}"')  # what an ETag may be


Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said: ``body`` is empty where nothing has changed."""

    status: int
    body: bytes
    tag: str = ""
    following: str = ""  # URL of the next page


class RefusalError(SourceError):
    """The server answered that it will not give what was asked for."""

    def __init__(self, message: str, status: int) -> None:
        """Keep the status."""
        super().__init__(message)
        self.status = status


class _Again(Exception):  # noqa: N818 # no error: it says when to try again
    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class _Authorization(requests.auth.AuthBase):
    """Send the token and nothing else; without this a ``.netrc`` would be taken for it."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _Session(requests.Session):
    """Follow nothing: the usual one reads the whole body of a redirect, whatever its size."""

    def get_redirect_target(self, response: requests.Response) -> str | None:
        del response
        return None


@dataclass(slots=True)
class Asker:
    """Asks the API of one account over connections that are kept; a context manager.

    ``pause`` waits for a number of seconds, ``now`` tells the time.
    """

    account: Account
    pause: Callable[[float], None] = time.sleep
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    _session: _Session = field(default_factory=_Session)
    _noise: random.Random = field(default_factory=random.Random)

    def __enter__(self) -> Self:
        """Prepare the connections; nothing is sent."""
        self._session.auth = _Authorization(self.account.token)
        self._session.trust_env = not is_this_machine(self.account.api)  # a proxy's affair
        self._session.headers["User-Agent"] = "codelake"
        # A packed answer could grow without end, and unpacking it could take as long.
        self._session.headers["Accept-Encoding"] = "identity"
        if self.account.kind == "github":
            self._session.headers["Accept"] = "application/vnd.github+json"
            self._session.headers["X-GitHub-Api-Version"] = "2022-11-28"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._session.close()

    def ask(
        self, url: str, parse: Callable[[bytes], Parsed], tag: str = ""
    ) -> tuple[Answer, Parsed | None]:
        """Return the answer and what ``parse`` makes of it, nothing if ``tag`` still holds.

        An answer that ``parse`` refuses with a ``ValueError`` is one of the things that happen.

        Raises:
            RefusalError: a status that another attempt would not change.
            SourceError: no good answer however often it was asked.
        """
        reason = ""
        for attempt in range(_ATTEMPTS):
            try:
                answer = self._follow(url, tag)
                is_same = answer.status == HTTPStatus.NOT_MODIFIED
                return answer, None if is_same else self._parsed(answer.body, parse)
            except _Again as again:
                reason = self._clean(str(again))
                wait = _FIRST_WAIT * 2.0**attempt * (0.5 + self._noise.random() / 2)
                if again.wait is not None:
                    wait = max(again.wait, 0.0)
                if wait > _LONGEST_WAIT:
                    message = f"{reason}, and asks to wait {wait:,.0f} seconds; run it later"
                    message += "" if self.account.token else ", or with a token"
                    raise SourceError(message) from None
                if attempt + 1 < _ATTEMPTS:
                    self.pause(wait)
        message = f"{reason}, {_ATTEMPTS} times in a row; try again later"
        raise SourceError(message)

    def _parsed(self, body: bytes, parse: Callable[[bytes], Parsed]) -> Parsed:
        try:
            return parse(body)
        except ValueError as error:
            # Its own words would show what was sent.
            message = f"{self.account.api} answered {len(body):,} bytes that are not the JSON "
            message += "this API gives; check sources.api"
            raise _Again(message) from error

    def _follow(self, url: str, tag: str) -> Answer:
        for _ in range(_MOST_REDIRECTS + 1):
            if not self.is_own(url):
                message = f"{self.account.api} leads to another server, which is not asked: "
                message += _place(url)
                raise SourceError(message)
            with self._send(url, tag) as response:
                if response.status_code not in _REDIRECTS:
                    return self._judge(response, url)
                url = _join(url, response.headers.get("Location", ""))
        message = f"{self.account.api} redirects more than {_MOST_REDIRECTS} times"
        raise SourceError(message)

    def is_own(self, url: str) -> bool:
        """Say whether ``url`` lies on the server that the token is for."""
        own = urlsplit(self.account.api)
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        return (parts.scheme, parts.netloc) == (own.scheme, own.netloc)

    def _send(self, url: str, tag: str) -> requests.Response:
        headers = {"If-None-Match": tag} if _TAG.fullmatch(tag) else {}
        try:
            return self._session.get(
                url,
                headers=headers,
                stream=True,
                allow_redirects=False,
                timeout=(_CONNECT_SECONDS, _READ_SECONDS),
            )
        except requests.exceptions.SSLError as error:
            message = f"{self.account.api} has no certificate that can be trusted: {_cause(error)}"
            raise SourceError(self._clean(message)) from None
        except (requests.RequestException, ValueError) as error:
            message = f"{self.account.api} cannot be reached: {_cause(error)}"
            raise _Again(message) from None

    def _judge(self, response: requests.Response, url: str) -> Answer:
        status = response.status_code
        if status == HTTPStatus.NOT_MODIFIED:
            if not response.request.headers.get("If-None-Match"):
                message = f"{self.account.api} answered that nothing has changed, unasked"
                raise _Again(message)
            return Answer(status, b"")
        body = self._read(response)
        if status == HTTPStatus.OK:
            tag = response.headers.get("ETag", "")
            following = response.links.get("next", {}).get("url", "")
            kept = tag if _TAG.fullmatch(tag) else ""
            return Answer(status, body, kept, _join(url, following) if following else "")
        words = self._words(body)
        said = f"{self.account.api} answered {status}{words}"
        wait = _asked_wait(response.headers, self.now())
        if status in _TRANSIENT or (status in _LIMITED and wait is not None):
            raise _Again(said, wait)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise _Again(said)
        message = f"{said}; {self.account.hint}"
        raise RefusalError(message, status)

    def _read(self, response: requests.Response) -> bytes:
        pieces, size, end = [], 0, time.monotonic() + _ANSWER_SECONDS
        try:
            # What is there, however little: others wait for a whole piece, byte by byte.
            while piece := response.raw.read1(_PIECE, decode_content=False):
                size += len(piece)
                if size > _MOST_BYTES or time.monotonic() > end:
                    message = f"the answer of {self.account.api} has no end: {size:,} bytes so far"
                    raise SourceError(message)
                pieces.append(piece)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            message = f"the answer of {self.account.api} breaks off: {_cause(error)}"
            raise _Again(message) from None
        return b"".join(pieces)

    def _words(self, body: bytes) -> str:
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            return ""
        words = said.get("message", said.get("error", "")) if isinstance(said, dict) else ""
        if not isinstance(words, str) or not words:
            return ""
        return f" ({display_path(self._clean(words)[:_MESSAGE_LENGTH])})"

    def _clean(self, message: str) -> str:
        return without_key(message, self.account.token)


def _asked_wait(headers: Mapping[str, str], now: dt.datetime) -> float | None:
    """Return the seconds to wait until the server answers again, ``None`` if it sets no limit."""
    lower = {name.lower(): value for name, value in headers.items()}
    asked = retry_after(lower, now)
    if asked is not None:
        return asked
    for prefix in ("x-ratelimit", "ratelimit"):  # GitHub's and GitLab's
        if lower.get(f"{prefix}-remaining") == "0":
            return _until(lower.get(f"{prefix}-reset", ""), now)
    return None


def _until(reset: str, now: dt.datetime) -> float:
    """Return the seconds until a time given in seconds since 1970."""
    if not re.fullmatch(r"[0-9]{1,12}", reset):
        return math.inf
    return max(0.0, int(reset) - now.timestamp()) + 1.0


def _cause(error: BaseException) -> str:
    """Return the innermost reason, which names neither headers nor objects in memory."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return display_path(str(reason)[:_MESSAGE_LENGTH])


def _join(url: str, place: str) -> str:
    """Return ``place`` as a URL; what cannot be one stays as it is and is refused as foreign."""
    try:
        return urljoin(url, place)
    except ValueError:
        return place


def _place(url: str) -> str:
    try:
        parts = urlsplit(url)
        return display_path(f"{parts.scheme}://{parts.hostname}")
    except ValueError:
        return "an address that is none"
