"""What a run would send and cost, told before anything is sent; no key is needed."""

import math
from collections.abc import Iterable
from typing import Final

from codelake.embedding import Usage
from codelake.settings import EmbeddingSettings
from resources.embedders.providers import find_model
from resources.embedders.requests import BYTES_PER_TOKEN

# Bytes a token of code, 3.3 and 3.4 over two sets of nine and twelve repositories; rounded down,
# so that an estimate is rather too high.
ESTIMATED_BYTES: Final = 3.0
_MILLION: Final = 1_000_000
_HOSTED: Final = ("openai", "voyage")


def estimate_usage(settings: EmbeddingSettings, sizes: Iterable[int]) -> Usage:
    """Return texts, tokens, requests and US dollars of embedding texts of ``sizes`` bytes.

    A local embedder sends nothing and costs nothing; the price of a compatible server is not
    known and counts as nothing.

    Raises:
        UsageError: an unknown model or dimension.
    """
    if settings.embedder not in _HOSTED:
        return _free(sizes)
    model = find_model(settings.embedder, settings.model, settings.dimensions)
    most = min(model.limits.text_tokens, settings.max_tokens or model.limits.text_tokens)
    usage = Usage()
    filled = 0  # tokens of the requests, counted as they are when they are filled
    for size in sizes:
        tokens = math.ceil(size / ESTIMATED_BYTES)
        usage.texts += 1
        usage.tokens += min(tokens, most)
        usage.truncated += size > BYTES_PER_TOKEN * (most - 1)
        filled += min(size // BYTES_PER_TOKEN + 1, most)
    by_count = math.ceil(usage.texts / model.limits.batch_texts)
    usage.requests = max(by_count, math.ceil(filled / model.limits.batch_tokens))
    usage.cost = usage.tokens * model.price / _MILLION
    return usage


def _free(sizes: Iterable[int]) -> Usage:
    usage = Usage()
    for size in sizes:
        usage.texts += 1
        usage.tokens += math.ceil(size / ESTIMATED_BYTES)
    return usage
