"""What scores texts against a question more finely than vectors do."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Reranker(Protocol):
    """A model that reads a question and a text together."""

    @property
    def model_id(self) -> str:
        """Name and revision of the model."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether texts are sent to another machine."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score between 0 and 1 for each text, in the order of ``texts``.

        Raises:
            EmbeddingError: the model cannot answer at all.
        """
        ...
