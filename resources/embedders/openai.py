"""OpenAI's embeddings, and every server that speaks the same: Ollama, TEI, vLLM, llama.cpp."""

import datetime as dt
import json
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from codelake.errors import UsageError
from codelake.settings import EmbeddingSettings
from resources.embedders.opening import (
    clip_suffix,
    clipped,
    expect_package,
    refuse_settings,
    require_key,
    require_package,
)
from resources.embedders.providers import (
    TIMEOUT,
    Answer,
    Kind,
    Limits,
    ProviderError,
    check_url,
    find_model,
    is_this_machine,
    parse_answer,
    retry_after,
    without_key,
)
from resources.embedders.remote import RemoteEmbedder
from resources.embedders.sending import Service

KEY: Final = "OPENAI_API_KEY"
COMPATIBLE_KEY: Final = "CODELAKE_EMBEDDING_KEY"
_URL: Final = "https://api.openai.com/v1"
# What a server that documents nothing is sent. A text costs the client 0.11 CPU ms in requests of
# 32 and 0.07 in requests of 128; TEI, which takes 32 as it is delivered, refuses once and is sent
# less. A text of 8,192 tokens is what most models of this kind read at most.
_COMPATIBLE: Final = Limits(text_tokens=8192, batch_tokens=262_144, batch_texts=128)


class OpenAIProvider:
    """Send requests with the ``openai`` client, which is imported at the first one.

    Args:
        name: what errors call it.
        base_url: where ``/embeddings`` is.
        model: the model's name there.
        dimensions: numbers of a vector to ask for; 0 leaves it to the model.
        limits: what one request takes.
        key: the API key; empty sends none.
    """

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        model: str,
        limits: Limits,
        dimensions: int = 0,
        key: str = "",
    ) -> None:
        """Keep what is needed; nothing is imported or sent."""
        self.name = name
        self.limits = limits
        self._base_url = base_url
        self._model = model
        self._dimensions = dimensions
        self._key = key
        self._lock = threading.Lock()
        self._client: Any = None
        self._openai: Any = None

    def __repr__(self) -> str:
        """Show the service, never the key."""
        return f"OpenAIProvider({self.name!r}, {self._base_url!r}, {self._model!r})"

    def request(self, texts: Sequence[str], kind: Kind) -> Answer:  # noqa: ARG002 # one form only
        """Send one request.

        Raises:
            ProviderError: no answer, or one that is an error.
        """
        client = self._open()
        # As extra body the texts go as they are: the client's look at each of them for what it
        # could convert took more than half of the CPU time of a request.
        wanted: dict[str, Any] = {"extra_body": {"input": list(texts)}}
        if self._dimensions:
            wanted["dimensions"] = self._dimensions
        if not self._key:
            wanted["extra_headers"] = {"Authorization": self._openai.Omit()}
        try:
            raw = client.embeddings.with_raw_response.create(
                model=self._model, input=[], encoding_format="base64", **wanted
            )
            body = json.loads(raw.http_response.content)
        except self._openai.APIStatusError as error:
            message = self._clean(_message(error.body) or error.message)
            after = retry_after(error.response.headers, dt.datetime.now(dt.UTC))
            raise ProviderError(message, status=error.status_code, retry_after=after) from None
        except self._openai.APIConnectionError as error:
            cause = error.__cause__ or error
            message = self._clean(f"{self._base_url}: {type(cause).__name__}: {cause}")
            raise ProviderError(message) from None
        except ValueError:
            message = f"{self._base_url}: the answer is no JSON"
            raise ProviderError(message, status=200) from None
        return parse_answer(body, status=200)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _clean(self, message: str) -> str:
        return without_key(message, self._key)

    def _open(self) -> Any:  # noqa: ANN401 # the client's type is only there where it is installed
        with self._lock:
            if self._client is None:
                self._openai = require_package("openai", "openai")
                # Redirects could carry texts to another machine, and so could a proxy of the
                # environment when the server is this machine.
                http = self._openai.DefaultHttpxClient(
                    follow_redirects=False,
                    trust_env=not is_this_machine(self._base_url),
                    timeout=TIMEOUT,
                )
                self._client = self._openai.OpenAI(
                    api_key=self._key or "none",
                    base_url=self._base_url,
                    max_retries=0,
                    timeout=TIMEOUT,
                    http_client=http,
                )
            return self._client


def open_openai(
    settings: EmbeddingSettings, environment: Mapping[str, str] = os.environ
) -> RemoteEmbedder:
    """Return an embedder on OpenAI's service, or on a gateway to it by ``base_url``.

    Raises:
        UsageError: an unknown model, dimension or URL.
        EmbeddingError: no key, or the package ``openai`` is missing.
    """
    refuse_settings(settings, ["output_type"])
    model = find_model("openai", settings.model, settings.dimensions)
    base_url = settings.base_url or _URL
    check_url(base_url)
    key = require_key(environment, KEY, "the embedder 'openai'")
    expect_package("openai", "openai")
    dimension = settings.dimensions or model.dimensions[0]
    provider = OpenAIProvider(
        name="openai",
        base_url=base_url,
        model=model.name,
        dimensions=settings.dimensions,
        limits=clipped(model.limits, settings),
        key=key,
    )
    service = Service(provider, price=model.price, max_cost=settings.max_cost)
    model_id = f"openai-{model.name}-{dimension}" + clip_suffix(settings)
    return RemoteEmbedder(service, model_id, not is_this_machine(base_url), dimension)


def open_compatible(
    settings: EmbeddingSettings, environment: Mapping[str, str] = os.environ
) -> RemoteEmbedder:
    """Return an embedder on any server that speaks OpenAI's ``/embeddings``.

    Raises:
        UsageError: no model or URL, or a cost limit although the price is not known.
        EmbeddingError: the package ``openai`` is missing.
    """
    refuse_settings(settings, ["output_type"])
    for name in ("base_url", "model"):
        if not getattr(settings, name):
            message = f"the embedder 'openai-compatible' needs embedding.{name}"
            raise UsageError(message)
    if settings.max_cost:
        message = (
            "embedding.max_cost cannot be kept with 'openai-compatible': its price is not known"
        )
        raise UsageError(message)
    check_url(settings.base_url)
    expect_package("openai", "openai")
    provider = OpenAIProvider(
        name=f"the server {settings.base_url}",
        base_url=settings.base_url,
        model=settings.model,
        dimensions=settings.dimensions,
        limits=clipped(_COMPATIBLE, settings),
        key=environment.get(COMPATIBLE_KEY, ""),
    )
    size = f"-{settings.dimensions}" if settings.dimensions else ""
    model_id = f"compatible-{settings.model}{size}" + clip_suffix(settings)
    is_remote = not is_this_machine(settings.base_url)
    return RemoteEmbedder(Service(provider), model_id, is_remote, settings.dimensions)


def _message(body: object) -> str:
    """Return what an error answer says: OpenAI nests it, others do not."""
    if not isinstance(body, dict):
        return ""
    inner = body.get("error", body)
    if isinstance(inner, dict):
        parts = [inner.get("code"), inner.get("type"), inner.get("message")]
        return ": ".join(str(part) for part in parts if part)
    return str(inner)
