"""One request to an embedding service: what is asked, what comes back, what goes wrong."""

import base64
import binascii
import datetime as dt
import email.utils
import ipaddress
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, Literal, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from codelake.errors import UsageError

Kind = Literal["document", "query"]
# How numbers travel: 4 bytes each, 1 byte each, or a bit each. The unsigned forms that VoyageAI has
# too say the same.
NumberType = Literal["float", "int8", "binary"]

# A request that takes longer is given up and sent again; the slowest answers seen to full batches
# of hosted models take some ten seconds. In seconds.
TIMEOUT: Final = 60.0
_MILLISECONDS: Final = 1000.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service takes.

    Args:
        text_tokens: most tokens of one text.
        batch_tokens: most tokens of one request.
        batch_texts: most texts of one request.
    """

    text_tokens: int
    batch_tokens: int
    batch_texts: int


@dataclass(frozen=True, slots=True)
class HostedModel:
    """What a provider documents about a model.

    Args:
        name: the model's name.
        dimensions: numbers of a vector, the full number first.
        limits: what one request takes.
        price: US dollars for a million tokens.
    """

    name: str
    dimensions: tuple[int, ...]
    limits: Limits
    price: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service said to one request, unchecked.

    Args:
        vectors: pairs of the text's place in the request and its vector, in any order.
        tokens: tokens the service counted; 0 if it does not say.
    """

    vectors: Sequence[tuple[int, NDArray[np.float32]]]
    tokens: int = 0


class ProviderError(Exception):
    """A request failed.

    Args:
        message: what the service said, without any key.
        status: the HTTP status; ``None`` if there was no answer at all.
        retry_after: seconds the service asks to wait, if it does.
    """

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        """Keep what is needed to decide whether to ask again."""
        super().__init__(message)
        self.message = message
        self.status = status
        self.retry_after = retry_after


class Provider(Protocol):
    """An embedding service; one call is one request, never repeated by itself."""

    @property
    def name(self) -> str:
        """What errors call it."""
        ...

    @property
    def limits(self) -> Limits:
        """What one request takes."""
        ...

    def request(self, texts: Sequence[str], kind: Kind) -> Answer:
        """Send one request; called from several threads.

        Raises:
            ProviderError: no answer, or one that is an error.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@lru_cache(maxsize=1)
def hosted_models() -> Mapping[str, Mapping[str, HostedModel]]:
    """Return the models of models.toml by provider and name."""
    text = files(__package__).joinpath("models.toml").read_text("utf-8")
    return {
        provider: {name: _hosted_model(name, values) for name, values in models.items()}
        for provider, models in tomllib.loads(text).items()
    }


def find_model(provider: str, name: str, dimensions: int) -> HostedModel:
    """Return a hosted model; without a name the provider's first.

    Raises:
        UsageError: an unknown model, or a number of dimensions it does not offer.
    """
    models = hosted_models()[provider]
    model = models.get(name or next(iter(models)))
    if model is None:
        message = f"unknown {provider} model {name!r}; choose from {', '.join(models)}"
        raise UsageError(message)
    if dimensions and dimensions not in model.dimensions:
        offered = ", ".join(map(str, model.dimensions))
        message = f"embedding.dimensions = {dimensions}: {model.name} offers {offered}"
        raise UsageError(message)
    return model


def parse_answer(
    body: object, status: int | None = None, number_type: NumberType = "float"
) -> Answer:
    """Read the answer of an OpenAI-shaped ``/embeddings`` endpoint.

    Raises:
        ProviderError: the body is no such answer.
    """
    try:
        data = body["data"]  # type: ignore[index] # anything may come over the wire
        vectors = [(_index(item), _numbers(item["embedding"], number_type)) for item in data]
        usage = body.get("usage") or {}  # type: ignore[attr-defined] # as above
        tokens = usage.get("total_tokens") or usage.get("prompt_tokens") or 0
        return Answer(vectors, int(tokens))
    except (KeyError, TypeError, ValueError, AttributeError):
        message = "the answer is no list of embeddings"
        raise ProviderError(message, status=status) from None


def retry_after(headers: Mapping[str, str], now: dt.datetime) -> float | None:
    """Return the seconds that ``Retry-After`` asks for: a number, a date, or milliseconds."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / _MILLISECONDS)
        value = headers.get("retry-after", "")
        if value.replace(".", "", 1).isdecimal():
            return float(value)
        date = email.utils.parsedate_to_datetime(value)
        return max(0.0, (date.astimezone(dt.UTC) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):  # a date before the first
        return None


def without_key(message: str, key: str) -> str:
    """Return ``message`` with the key blotted out: some servers repeat what they were sent."""
    return message.replace(key, "***") if key else message


def check_url(
    base_url: str,
    setting: str = "embedding.base_url",
    variable: str = "CODELAKE_EMBEDDING_KEY",
) -> None:
    """Refuse a base URL that is none, or that carries a password.

    Args:
        base_url: the URL.
        setting: where it stands.
        variable: where a key belongs instead.

    Raises:
        UsageError: with the reason; the URL is shown without the password.
    """
    parts = urlsplit(base_url)
    if parts.username or parts.password:
        message = (
            f"{setting} for {parts.hostname} holds a user name or password; "
            f"put the key into the environment variable {variable}"
        )
        raise UsageError(message)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = f"{setting} = {base_url!r}: expected http://HOST/... or https://HOST/..."
        raise UsageError(message)


def is_this_machine(base_url: str) -> bool:
    """Tell whether a URL names this machine itself."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _hosted_model(name: str, values: Mapping[str, Any]) -> HostedModel:
    limits = Limits(values["text_tokens"], values["batch_tokens"], values["batch_texts"])
    return HostedModel(name, tuple(values["dimensions"]), limits, float(values["price"]))


def _index(item: Mapping[str, Any]) -> int:
    index = item["index"]
    if not isinstance(index, int):
        raise TypeError
    return index


def _numbers(value: object, number_type: NumberType) -> NDArray[np.float32]:
    """Return a vector sent as base64 or as numbers; empty, and so refused, if it is neither."""
    try:
        if isinstance(value, str):
            packed = base64.b64decode(value, validate=True)
            sent = np.frombuffer(packed, dtype="<f4" if number_type == "float" else np.int8)
        else:
            sent = np.asarray(value, dtype=np.float32)
        if number_type == "binary":  # eight signs a number, in an offset of 128
            bits = np.unpackbits((sent.astype(np.int16) + 128).astype(np.uint8))
            sent = bits.astype(np.int8) * 2 - 1
        return sent.astype(np.float32, copy=False)
    except (binascii.Error, ValueError, TypeError):
        return np.empty(0, dtype=np.float32)
