"""Hashes that identify texts and rows."""

import hashlib
from typing import Final

_BYTES: Final = 16  # 128 bits: no collision among 10**12 texts worth speaking of
_EMPTY: Final = hashlib.blake2b(digest_size=_BYTES)  # a copy of it is made faster than a new one


def content_hash(text: str) -> str:
    r"""Return 32 hex digits that identify ``text``; ``\r\n`` counts as ``\n``.

    A file converted between line ends therefore keeps every hash and every vector.
    """
    data = text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_BYTES).hexdigest()


def row_id(*parts: str) -> str:
    """Return 32 hex digits that identify the tuple ``parts``; no two tuples share an encoding."""
    digest = hashlib.blake2b(digest_size=_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def bytes_hash(data: bytes) -> str:
    r"""Return :func:`content_hash` of UTF-8 ``data`` that holds no ``\r\n``."""
    digest = _EMPTY.copy()
    digest.update(data)
    return digest.hexdigest()


class RowIds:
    """Makes the :func:`row_id` of many rows whose first parts are the same, at a third the cost."""

    __slots__ = ("_begun",)

    def __init__(self, *parts: str) -> None:
        """Start with the ``parts`` every row has in common."""
        self._begun = _EMPTY.copy()
        self._begun.update(b"".join(map(_framed, parts)))

    def of(self, *parts: str) -> str:
        """Return the id of the row that ends with ``parts``."""
        digest = self._begun.copy()
        # In ASCII there are as many bytes as characters.
        text = "".join([f"{len(part)}:{part}" for part in parts])
        digest.update(text.encode() if text.isascii() else b"".join(map(_framed, parts)))
        return digest.hexdigest()


def _framed(part: str) -> bytes:
    data = part.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(data), data)
