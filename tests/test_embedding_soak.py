"""Many texts through a service that fails one request in five."""

import itertools
import random
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest

from codelake.embedding import embed_texts
from resources.embedders.providers import Answer, Kind, Limits, ProviderError
from resources.embedders.remote import RemoteEmbedder
from resources.embedders.sending import Clock, Service


class OneInFive:
    """Fails every fifth request; counts the texts it has answered."""

    name = "one in five"
    limits = Limits(text_tokens=8191, batch_tokens=300_000, batch_texts=256)

    def __init__(self) -> None:
        self.calls = itertools.count(1)
        self.answered = 0

    def request(self, texts: Sequence[str], kind: Kind) -> Answer:
        assert kind == "document"
        if next(self.calls) % 5 == 0:
            message = "broken"
            raise ProviderError(message, status=500)
        self.answered += len(texts)
        numbers = np.array([float(text.split()[1]) for text in texts], dtype=np.float32)
        vectors = np.stack([np.cos(numbers), np.sin(numbers)], axis=1)
        return Answer(list(enumerate(vectors)), tokens=len(texts))

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    "count", [20_000, pytest.param(200_000, marks=pytest.mark.soak)], ids=["short", "long"]
)
def test_nothing_is_lost_or_embedded_twice_and_memory_stays_flat(count: int) -> None:
    provider = OneInFive()
    time = itertools.count()
    clock = Clock(lambda: float(next(time)), lambda _: None)
    noise = random.Random(1)  # noqa: S311 # the same waits every time
    service = Service(provider, clock=clock, noise=noise)
    embedder = RemoteEmbedder(service, "soak-2", is_remote=True, known_dimension=2)
    seen = np.zeros(count, dtype=np.int8)
    peaks: list[int] = []
    tracemalloc.start()
    for part in embed_texts(((str(i), f"text {i}") for i in range(count)), embedder):
        assert not part.failures
        seen[[int(text_hash) for text_hash in part.table["text_hash"].to_pylist()]] += 1
        peaks.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert (seen == 1).all()
    assert provider.answered == count
    middle = len(peaks) // 2
    assert max(peaks[middle:]) < max(peaks[:middle]) + 2_000_000
