"""The words of the table: whole words of code and prose first, pieces for all the rest.

The vocabulary of MiniLM splits ``async`` into ``as ##yn ##c`` and ``config`` into ``con ##fi ##g``.
A model that reads the pieces together can live with that, a table that adds them up cannot.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from resources.embedders.minilm import load_tokenizer
from resources.embedders.wording import words_of

UNKNOWN: Final = "[UNK]"
# Tokens in all: 256 numbers of a byte and three of four bytes for each are 9.6 MB.
SIZE: Final = 35_500
# Words from the packages; what is left goes to the commonest of MiniLM's own.
_OF_PACKAGES: Final = 24_000
_LEAST_PACKAGES: Final = 3
_WORD: Final = re.compile(r"[a-z][a-z0-9]*|[0-9]{1,4}")
_LONGEST: Final = 24  # characters of a word; longer ones are keys and digests
_PIECE: Final = "##"


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of one package."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word in words_of(text) if _WORD.fullmatch(word))
    return counts


def choose_words(packages: Iterable[Mapping[str, int]]) -> list[str]:
    """Return the vocabulary: words, the commonest first, then pieces and characters.

    A word counts by the packages that have it: one package's favourite is no word of everybody's.
    """
    spread: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for counts in packages:
        spread.update(counts.keys())
        total.update(counts)
    fit = [word for word, n in spread.items() if n >= _LEAST_PACKAGES and len(word) <= _LONGEST]
    fit.sort(key=lambda word: (-spread[word], -total[word], word))
    words, pieces = _words_of_minilm()
    chosen = list(dict.fromkeys([*fit[:_OF_PACKAGES], *words]))[: SIZE - 1 - len(pieces)]
    rank = {word: place for place, word in enumerate(words)}
    chosen.sort(key=lambda word: (-spread[word], -total[word], rank.get(word, 0), word))
    return [UNKNOWN, *chosen, *pieces]


def _words_of_minilm() -> tuple[list[str], list[str]]:
    """Return the words of MiniLM's vocabulary, and its pieces and characters."""
    tokenizer = load_tokenizer()
    tokens = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]
    words: list[str] = []
    pieces: list[str] = []
    for token in tokens:
        letters = token.removeprefix(_PIECE)
        if letters.isalnum() and (letters.isascii() or len(letters) == 1):
            (pieces if token != letters or len(letters) == 1 else words).append(token)
    return words, pieces
