"""Decode source files: byte order mark, UTF-8, what the file declares, else a guess.

The name that is kept is one Python's codecs know; ``raw[a:b].decode(encoding)`` of a span gives its
text back, and :func:`file_offsets` says where a span of the UTF-8 text stands in the file.
"""

import codecs
import re
from dataclasses import dataclass
from typing import Final

import charset_normalizer
import numpy as np

from codelake.measure import Ints

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like UTF-16's: asked first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC: Final = (
    b"\x89PNG\r\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"PK\x03\x04", b"\x7fELF", b"%PDF-",
    b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\xca\xfe\xba\xbe", b"MZ\x90", b"\x00asm", b"wOFF", b"wOF2",
    b"SQLite format 3", b"RIFF", b"OggS", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf", b"\x93NUMPY", b"ID3",
)  # fmt: skip
_CONTROLS: Final = bytes(i for i in range(32) if i not in b"\t\n\v\f\r\b\x1a\x1b") + b"\x7f"
_MOST_CONTROLS: Final = 0.1  # of the bytes of a text that is UTF-8; random bytes have 0.11
_MOST_CONTROLS_LEGACY: Final = 0.02  # of one that is not: no legacy text has more than strays
_HEAD_BYTES: Final = 4096  # declarations stand in the first lines
_GUESS_BYTES: Final = 65_536  # a guess reads this much; more changes none and costs 50 ms a MB
_OPENING: Final = (
    re.compile(rb"""\A\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)"""),
    re.compile(rb"""\A\s*@charset\s+"([\w.:-]+)"\s*;"""),
)
_META: Final = re.compile(rb"""(?i)<meta[^>]{1,200}?charset\s*=\s*["']?([\w.:-]+)""")
# PEP 263's cookie; Ruby, Emacs and vim write theirs so that it matches too.
_COOKIE: Final = re.compile(rb"(?:#|//|--|;|%|/\*|<!--|\A\")[^\n]{0,200}?coding[:=][ \t]*([-\w.]+)")
_COOKIE_LINES: Final = 2
_MARKUP: Final = frozenset({"html", "vue", "svelte", "php", "embeddedtemplate"})
_HALF: Final = 0.5
_WESTERN: Final = frozenset({"cp1250", "cp1252", "cp1254"})  # letters like each other's
_HIGH: Final = bytes(range(0x80, 0x100))
_LEAST_HIGH: Final = 3  # bytes beyond ASCII: fewer tell nothing
# The encodings source files are found in; the rest of Python's are look-alikes of these.
_GUESSED: Final = [
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp866", "cp1253", "cp1255", "cp1256", "cp1254",
    "cp932", "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
# Polish and Czech read as Windows-1252 have these amid letters; Western texts do not.
_SYMBOL_IN_WORD: Final = re.compile("[^\\W\\d_][¹³¿¾¼½¥¯£ª]|[¹³¿¾¼½¥¯£ª][^\\W\\d_]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a file and how it was read.

    ``confidence`` is 1 where the file says or shows its encoding, less where it was guessed, 0 for
    a binary file, whose text is empty.
    """

    text: str
    encoding: str
    bom_bytes: int
    confidence: float
    is_binary: bool = False


def decode(content: bytes, language: str = "") -> Decoded:
    """Decode ``content``; nothing is lost or replaced, offsets can be mapped back.

    Args:
        content: the file's bytes.
        language: its language name; HTML's ``<meta charset>`` is read for HTML only.
    """
    marked = _by_mark(content)
    if marked is not None:
        return marked
    if _has_magic(content):
        return _BINARY
    try:
        text = content.decode()
    except UnicodeDecodeError:
        pass
    else:
        is_noise = _is_noise(content, _MOST_CONTROLS)
        return _without_mark(content) if is_noise else _utf8(text, content, language)
    if _is_noise(content, _MOST_CONTROLS_LEGACY):
        return _without_mark(content)
    return _by_declaration(content, language) or _by_guess(content)


_BINARY: Final = Decoded("", "", 0, 0.0, is_binary=True)


def _by_mark(content: bytes) -> Decoded | None:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            try:
                text = content[len(mark) :].decode(encoding)
            except UnicodeDecodeError:
                continue
            return Decoded(text, encoding, len(mark), 1.0)
    return None


def _utf8(text: str, content: bytes, language: str) -> Decoded:
    """Return ASCII that stands for more, as ISO-2022-JP does, by its declaration; else UTF-8."""
    if b"\x1b$" in content and content.isascii():
        declared = _by_declaration(content, language) or _try(content, "iso2022_jp", 0.9)
        if declared is not None and declared.text != text:
            return declared
    return Decoded(text, "utf-8", 0, 1.0)


def _has_magic(content: bytes) -> bool:
    return content.startswith(_MAGIC) and (b"\0" in content or not _is_utf8(content))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_noise(content: bytes, most: float) -> bool:
    """Tell whether too many bytes are control characters; a stray NUL in a source is no noise."""
    controls = len(content) - len(content.translate(None, _CONTROLS))
    return controls > 1 and controls > most * len(content)


def _without_mark(content: bytes) -> Decoded:
    """Read UTF-16 without a mark: every other byte of its ASCII is NUL."""
    half = max(len(content) // 2, 1)
    for encoding, nuls in (("utf-16-le", content[1::2]), ("utf-16-be", content[::2])):
        if nuls.count(0) > _HALF * half:
            decoded = _try(content, encoding, _HALF)
            if decoded is not None and "\0" not in decoded.text:
                return decoded
    return _BINARY


def _by_declaration(content: bytes, language: str) -> Decoded | None:
    head = content[:_HEAD_BYTES]
    matches = [pattern.search(head) for pattern in _OPENING]
    matches += [_COOKIE.search(line) for line in head.split(b"\n")[:_COOKIE_LINES]]
    if language in _MARKUP:
        matches.append(_META.search(head))
    for match in matches:
        decoded = _try(content, match[1].decode("ascii"), 1.0) if match else None
        if decoded is not None:
            return decoded
    return None


def _by_guess(content: bytes) -> Decoded:
    """Ask charset-normalizer; what it does not know is Windows-1252, or Latin-1 for its holes."""
    high = len(content) - len(content.translate(None, _HIGH))
    head = content[:_GUESS_BYTES]
    best = None
    if high >= _LEAST_HIGH:
        best = charset_normalizer.from_bytes(head, cp_isolation=_GUESSED).best()
    if best is not None and not _is_western(content, best.encoding, best.could_be_from_charset):
        certainty = (1.0 - best.chaos) * (1.0 + best.coherence) / 2
        guess = "cp1250" if best.encoding in _WESTERN else best.encoding
        decoded = _try(content, guess, certainty)
        if decoded is not None:
            return decoded
    western = _try(content, "cp1252", _HALF)
    if western is not None and _SYMBOL_IN_WORD.search(western.text):
        western = _try(content, "cp1250", _HALF) or western
    western = western or _try(content, "iso-8859-1", _HALF)
    if western is not None:
        return western
    return _BINARY  # not reached: Latin-1 has a letter for each byte


def _is_western(content: bytes, guess: str, as_likely: list[str]) -> bool:
    """Prefer Windows-1252, the most common by far, where little speaks against it."""
    if "cp1252" not in as_likely and guess not in _WESTERN:
        return False
    western = _try(content, "cp1252", _HALF)
    return western is not None and not _SYMBOL_IN_WORD.search(western.text)


def _try(content: bytes, encoding: str, confidence: float) -> Decoded | None:
    try:
        info = codecs.lookup(encoding)
        if not info._is_text_encoding:  # noqa: SLF001 - the only sign that tells rot13 from text
            return None
        text = content.decode(info.name)
    except (LookupError, UnicodeError):
        return None
    return Decoded(text, _public_name(info.name), 0, confidence)


def _public_name(name: str) -> str:
    """Return the codec's name with the hyphen its standard has: ``iso-8859-1``."""
    return name.replace("iso8859-", "iso-8859-")


def file_offsets(text: bytes, offsets: Ints, encoding: str, bom_bytes: int) -> Ints:
    """Return where byte ``offsets`` of the UTF-8 ``text`` stand in the file.

    Args:
        text: the decoded file as UTF-8.
        offsets: offsets into ``text`` at character borders, in any order.
        encoding: the file's encoding.
        bom_bytes: length of the mark in front of it.
    """
    if encoding in {"", "utf-8"} or (text.isascii() and _keeps_ascii(encoding)):
        return offsets + bom_bytes
    order, where = np.unique(offsets, return_inverse=True)
    encoder = codecs.getincrementalencoder(encoding)("replace")
    sizes = np.zeros(len(order), dtype=np.int64)
    at = 0
    for i, offset in enumerate(order.tolist()):
        sizes[i] = len(encoder.encode(text[at:offset].decode()))
        at = offset
    mapped: Ints = np.cumsum(sizes)[where] + bom_bytes
    return mapped


def _keeps_ascii(encoding: str) -> bool:
    return not encoding.startswith(("utf-16", "utf-32", "utf-7", "iso2022", "hz"))
