"""VoyageAI's embeddings: models for code, with a form for documents and one for questions."""

import datetime as dt
import logging
import os
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from importlib import import_module
from typing import Any, Final

from codelake.errors import EmbeddingError
from codelake.settings import EmbeddingSettings
from resources.embedders.providers import (
    TIMEOUT,
    Answer,
    Kind,
    Limits,
    ProviderError,
    check_url,
    find_model,
    parse_answer,
    retry_after,
    without_key,
)
from resources.embedders.remote import RemoteEmbedder
from resources.embedders.sending import Service

KEY: Final = "VOYAGE_API_KEY"


class VoyageProvider:
    """Send requests with the ``voyageai`` client.

    Args:
        model: the model's name.
        dimensions: numbers of a vector to ask for.
        limits: what one request takes.
        key: the API key.
        base_url: another address than VoyageAI's.
    """

    name: str = "voyage"

    def __init__(
        self, model: str, *, dimensions: int, limits: Limits, key: str, base_url: str = ""
    ) -> None:
        """Keep what is needed; nothing is sent."""
        self.limits = limits
        self._model = model
        self._dimensions = dimensions
        self._key = key
        self._base_url = base_url
        self._voyage = _import()
        # The client keeps a session a thread and closes none; one for all threads can be closed.
        self._session = self._voyage.requestssession or import_module("requests").Session()
        self._voyage.requestssession = self._session
        # A redirect could carry texts to another machine.
        self._session.max_redirects = 0
        # The client logs texts, and errors of servers that repeat the key.
        logging.getLogger("voyage").setLevel(logging.WARNING)

    def __repr__(self) -> str:
        """Show the model, never the key."""
        return f"VoyageProvider({self._model!r})"

    def request(self, texts: Sequence[str], kind: Kind) -> Answer:
        """Send one request.

        Raises:
            ProviderError: no answer, or one that is an error.
        """
        # The resource below the client: the client drops the index that says which text a vector
        # belongs to. A text that is too long is refused, not cut silently.
        try:
            body = self._voyage.Embedding.create(
                input=list(texts),
                model=self._model,
                input_type=kind,
                truncation=False,
                output_dimension=self._dimensions,
                encoding_format="base64",
                api_key=self._key,
                base_url=self._base_url or None,
                request_timeout=TIMEOUT,
            )
        except self._voyage.error.VoyageError as error:
            now = dt.datetime.now(dt.UTC)
            after = retry_after(error.headers, now) if error.headers else None
            message = without_key(str(error), self._key)
            is_redirect = type(error.__cause__).__name__ == "TooManyRedirects"
            status = HTTPStatus.FOUND if is_redirect else error.http_status
            raise ProviderError(message, status=status, retry_after=after) from None
        return parse_answer(body, status=200)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._session.close()


def open_voyage(
    settings: EmbeddingSettings, environment: Mapping[str, str] = os.environ
) -> RemoteEmbedder:
    """Return an embedder on VoyageAI's service.

    Raises:
        UsageError: an unknown model, dimension or URL.
        EmbeddingError: no key, or the package ``voyageai`` is missing.
    """
    model = find_model("voyage", settings.model, settings.dimensions)
    if settings.base_url:
        check_url(settings.base_url)
    key = environment.get(KEY, "")
    if not key:
        message = f"the embedder 'voyage' needs a key; set the environment variable {KEY}"
        raise EmbeddingError(message)
    dimension = settings.dimensions or model.dimensions[0]
    tokens = min(model.limits.text_tokens, settings.max_tokens or model.limits.text_tokens)
    provider = VoyageProvider(
        model.name,
        dimensions=dimension,
        limits=Limits(tokens, model.limits.batch_tokens, model.limits.batch_texts),
        key=key,
        base_url=settings.base_url,
    )
    service = Service(provider, price=model.price, max_cost=settings.max_cost)
    cut = f"-t{settings.max_tokens}" if settings.max_tokens else ""
    return RemoteEmbedder(
        service, f"voyage-{model.name}-{dimension}{cut}", is_remote=True, known_dimension=dimension
    )


def _import() -> Any:  # noqa: ANN401 # a module that may be missing
    try:
        return import_module("voyageai")
    except ImportError:
        message = (
            "the embedder 'voyage' needs the package 'voyageai'; install codelake[voyage], or "
            "choose a local embedder (minilm)"
        )
        raise EmbeddingError(message) from None
