"""What scores texts against a question more finely than vectors do: a registry of backends."""

from collections.abc import Callable
from typing import Final

from codelake.errors import UsageError
from codelake.reranking import Reranker
from codelake.settings import RerankingSettings
from resources.backends import Later, refuse_remote

_later = Later[RerankingSettings, Reranker]

RERANKERS: Final[dict[str, Callable[[RerankingSettings], Reranker]]] = {
    "maxsim": _later("resources.rerankers.maxsim", "open_maxsim"),
    "onnx": _later("resources.rerankers.cross_encoder", "open_cross_encoder"),
    "voyage": _later("resources.rerankers.services", "open_voyage"),
    "cohere": _later("resources.rerankers.services", "open_cohere"),
    "tei": _later("resources.rerankers.services", "open_tei"),
}


def open_reranker(
    name: str,
    settings: RerankingSettings = RerankingSettings(),  # noqa: B008 # frozen
    *,
    local_only: bool = False,
) -> Reranker:
    """Return the reranker called ``name``.

    Raises:
        UsageError: there is none of that name, a setting it needs is missing, or it sends texts to
            another machine under ``embedding.local_only``.
        EmbeddingError: a key is missing.
    """
    maker = RERANKERS.get(name)
    if maker is None:
        message = f"unknown reranker {name!r}; choose from {', '.join(RERANKERS)}"
        raise UsageError(message)
    reranker = maker(settings)
    if local_only and reranker.is_remote:
        refuse_remote(f"the reranker {name!r}", "a local one (maxsim)")
    return reranker
