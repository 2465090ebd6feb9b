"""Any number of vectors that lie as vectors of real chunks do.

A thousand chunks are embedded by the default model. Every further vector is one of those, moved
along differences of others: the spread keeps the directions that texts differ in, and to be a
neighbour is a matter of degree, as it is not among random numbers.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.trees import Source
from codelake.chunking import chunk
from resources.embedders.minilm import MiniLMEmbedder

_REAL: Final = 1000  # chunks embedded, some 15 CPU seconds
_MOVES: Final = (0.5, 0.25)  # shares of two differences of others

Vectors = NDArray[np.float32]


def embed_chunks(sources: list[Source], questions: int) -> tuple[Vectors, Vectors]:
    """Return vectors of chunks of different files, and some of others to ask with."""
    count = _REAL + questions
    every = max(1, len(sources) // (2 * count))
    texts = list(islice(_texts(sources[::every]), count))
    vectors = MiniLMEmbedder().embed_documents(texts).vectors
    return vectors[questions:], vectors[:questions]


def spread(real: Vectors, count: int, seed: int) -> NDArray[np.float16]:
    """Return ``count`` vectors of length one that lie among the ``real`` ones."""
    chance = np.random.default_rng(seed)
    moved = real[chance.integers(0, len(real), count)]
    for share in _MOVES:
        to, away = (real[chance.integers(0, len(real), count)] for _ in range(2))
        moved += share * (to - away)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved.astype(np.float16)


def _texts(sources: list[Source]) -> Iterator[str]:
    """Yield a chunk from the middle of each file that has any."""
    for source in sources:
        if chunks := chunk(source.content, source.language):
            yield chunks[len(chunks) // 2].text
