"""What turns texts into vectors: a registry of backends, one module each."""

import difflib
from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from codelake.embedding import Embedder
from codelake.errors import UsageError
from codelake.settings import EmbeddingSettings


def _later(module: str, name: str) -> Callable[[EmbeddingSettings], Embedder]:
    """Return a maker that imports its backend when it is asked; onnxruntime takes 0.1 s."""

    def make(settings: EmbeddingSettings) -> Embedder:
        maker = getattr(import_module(f"resources.embedders.{module}"), name)
        return cast("Embedder", maker(settings))

    return make


EMBEDDERS: Final[dict[str, Callable[[EmbeddingSettings], Embedder]]] = {
    "minilm": _later("minilm", "open_minilm"),
    "static": _later("static", "open_static"),
    "openai": _later("openai", "open_openai"),
    "openai-compatible": _later("openai", "open_compatible"),
    "voyage": _later("voyage", "open_voyage"),
    "folder": _later("folder", "open_folder"),
    "ane": _later("ane", "open_ane"),
    "hash": _later("hashing", "open_hashing"),
}


def open_embedder(settings: EmbeddingSettings) -> Embedder:
    """Return the embedder that the settings name.

    Raises:
        UsageError: an unknown name, a setting the embedder does not have, or one that sends
            texts to another machine under ``embedding.local_only``.
        EmbeddingError: a key or an optional package is missing.
    """
    maker = EMBEDDERS.get(settings.embedder)
    if maker is None:
        near = difflib.get_close_matches(settings.embedder, EMBEDDERS, n=1, cutoff=0.7)
        hint = f", did you mean {near[0]!r}?" if near else "."
        names = ", ".join(EMBEDDERS)
        message = f"unknown embedder {settings.embedder!r}{hint} Choose from {names}."
        raise UsageError(message)
    embedder = maker(settings)
    if settings.local_only and embedder.is_remote:
        message = (
            f"embedding.local_only is set and {settings.embedder!r} sends texts to another "
            "machine; choose a local embedder (minilm) or unset it"
        )
        raise UsageError(message)
    return embedder
