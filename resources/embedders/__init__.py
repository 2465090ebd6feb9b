"""What turns texts into vectors: a registry of backends, one module each."""

import difflib
from collections.abc import Callable
from typing import Final

from codelake.embedding import Embedder
from codelake.errors import UsageError
from codelake.settings import EmbeddingSettings
from resources.backends import Later, refuse_remote

_later = Later[EmbeddingSettings, Embedder]

EMBEDDERS: Final[dict[str, Callable[[EmbeddingSettings], Embedder]]] = {
    "minilm": _later("resources.embedders.minilm", "open_minilm"),
    "static": _later("resources.embedders.static", "open_static"),
    "openai": _later("resources.embedders.openai", "open_openai"),
    "openai-compatible": _later("resources.embedders.openai", "open_compatible"),
    "voyage": _later("resources.embedders.voyage", "open_voyage"),
    "folder": _later("resources.embedders.folder", "open_folder"),
    "ane": _later("resources.embedders.ane", "open_ane"),
    "hash": _later("resources.embedders.hashing", "open_hashing"),
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
        refuse_remote(repr(settings.embedder), "a local embedder (minilm)")
    return embedder
