"""What scores texts against a question more finely than vectors do: a registry of backends."""

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from codelake.errors import UsageError
from codelake.reranking import Reranker
from codelake.settings import RerankingSettings


def _later(module: str, name: str) -> Callable[[RerankingSettings], Reranker]:
    """Return a maker that imports its backend when it is asked."""

    def make(settings: RerankingSettings) -> Reranker:
        maker = getattr(import_module(f"resources.rerankers.{module}"), name)
        return cast("Reranker", maker(settings))

    return make


RERANKERS: Final[dict[str, Callable[[RerankingSettings], Reranker]]] = {
    "maxsim": _later("maxsim", "open_maxsim"),
    "onnx": _later("cross_encoder", "open_cross_encoder"),
    "voyage": _later("services", "open_voyage"),
    "cohere": _later("services", "open_cohere"),
    "tei": _later("services", "open_tei"),
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
        message = (
            f"embedding.local_only is set and the reranker {name!r} sends texts to another "
            "machine; choose a local one (maxsim) or unset it"
        )
        raise UsageError(message)
    return reranker
