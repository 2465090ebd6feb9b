"""Texts on their way to a service: cut to its limits and filled into requests."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from resources.embedders.providers import Limits

# Fewer bytes a token than code has (3 to 4), so that a request stays below the service's limit
# without its tokenizer, which cannot be had offline.
BYTES_PER_TOKEN: Final = 2


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a stream.

    Args:
        position: its place in the stream.
        text: what is sent.
        size: its bytes as UTF-8.
        is_cut: whether it is less than was given.
    """

    position: int
    text: str
    size: int
    is_cut: bool = False

    @property
    def tokens(self) -> int:
        """Return no fewer than its tokens."""
        return self.size // BYTES_PER_TOKEN + 1

    def cut(self, most: int) -> "Text":
        """Return the text shortened to ``most`` bytes, never inside a code point."""
        if self.size <= most:
            return self
        shorter = self.text.encode()[: max(1, most)].decode("utf-8", "ignore") or self.text[0]
        return replace(self, text=shorter, size=len(shorter.encode()), is_cut=True)


def whole_text(position: int, given: str) -> Text:
    """Return a text as it can be sent: half a surrogate pair is no Unicode and becomes ``?``."""
    data = given.encode("utf-8", "replace")
    return Text(position, data.decode(), len(data))


@dataclass(frozen=True, slots=True)
class Request:
    """Texts that are sent together.

    Args:
        texts: at least one.
        attempts: how often they were sent.
        ready_at: when they may be sent again, by the clock of the sender.
    """

    texts: tuple[Text, ...]
    attempts: int = 0
    ready_at: float = float("-inf")

    @property
    def tokens(self) -> int:
        """Return no fewer than the tokens of the texts."""
        return sum(text.tokens for text in self.texts)

    def halves(self) -> tuple["Request", "Request"]:
        """Split into two requests."""
        middle = (len(self.texts) + 1) // 2
        return Request(self.texts[:middle]), Request(self.texts[middle:])


class Filling:
    """Fills requests from a stream up to the limits of a service.

    Args:
        texts: the stream; read only as far as needed.
        limits: what the service takes; replaced when it is found to take less.
    """

    def __init__(self, texts: Iterable[str], limits: Limits) -> None:
        """Start at the beginning of the stream."""
        self.limits = limits
        self.is_empty = False
        self._texts = enumerate(texts)
        self._held: Text | None = None

    def next(self) -> Request | None:
        """Return the next full request; the last one may be smaller, ``None`` follows it."""
        texts: list[Text] = []
        tokens = 0
        while len(texts) < self.limits.batch_texts and (text := self._held or self._read()):
            self._held = None
            tokens += text.tokens
            if texts and tokens > self.limits.batch_tokens:
                self._held = text
                break
            texts.append(text)
        self.is_empty = not texts
        return Request(tuple(texts)) if texts else None

    def _read(self) -> Text | None:
        most = BYTES_PER_TOKEN * (min(self.limits.text_tokens, self.limits.batch_tokens) - 1)
        for position, given in self._texts:
            return whole_text(position, given).cut(most)
        return None
