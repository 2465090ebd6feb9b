"""Paths as text: every byte string git allows in a name has its own text, and the way back.

A name is UTF-8 almost always. A byte that is not is written as one character of a private range,
``chr(0x10FF00 + byte)``, which every UTF-8 column can hold (a surrogate could not be stored). A
name that really contains characters of that range has them written byte by byte in the same way,
so no two names share a text.
"""

import re
import unicodedata
from typing import Final

_ESCAPE: Final = 0x10FF00  # in plane 16, private use: no script and no font has characters there
_LAST_ESCAPE: Final = _ESCAPE + 0xFF
_SURROGATE: Final = 0xDC00  # where Python's surrogateescape puts a byte that is not UTF-8
_NEEDS_ESCAPE: Final = re.compile(f"[\udc80-\udcff{chr(_ESCAPE)}-{chr(_LAST_ESCAPE)}]")
_ESCAPED: Final = re.compile(f"[{chr(_ESCAPE)}-{chr(_LAST_ESCAPE)}]")


def path_from_bytes(name: bytes) -> str:
    r"""Return the text of a path; :func:`path_to_bytes` is its inverse.

    >>> path_from_bytes(b"caf\xc3\xa9.py") == "café.py"
    True
    """
    text = name.decode("utf-8", "surrogateescape")
    return text if text.isascii() else _NEEDS_ESCAPE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < _ESCAPE:
        return chr(_ESCAPE + code - _SURROGATE)
    return "".join(chr(_ESCAPE + byte) for byte in match.group().encode())


def path_to_bytes(path: str) -> bytes:
    """Return the bytes of a path as git stores them."""
    if path.isascii():
        return path.encode()
    text = _ESCAPED.sub(lambda match: chr(_SURROGATE + ord(match.group()) - _ESCAPE), path)
    return text.encode("utf-8", "surrogateescape")


def display_path(path: str) -> str:
    r"""Return ``path`` for a terminal: one line, nothing hidden, no control characters.

    Bytes that are not UTF-8 are shown as ``\xe9``; line breaks, escape codes and characters
    that hide or turn text are shown by their code.
    """
    return "".join(map(_show, path))


def _show(character: str) -> str:
    code = ord(character)
    if _ESCAPE <= code <= _LAST_ESCAPE:
        return f"\\x{code - _ESCAPE:02x}"
    if character == "\\":
        return "\\\\"
    if unicodedata.category(character) in _HIDDEN:
        return character.encode("unicode_escape").decode()
    return character


# control, format (direction marks, zero width), surrogate, unassigned, private, line separators
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
