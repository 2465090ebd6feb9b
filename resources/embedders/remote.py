"""An embedder behind a service."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from codelake.embedding import BLANK, Embedded, Part, Usage, gather
from codelake.errors import EmbeddingError
from resources.embedders.providers import Kind
from resources.embedders.sending import Sending, Service

# Attempts of a question, and of asking a service for its dimension: somebody waits for it.
QUICK_ATTEMPTS: Final = 3
_PROBE: Final = "def main(): pass"


@dataclass(slots=True)
class RemoteEmbedder:
    """Embed through a service.

    Args:
        service: where texts go.
        model_id: name of its space.
        is_remote: whether it is another machine.
        known_dimension: numbers of a vector; 0 asks the service when it is needed.
    """

    service: Service
    model_id: str
    is_remote: bool
    known_dimension: int = 0

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that are read; the rest is cut off."""
        return self.service.limits.text_tokens

    @property
    def usage(self) -> Usage:
        """What was done so far."""
        return self.service.usage

    @property
    def dimension(self) -> int:
        """Numbers in a vector; a service that is not known is asked once.

        Raises:
            EmbeddingError: it gives no vector.
        """
        if not self.known_dimension:
            (part,) = self._quick([_PROBE], "document")
            if part.embedded.failures:
                message = f"{self.service.provider.name}: {part.embedded.failures[0]}"
                raise EmbeddingError(message)
            self.known_dimension = int(part.embedded.vectors.shape[1])
        return self.known_dimension

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched."""
        return gather(texts, self.embed_parts, self.dimension)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for.

        Raises:
            EmbeddingError: a question has no vector; without it there is nothing to search with.
        """
        answer = gather(texts, lambda stream: self._quick(stream, "query"), self.dimension)
        problems = [why for why in answer.failures.values() if why != BLANK]
        if problems:
            message = f"{self.service.provider.name} gives no vector for a question: {problems[0]}"
            raise EmbeddingError(message)
        return answer

    def embed_parts(self, texts: Iterable[str]) -> Iterator[Part]:
        """Embed texts as they come, several requests at once.

        Raises:
            BudgetError: ``max_cost`` is reached; parts that were yielded before are good.
            EmbeddingError: the service cannot be used; the same holds.
        """
        stream = iter(texts)
        first = list(islice(stream, 1))
        if first:  # else the service would be asked for its dimension in vain
            every = chain(first, stream)
            yield from Sending(self.service, every, "document", dimension=self.dimension).run()

    def close(self) -> None:
        """Close the connections to the service; a later text opens new ones."""
        self.service.provider.close()

    def _quick(self, texts: Iterable[str], kind: Kind) -> Iterator[Part]:
        return Sending(
            self.service, texts, kind, dimension=self.known_dimension, attempts=QUICK_ATTEMPTS
        ).run()
