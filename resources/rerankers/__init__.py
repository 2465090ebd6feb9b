"""What scores texts against a question more finely than vectors do: a registry of backends."""

from collections.abc import Callable
from typing import Final

from codelake.errors import UsageError
from codelake.reranking import Reranker
from resources.rerankers.maxsim import MaxSimReranker

RERANKERS: Final[dict[str, Callable[[], Reranker]]] = {
    "maxsim": MaxSimReranker,
}


def open_reranker(name: str) -> Reranker:
    """Return the reranker called ``name``.

    Raises:
        UsageError: there is none of that name; the message lists the choices.
    """
    maker = RERANKERS.get(name)
    if maker is None:
        message = f"unknown reranker {name!r}; choose from {', '.join(RERANKERS)}"
        raise UsageError(message)
    return maker()
