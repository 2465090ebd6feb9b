"""What ``.gitattributes`` say of files in the words of GitHub's Linguist.

``linguist-generated``, ``linguist-vendored`` and ``linguist-documentation`` set or take a flag,
``linguist-language`` names the language. A project knows better than any rule what its files are,
so these win. Other attributes are nothing to an index.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from itertools import islice
from typing import Final

from codelake.classify import Flags
from codelake.globs import Effort, Glob, parse_glob
from codelake.languages import language_by_alias
from codelake.paths import path_to_bytes

ATTRIBUTES_FILE: Final = ".gitattributes"
_MOST_RULES: Final = 1000  # each is tried on each file
_LONGEST_LINE: Final = 2048  # bytes, git's own limit
_MARK: Final = b"\xef\xbb\xbf"  # of the encoding, in front of a file
_QUOTED: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"(.*)', re.DOTALL)
_ESCAPE: Final = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_ESCAPES: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_NAMES: Final[Mapping[bytes, str]] = {
    b"linguist-generated": "is_generated",
    b"linguist-vendored": "is_vendored",
    b"linguist-documentation": "is_documentation",
    b"linguist-language": "language",
}


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is said of one file; ``None`` and an empty language say nothing."""

    is_generated: bool | None = None
    is_vendored: bool | None = None
    is_documentation: bool | None = None
    language: str = ""

    @property
    def mark(self) -> str:
        """Return what tells two sets apart, empty where nothing is said."""
        if self == Attributes():
            return ""
        return "+" + "".join({None: "-", True: "1", False: "0"}.get(v, v) for v in astuple(self))

    def apply(self, flags: Flags) -> Flags:
        """Return ``flags`` with what is said in place of what the rules told."""
        said = (self.is_generated, self.is_vendored, self.is_documentation)
        known = (flags.is_generated, flags.is_vendored, flags.is_documentation)
        chosen = [k if s is None else s for s, k in zip(said, known, strict=True)]
        return Flags(flags.is_test, *chosen)


class AttributeRules:
    """The attributes files of one repository."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Read the content of each ``.gitattributes`` by its path."""
        ordered = sorted(files, key=lambda path: (path.count("/"), path))
        lines = (
            (line, path_to_bytes(path.rpartition("/")[0]))
            for path in ordered
            for line in files[path].removeprefix(_MARK).split(b"\n")
        )
        parsed = (_parse_line(line, base) for line, base in lines)
        rules = list(islice((rule for rule in parsed if rule is not None), _MOST_RULES))
        self._rules = rules[::-1]  # the last one that speaks of a file decides
        self._effort = Effort("attributes")

    def find(self, path: str) -> Attributes:
        """Return what is said of a file.

        Raises:
            SourceError: the patterns are made to take hours.
        """
        if not self._rules:
            return Attributes()
        name, found = path_to_bytes(path), dict[str, bool | str | None]()
        for glob, values in self._rules:
            if not found.keys() >= values.keys() and self._effort.match(glob, name):
                found = {**values, **found}
        return Attributes(**found)  # type: ignore[arg-type] # each name has its type


def _parse_line(line: bytes, base: bytes) -> tuple[Glob, dict[str, bool | str | None]] | None:
    line = line.strip(b" \t\r")
    if not line or line.startswith((b"#", b"[attr]", b"!")) or len(line) > _LONGEST_LINE:
        return None
    quoted = _QUOTED.fullmatch(line)
    pattern, rest = quoted.groups() if quoted else _split(line)
    values = dict(_values(rest))
    if quoted:
        pattern = _ESCAPE.sub(_unescape, pattern)
    return (parse_glob(pattern, base), values) if values else None


def _split(line: bytes) -> tuple[bytes, bytes]:
    words = line.split(None, 1)
    return words[0], words[1] if len(words) > 1 else b""


def _values(text: bytes) -> Iterator[tuple[str, bool | str | None]]:
    for word in text.split():
        name, is_given, value = word.lstrip(b"-!").partition(b"=")
        key = _NAMES.get(name, "")
        if key == "language":
            said = (
                value.decode("utf-8", "replace") if is_given and word == word.lstrip(b"-!") else ""
            )
            yield key, language_by_alias(said)
        elif key:
            is_set = not word.startswith(b"-") and value.lower() != b"false"
            yield key, None if word.startswith(b"!") else is_set


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([_ESCAPES[code[0]] if len(code) == 1 else int(code, 8)])
