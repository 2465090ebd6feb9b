"""The rerankers that are reached over HTTP: VoyageAI, and servers that speak as Cohere or TEI."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from codelake.errors import UsageError
from codelake.settings import RerankingSettings
from resources.embedders.opening import require_key
from resources.embedders.providers import check_url
from resources.rerankers.http import HttpReranker, Limits, Style

KEY: Final = "CODELAKE_RERANKER_KEY"
VOYAGE_KEY: Final = "VOYAGE_API_KEY"
VOYAGE_MODELS: Final = ("rerank-2.5", "rerank-2.5-lite")
_VOYAGE_URL: Final = "https://api.voyageai.com/v1"


def _voyage_body(model: str, query: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"model": model, "query": query, "documents": list(texts), "truncation": True}


def _cohere_body(model: str, query: str, texts: Sequence[str]) -> dict[str, Any]:
    named = {"model": model} if model else {}
    return {**named, "query": query, "documents": list(texts), "top_n": len(texts)}


def _tei_body(model: str, query: str, texts: Sequence[str]) -> dict[str, Any]:
    del model  # such a server has one
    return {"query": query, "texts": list(texts), "raw_scores": False, "truncate": True}


# Limits are what the services document, read on 2026-11-30. A server that documents none gets what
# TEI takes as it is delivered (32 texts), or as much as Cohere does.
_VOYAGE: Final = Style(
    "/rerank",
    _voyage_body,
    lambda answer: [(item["index"], item["relevance_score"]) for item in answer["data"]],
    Limits(query_tokens=8000, pair_tokens=32_000, batch_tokens=600_000, batch_texts=1000),
)
_COHERE: Final = Style(
    "/rerank",
    _cohere_body,
    lambda answer: [(item["index"], item["relevance_score"]) for item in answer["results"]],
    Limits(query_tokens=2048, pair_tokens=4096, batch_tokens=262_144, batch_texts=1000),
)
_TEI: Final = Style(
    "/rerank",
    _tei_body,
    lambda answer: [(item["index"], item["score"]) for item in answer],
    Limits(query_tokens=2048, pair_tokens=8192, batch_tokens=262_144, batch_texts=32),
)


def open_voyage(
    settings: RerankingSettings, environment: Mapping[str, str] = os.environ
) -> HttpReranker:
    """Return VoyageAI's reranker, or a gateway to it by ``base_url``.

    Raises:
        UsageError: an unknown model or no URL.
        EmbeddingError: no key.
    """
    model = settings.model or VOYAGE_MODELS[0]
    if model not in VOYAGE_MODELS:
        message = f"unknown voyage reranker {model!r}; choose from {', '.join(VOYAGE_MODELS)}"
        raise UsageError(message)
    base_url = settings.base_url or _VOYAGE_URL
    check_url(base_url, "search.reranking.base_url", VOYAGE_KEY)
    key = require_key(environment, VOYAGE_KEY, "the reranker 'voyage'")
    return HttpReranker("voyage", _VOYAGE, base_url, model, key)


def open_cohere(
    settings: RerankingSettings, environment: Mapping[str, str] = os.environ
) -> HttpReranker:
    """Return the reranker of a server that speaks as Cohere: Jina, vLLM, llama.cpp, LiteLLM.

    Raises:
        UsageError: no URL.
    """
    return _open_server("cohere", _COHERE, settings, environment)


def open_tei(
    settings: RerankingSettings, environment: Mapping[str, str] = os.environ
) -> HttpReranker:
    """Return the reranker of a text-embeddings-inference server.

    Raises:
        UsageError: no URL.
    """
    return _open_server("tei", _TEI, settings, environment)


def _open_server(
    name: str, style: Style, settings: RerankingSettings, environment: Mapping[str, str]
) -> HttpReranker:
    if not settings.base_url:
        message = (
            f"the reranker {name!r} needs search.reranking.base_url, the address in front of "
            f"{style.path}, e.g. http://localhost:8080"
        )
        raise UsageError(message)
    check_url(settings.base_url, "search.reranking.base_url", KEY)
    key = environment.get(KEY, "").strip()
    return HttpReranker(
        name, style, settings.base_url, settings.model, key, is_raw=settings.raw_scores
    )
