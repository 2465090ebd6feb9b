"""What a file is by its path and content: test, generated, vendored, documentation, or left out.

The rules are data, in ``classify.toml``. Flags never drop a file; a skip reason does, and each is
one of :data:`codelake.schemas.SKIP_REASONS`.
"""

import fnmatch
import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Self

from codelake.settings import SKIPPED

# A Git LFS pointer is "less than 1024 bytes" by its specification.
_POINTER_BYTES: Final = 1024
_POINTER: Final = re.compile(
    rb"\Aversion https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/v\d\r?\n"
    rb"(?:ext-\d-\S+ \S+\r?\n)*oid sha256:[0-9a-f]{64}\r?\nsize \d+\s*\Z"
)
_SOMETIMES: Final = ("secret_npmrc", "secret_account", "secret_kubeconfig")
_BANNER_BYTES: Final = 4096  # licence headers of 60 lines stand in front of some banners
_BANNER_LINES: Final = 40
_COMMENT: Final = re.compile(r"^\s*(?://|/\*|\*|#|--|;|<!--|%|\"\"\"|'''|\(\*|\{-|dnl\b|@)")
_LONG_LINE: Final = 1000  # bytes; longer ones are not written by hand
_LONG_SHARE: Final = 0.7  # of the file in long lines, before it counts as minified
_SPACE_SHARE: Final = 0.12  # of white space in long lines; hand-written code has 0.2 and more
_MARK_SHARE: Final = 0.06  # of brackets and separators; data in one string has fewer


@dataclass(frozen=True, slots=True)
class Flags:
    """What a file is, apart from its language."""

    is_test: bool = False
    is_generated: bool = False
    is_vendored: bool = False
    is_documentation: bool = False


@dataclass(frozen=True, slots=True)
class _Names:
    """A set of globs, split so that most are told without a regular expression."""

    exact: frozenset[str]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    rest: re.Pattern[str]

    @classmethod
    def build(cls, globs: Iterable[str]) -> Self:
        exact, starts, ends, rest = [], [], [], []
        for glob in globs:
            body = glob.strip("*")
            if any(mark in body for mark in "*?["):
                rest.append(glob)
            elif glob == body:
                exact.append(glob)
            elif glob == f"{body}*":
                starts.append(body)
            elif glob == f"*{body}":
                ends.append(body)
            else:
                rest.append(glob)
        pattern = "|".join(map(fnmatch.translate, rest)) or r"(?!)"
        return cls(frozenset(exact), tuple(starts), tuple(ends), re.compile(pattern))

    def match(self, name: str) -> bool:
        return (
            name in self.exact
            or name.endswith(self.ends)
            or name.startswith(self.starts)
            or self.rest.match(name) is not None
        )


class _Rule:
    """One section of ``classify.toml``."""

    def __init__(self, section: dict[str, list[str]]) -> None:
        self.folders = frozenset(section.get("folders", ()))
        self.suffixes = tuple(section.get("suffixes", ()))
        self._names = _Names.build(section.get("names", ()))
        self._not = _Names.build(section.get("not", ()))
        self._patterns = [re.compile(text) for text in section.get("patterns", ())]
        self._paths = [re.compile(text) for text in section.get("paths", ())]
        self.banners = re.compile("|".join(section.get("banners", ["(?!)"])), re.IGNORECASE)
        self._contents = [re.compile(text.encode()) for text in section.get("contents", ())]

    def has_name(self, path: str) -> bool:
        """Say whether the last part of ``path`` matches; folders do not count."""
        name = path.rpartition("/")[2]
        lower = name.lower()
        if self._names.match(lower):
            return not self._not.match(lower)
        return any(p.search(name) for p in self._patterns) or any(
            p.search(path) for p in self._paths
        )

    def has_content(self, content: bytes) -> bool:
        """Say whether ``content`` matches."""
        return any(pattern.search(content) for pattern in self._contents)

    def has_all(self, content: bytes) -> bool:
        """Say whether ``content`` matches every pattern."""
        return all(pattern.search(content) for pattern in self._contents)

    def match(self, path: str) -> bool:
        """Say whether a folder or the name matches."""
        if not self.folders.isdisjoint(path.lower().split("/")[:-1]):
            return not self._not.match(path.rpartition("/")[2].lower())
        return self.has_name(path)


@cache
def _rules() -> dict[str, _Rule]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {name: _Rule(section) for name, section in tomllib.loads(text).items()}


@lru_cache(maxsize=4096)
def path_flags(path: str) -> Flags:
    """Return what the path alone tells."""
    rules = _rules()
    is_generated = any(rules[name].has_name(path) for name in ("lock", "minified"))
    return Flags(
        is_test=rules["test"].match(path),
        is_generated=is_generated or rules["generated"].match(path),
        is_vendored=rules["vendored"].match(path),
        is_documentation=rules["documentation"].match(path),
    )


def path_skip_reason(path: str, skip: Collection[str] = SKIPPED) -> str:
    """Return why a file with this path is left out unread, or an empty string.

    ``skip`` are the kinds that are left out, as ``files.skip`` of the settings.
    """
    rules = _rules()
    if rules["secret"].has_name(path):
        return "secret-file"
    for rule, reason in (("lock", "lock-file"), ("minified", "minified")):
        if reason in skip and rules[rule].has_name(path):
            return reason
    return ""


def flag_skip_reason(flags: Flags, skip: Collection[str]) -> str:
    """Return why a file that is so flagged is left out, or an empty string."""
    for is_one, reason in (
        (flags.is_generated, "generated"),
        (flags.is_vendored, "vendored"),
        (flags.is_documentation, "documentation"),
        (flags.is_test, "test"),
    ):
        if is_one and reason in skip:
            return reason
    return ""


def size_skip_reason(path: str, size: int, max_bytes: int) -> str:
    """Return why a file of ``size`` bytes is left out unread, or an empty string."""
    if size == 0:
        return "empty"
    if size > _POINTER_BYTES and path.lower().endswith(_rules()["binary"].suffixes):
        return "binary"
    return "too-large" if size > max_bytes else ""


def content_skip_reason(path: str, content: bytes, skip: Collection[str] = SKIPPED) -> str:
    """Return why a file with this content is left out, or an empty string.

    ``skip`` is as for :func:`path_skip_reason`. Whether it is text is told by decoding it, see
    :mod:`codelake.encodings`.
    """
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        return "empty"
    if len(content) < _POINTER_BYTES and _POINTER.match(content):
        return "lfs-pointer"
    if is_secret_file(path, content):
        return "secret-file"
    return "minified" if "minified" in skip and _is_minified(path, content) else ""


def content_flags(path: str, content: bytes) -> Flags:
    """Return what path and content tell together."""
    flags = path_flags(path)
    if flags.is_generated or not (_has_banner(content) or _is_minified(path, content)):
        return flags
    return Flags(flags.is_test, True, flags.is_vendored, flags.is_documentation)  # noqa: FBT003 # order of the fields


def is_secret_file(path: str, head: bytes) -> bool:
    """Say whether a file holds credentials by its nature: a key, a password file.

    ``.env.example`` and its like do not.
    """
    rules = _rules()
    return (
        rules["secret"].has_name(path)
        or rules["secret"].has_content(head)
        or any(rules[name].has_name(path) and rules[name].has_all(head) for name in _SOMETIMES)
    )


def _has_banner(content: bytes) -> bool:
    lines = content[:_BANNER_BYTES].decode("utf-8", "replace").splitlines()[:_BANNER_LINES]
    banners = _rules()["generated"].banners
    return any(_COMMENT.match(line) and banners.search(line) for line in lines)


def _is_minified(path: str, content: bytes) -> bool:
    if len(content) < _LONG_LINE or not path.lower().endswith(_rules()["minified"].suffixes):
        return False
    longest = [line for line in content.split(b"\n") if len(line) > _LONG_LINE]
    long_bytes = sum(map(len, longest))
    if long_bytes < _LONG_SHARE * len(content):
        return False
    joined = b"".join(longest)
    spaces = sum(joined.count(mark) for mark in (b" ", b"\t"))
    marks = sum(joined.count(mark) for mark in (b"(", b")", b"{", b"}", b";", b",", b":"))
    return spaces < _SPACE_SHARE * long_bytes and marks > _MARK_SHARE * long_bytes
