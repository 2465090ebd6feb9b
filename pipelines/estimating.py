"""Tell what embedding would cost before anything is embedded."""

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from codelake.embedding import Usage
from codelake.errors import EmbeddingError
from codelake.settings import EmbeddingSettings
from resources.configuration import Configuration
from resources.embedders.estimates import estimate_usage
from resources.embedders.providers import hosted_models
from resources.stages import Batches
from resources.store import LanceStore

_LOOKED_UP: Final = 4096  # texts whose vectors are looked for at once


def estimate_run(
    configuration: Configuration, store: LanceStore, stages: Iterable[Batches]
) -> list[dict[str, object]]:
    """Return what the configured embedder would do, and what each hosted model would cost.

    The texts are those without a kept vector of the configured embedder, each once. Another model
    would embed the texts of what is stored already, too.

    Args:
        configuration: the settings of the run; no key is needed.
        store: where vectors are kept.
        stages: tables with ``text_hash`` and ``embedded_text`` of the files that changed.
    """
    settings = configuration.load().embedding
    try:
        embedder = configuration.open_embedder()
    except EmbeddingError:  # no key or no package yet: then there is no vector of it either
        model_id = ""
    else:
        if embedder is None:
            return []
        model_id = embedder.model_id
    sizes = _missing_sizes(store, stages, model_id)
    rows = [_row(settings, sizes, is_configured=True)]
    for provider, models in hosted_models().items():
        for name in models:
            other = EmbeddingSettings(embedder=provider, model=name)
            if (provider, name) != (rows[0]["embedder"], rows[0]["model"]):
                rows.append(_row(other, sizes, is_configured=False))
    return rows


def _row(
    settings: EmbeddingSettings, sizes: Sequence[int], *, is_configured: bool
) -> dict[str, object]:
    usage: Usage = estimate_usage(settings, sizes)
    models = hosted_models().get(settings.embedder, {})
    return {
        "embedder": settings.embedder,
        "model": settings.model or next(iter(models), ""),
        "is_configured": is_configured,
        "texts": usage.texts,
        "tokens": usage.tokens,
        "requests": usage.requests,
        "truncated": usage.truncated,
        "cost_usd": round(usage.cost, 6),
    }


def _missing_sizes(store: LanceStore, stages: Iterable[Batches], model_id: str) -> list[int]:
    """Return the bytes of each text that has no vector of ``model_id``."""
    sizes: dict[str, int] = {}
    for stage in stages:
        for batch in stage:
            lengths = pc.binary_length(batch.column("embedded_text"))
            pairs = zip(batch.column("text_hash").to_pylist(), lengths.to_pylist(), strict=True)
            sizes.update((text_hash, size) for text_hash, size in pairs if text_hash)
    sizes.update((text_hash, len(text.encode())) for text_hash, text in store.pending(model_id))
    hashes = list(sizes)
    for start in range(0, len(hashes), _LOOKED_UP):
        part = hashes[start : start + _LOOKED_UP]
        known, _ = store.known_vectors(model_id, part)
        for text_hash in pa.array(part).filter(pa.array(known)).to_pylist():
            del sizes[text_hash]
    return list(sizes.values())
