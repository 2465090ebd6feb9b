"""VoyageAI's embeddings: models for code, with a form for documents and one for questions."""

import datetime as dt
import logging
import os
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from importlib import import_module
from typing import Final

from codelake.settings import EmbeddingSettings
from resources.embedders.opening import clip_suffix, clipped, require_key, require_package
from resources.embedders.providers import (
    TIMEOUT,
    Answer,
    Kind,
    Limits,
    NumberType,
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
        output_type: the form in which numbers travel.
    """

    name: str = "voyage"

    def __init__(
        self,
        model: str,
        *,
        dimensions: int,
        limits: Limits,
        key: str,
        base_url: str = "",
        output_type: NumberType = "float",
    ) -> None:
        """Keep what is needed; nothing is sent."""
        self.limits = limits
        self._model = model
        self._dimensions = dimensions
        self._key = key
        self._base_url = base_url
        self._output_type: NumberType = output_type
        self._voyage = require_package("voyageai", "voyage")
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
                output_dtype=self._output_type,
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
        return parse_answer(body, status=200, number_type=self._output_type)

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
    dimension = settings.dimensions or model.dimensions[0]
    provider = VoyageProvider(
        model.name,
        dimensions=dimension,
        limits=clipped(model.limits, settings),
        key=require_key(environment, KEY, "the embedder 'voyage'"),
        base_url=settings.base_url,
        output_type=settings.output_type,
    )
    service = Service(provider, price=model.price, max_cost=settings.max_cost)
    form = "" if settings.output_type == "float" else f"-{settings.output_type}"
    model_id = f"voyage-{model.name}-{dimension}{form}" + clip_suffix(settings)
    return RemoteEmbedder(service, model_id, is_remote=True, known_dimension=dimension)
