r"""Git's patterns for paths, as regular expressions that no pattern can make run for ever.

A pattern of a repository is not ours: ``*a*a*a*a*a*b`` costs a plain translation hours on a name
of two hundred letters. Here everything before the last star of a part is matched at its first
place and never again (atomic groups), as is everything before the last ``**``. That is enough
since what stands between two stars has one length. Bytes are matched, as by git: ``?`` is one byte.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from codelake.errors import SourceError

_CLASSES: Final[dict[bytes, Callable[[str], bool]]] = {
    b"alnum": str.isalnum,
    b"alpha": str.isalpha,
    b"blank": " \t".__contains__,
    b"cntrl": lambda c: not c.isprintable(),
    b"digit": str.isdigit,
    b"graph": lambda c: c.isprintable() and c != " ",
    b"lower": str.islower,
    b"print": str.isprintable,
    b"punct": lambda c: c.isprintable() and not c.isalnum() and c != " ",
    b"space": str.isspace,
    b"upper": str.isupper,
    b"xdigit": "0123456789abcdefABCDEF".__contains__,
}
_MOST_STEPS: Final = 20_000_000_000  # the worst patterns make 100 million of them a second
_STAR: Final = b"*"
_SLASH: Final = b"/"
_NEVER: Final = re.compile(rb"(?!)")


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern: where it counts, what it matches, and whether it is about folders only."""

    base: bytes  # folder of the file it stands in, empty for the root
    is_name: bool  # the last part of a path is matched, at any depth
    is_folder: bool
    pattern: re.Pattern[bytes]
    cost: int  # steps that a byte of a path can take

    def match(self, path: bytes, *, is_folder: bool = False) -> bool:
        """Say whether ``path``, without a ``/`` at its end, matches."""
        if self.is_folder and not is_folder:
            return False
        if self.base:
            if not path.startswith(self.base + b"/"):
                return False
            path = path[len(self.base) + 1 :]
        return self.pattern.match(path.rpartition(b"/")[2] if self.is_name else path) is not None


@dataclass(slots=True)
class Effort:
    """Counts what the patterns of one repository have taken."""

    what: str
    steps: int = 0

    def match(self, glob: Glob, path: bytes, *, is_folder: bool = False) -> bool:
        """Say whether ``path`` matches.

        Raises:
            SourceError: the patterns are made to take hours.
        """
        self.steps += glob.cost * len(path)
        if self.steps > _MOST_STEPS:
            message = f"its {self.what} take too long to match; use fewer patterns, or simpler ones"
            raise SourceError(message)
        return glob.match(path, is_folder=is_folder)


def parse_glob(text: bytes, base: bytes = b"") -> Glob:
    """Read one pattern as it stands in an ignore or attributes file, without ``!``.

    One that git would match with nothing matches nothing.
    """
    inner = text.removesuffix(b"/")
    is_name = b"/" not in inner
    cost = 1 + inner.count(b"*") + inner.count(b"/")
    return Glob(base, is_name, inner != text, _compile(inner.removeprefix(b"/")), cost)


@lru_cache(maxsize=4096)
def _compile(text: bytes) -> re.Pattern[bytes]:
    try:
        parts = _parts(list(_tokens(text)))
    except ValueError:
        return _NEVER
    runs: list[list[bytes]] = [[]]
    for part in parts:
        if part is None:
            runs.append([])
        else:
            runs[-1].append(part)
    return re.compile(_join(runs), re.DOTALL)


def _join(runs: list[list[bytes]]) -> bytes:
    """Return the expression of runs of parts with any folders between them."""
    *before, last = runs
    expression = b""
    for number, run in enumerate(before):
        if run:
            there = b"/".join(run) + b"/"
            expression += there if number == 0 else b"(?>(?:[^/]+/)*?" + there + b")"
    if not last:
        return expression + rb".+\Z"
    return expression + (b"(?:[^/]+/)*" if before else b"") + b"/".join(last) + rb"\Z"


def _parts(tokens: list[bytes]) -> list[bytes | None]:
    """Return the expression of each part of the path, ``None`` for ``**``."""
    parts: list[bytes | None] = []
    part: list[bytes] = []
    for token in [*tokens, _SLASH]:
        if token != _SLASH:
            part.append(token)
            continue
        is_any = len(part) > 1 and set(part) == {_STAR}
        parts.append(None if is_any else _part(part))
        part = []
    return parts


def _part(tokens: list[bytes]) -> bytes:
    chunks: list[list[bytes]] = [[]]
    for token in tokens:
        if token == _STAR:
            chunks.append([])
        else:
            chunks[-1].append(token)
    first, *rest = (b"".join(chunk) for chunk in chunks)
    if not rest:
        return first
    *middle, last = rest
    found = b"".join(b"(?>[^/]*?" + chunk + b")" for chunk in middle if chunk)
    return first + found + b"[^/]*" + last + rb"(?=/|\Z)"


def _tokens(text: bytes) -> Iterator[bytes]:
    r"""Yield ``*``, ``/`` and expressions for one byte each.

    Raises:
        ValueError: a pattern that matches nothing, such as one that ends in ``\`` or in ``[``.
    """
    place = 0
    while place < len(text):
        byte = text[place : place + 1]
        place += 1
        if byte == b"[":
            token, place = _class(text, place)
            yield token
        elif byte == b"\\":
            if place == len(text):
                raise ValueError
            byte = text[place : place + 1]
            place += 1
            yield byte if byte == _SLASH else re.escape(byte)
        elif byte == b"?":
            yield b"[^/]"
        else:
            yield byte if byte in {_STAR, _SLASH} else re.escape(byte)


def _class(text: bytes, place: int) -> tuple[bytes, int]:
    """Return the expression of a class that begins at ``place``, and the place behind it."""
    is_negated = text[place : place + 1] in {b"!", b"^"}
    place += is_negated
    found: set[int] = set()
    start, before = place, -1  # the byte that a range may begin with
    while place == start or text[place : place + 1] != b"]":
        if place >= len(text):
            raise ValueError
        named = re.compile(rb"\[:([^\]]*):\]").match(text, place)
        if named:
            test = _CLASSES[named[1]] if named[1] in _CLASSES else _none()
            found |= {code for code in range(128) if test(chr(code))}
            place, before = named.end(), -1
            continue
        is_range = text[place : place + 1] == b"-" and before >= 0
        is_range = is_range and text[place + 1 : place + 2] not in {b"", b"]"}
        place += is_range
        if text[place : place + 1] == b"\\":
            place += 1
        if place >= len(text):
            raise ValueError
        code = text[place]
        place += 1
        found |= set(range(before, code + 1)) if is_range else {code}
        before = -1 if is_range else code
    chosen = (set(range(256)) - found if is_negated else found) - {ord("/")}
    if not chosen:
        return b"(?!)", place + 1
    return b"[" + b"".join(b"\\x%02x" % code for code in sorted(chosen)) + b"]", place + 1


def _none() -> Callable[[str], bool]:
    raise ValueError
