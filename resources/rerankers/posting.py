"""One JSON request over HTTP: what comes back, or why nothing does."""

import datetime as dt
import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any, Final

from resources.embedders.providers import ProviderError, retry_after, without_key

# Somebody waits for the answer; a service that is slower than this is no help. In seconds.
TIMEOUT: Final = 20.0
_LARGEST: Final = 16_000_000  # bytes of an answer that are read; 1,000 scores take 50,000


def post_json(url: str, body: dict[str, Any], key: str, *, is_direct: bool) -> Any:  # noqa: ANN401 # JSON
    """Send ``body`` and return the JSON that is answered.

    Args:
        url: http or https.
        body: what is sent.
        key: sent as a bearer token; empty sends none.
        is_direct: whether proxies of the environment are passed by.

    Raises:
        ProviderError: no answer, an error, or no JSON.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)  # noqa: S310 # check_url lets http(s) pass
    proxies = [urllib.request.ProxyHandler({})] if is_direct else []
    opener = urllib.request.build_opener(_NoRedirect(), *proxies)
    try:
        with opener.open(request, timeout=TIMEOUT) as answer:
            return json.loads(answer.read(_LARGEST))
    except urllib.error.HTTPError as error:
        with error:
            said = _message(error.read(_LARGEST)) or str(error.reason)
        headers = {name.lower(): value for name, value in error.headers.items()}
        after = retry_after(headers, dt.datetime.now(dt.UTC))
        raise ProviderError(without_key(said, key), status=error.code, retry_after=after) from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        message = f"{url}: {type(reason).__name__}: {reason}"
        raise ProviderError(without_key(message, key)) from None
    except ValueError:
        message = f"{url}: the answer is no JSON"
        raise ProviderError(message, status=200) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could carry texts to another machine: it is an error like any other."""

    def redirect_request(self, *args: object, **options: object) -> None:
        """Follow none."""


def _message(answer: bytes) -> str:
    """Return what an error says; each service puts it under another name."""
    try:
        body = json.loads(answer)
    except ValueError:
        return answer.decode("utf-8", "replace")
    while isinstance(body, dict):
        body = next((body[name] for name in ("error", "message", "detail") if name in body), "")
    return str(body)
