"""Hashes that identify texts and rows."""

import hashlib
from typing import Final

_BYTES: Final = 16  # 128 bits: no collision among 10**12 texts worth speaking of


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
