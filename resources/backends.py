"""What the registries of embedders and rerankers share."""

from dataclasses import dataclass
from importlib import import_module
from typing import Generic, NoReturn, TypeVar, cast

from codelake.errors import UsageError

_Settings = TypeVar("_Settings")
_Backend = TypeVar("_Backend")


@dataclass(frozen=True)
class Later(Generic[_Settings, _Backend]):
    """A maker that imports its backend when it is called; onnxruntime takes 0.1 s."""

    module: str
    name: str

    def __call__(self, settings: _Settings) -> _Backend:
        """Return the backend that ``settings`` ask for."""
        return cast("_Backend", getattr(import_module(self.module), self.name)(settings))


def refuse_remote(what: str, local: str) -> NoReturn:
    """Say that ``what`` may not send texts away, and that ``local`` does not.

    Raises:
        UsageError: always.
    """
    message = (
        f"embedding.local_only is set and {what} sends texts to another machine; "
        f"choose {local} or unset it"
    )
    raise UsageError(message)
