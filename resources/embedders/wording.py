"""Code as words, and words as tokens of a vocabulary."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

# What stands together in an identifier: JSON|Response|Parser, SHA256|Hash.
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[^\WA-Z_]+")
_CONTINUES: Final = "##"
_LONGEST_WORD: Final = 100  # characters; longer ones are keys and digests, and no word at all
_KEPT_WORDS: Final = 100_000  # words whose pieces are remembered, some 15 MB


def words_of(text: str) -> list[str]:
    """Return the words of code in small letters, identifiers split, without punctuation.

    Brackets and dots are four of ten pieces that a model for prose reads in code; what is left
    says the same in fewer.
    """
    return " ".join(_WORD.findall(text)).lower().split()


class WordPieces:
    """Cut words into the tokens of a vocabulary.

    Most words are tokens themselves and are looked up, three times as fast as a tokenizer that
    does not know that the text is cut into words already. The longest token that begins another
    word is its first piece, and so on.

    Args:
        vocabulary: tokens, numbered in their order; ``##`` marks what continues a word, and the
            first one stands for a word that cannot be cut.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Number the tokens."""
        self._numbers = {token: number for number, token in enumerate(vocabulary)}
        self._longest = max(map(len, vocabulary))
        self._known: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the numbers of the tokens of a text, at least one."""
        numbers = self._numbers
        found: list[int] = []
        for word in words_of(text):
            number = numbers.get(word)
            if number is None:
                found += self._pieces(word)
            else:
                found.append(number)
        return found or [0]

    def _pieces(self, word: str) -> tuple[int, ...]:
        pieces = self._known.get(word)
        if pieces is None:
            if len(self._known) >= _KEPT_WORDS:
                self._known = {}  # whoever reads the old one at this moment goes on with it
            pieces = self._known[word] = self._cut(_without_accents(word))
        return pieces

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (0,)
        pieces, start, mark = [], 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._numbers.get(mark + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start, mark = end, _CONTINUES
                    break
            else:
                return (0,)
        return tuple(pieces)


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")
