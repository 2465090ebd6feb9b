"""Split identifiers into the words a person would say."""

import functools
import re
import unicodedata
from typing import Final

# Borders: a capital after a small letter, the last capital of a run before a small one
# (JSON|Response), the end of digits. Digits stay with the letters before them (utf8, base64), a
# lone letter behind them too (i18n, k8s, e2e), and so does the plural s of an acronym (URLs).
_WORDS: Final = re.compile(  # the most frequent kind of word first
    r"[A-Z]?[a-z]+(?:\d+[a-z](?![a-z\d])|\d+)?|[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])\d*|\d+"
)


@functools.lru_cache(maxsize=16_384)
def natural_name(identifier: str) -> str:
    """Return the lower-case words of ``identifier``, joined by spaces.

    >>> natural_name("JSONResponseParser")
    'json response parser'
    >>> natural_name("utf8Decode"), natural_name("_to_Base64URL"), natural_name("größeÄndern")
    ('utf8 decode', 'to base64 url', 'größe ändern')
    """
    if identifier.isascii():
        return " ".join(_WORDS.findall(identifier)).lower()
    shadow = "".join(map(_shadow, identifier))
    return " ".join(identifier[m.start() : m.end()] for m in _WORDS.finditer(shadow)).lower()


def _shadow(character: str) -> str:
    """Stand in for a character of any script by one the pattern knows."""
    if character.isupper():
        return "A"
    if character.isdecimal():
        return "0"
    # Letters without case and the marks that follow a letter belong to a word.
    is_letter = character.isalpha() or unicodedata.category(character)[0] == "M"
    return "a" if is_letter else "_"
