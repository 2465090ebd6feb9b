"""Code as words, for models whose vocabulary knows words and not code."""

import re
from typing import Final

_SMALL_THEN_LARGE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ACRONYM_THEN_WORD: Final = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD: Final = re.compile(r"[^\w\s]+|_+")


def only_words(text: str) -> str:
    """Return the words of code, identifiers split, without punctuation.

    A word piece model spends a token on each bracket and dot, four of ten in code; what is left
    says the same in fewer. A text without any word is returned as it is.
    """
    text = _SMALL_THEN_LARGE.sub(" ", text)
    words = _NO_WORD.sub(" ", _ACRONYM_THEN_WORD.sub(" ", text))
    return words if words.strip() else text
