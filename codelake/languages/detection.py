"""Tell the language of a file from its path, its first bytes and its neighbours."""

import functools
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Final

from codelake.languages.grammars import LANGUAGES

_HEAD_BYTES: Final = 16_384  # content rules read this much: past licence and includes
_LINE_BYTES: Final = 500  # and no more of a line: some rules look on from each place in it
_MODELINE_LINES: Final = 5  # vim reads five lines at either end
_SHEBANG: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?#![ \t]*(\S+)([^\r\n]*)")
_EMACS: Final = re.compile(
    rb"-\*-[ \t]*(?:.*?\bmode:[ \t]*)?((?>[\w+#]+(?:-[\w+#]+)*))[^\r\n]*?-\*-", re.IGNORECASE
)
_VIM: Final = re.compile(
    rb"(?:^|\s)(?:vim?|ex):[^\r\n]*?\b(?:ft|filetype|syntax)=([\w+#-]+)", re.IGNORECASE
)
_XML: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?<\?xml\s")
_VERSION: Final = re.compile(r"[\d.]+$")


@dataclass(frozen=True, slots=True)
class _Ambiguity:
    rules: tuple[tuple[str, re.Pattern[bytes]], ...]
    neighbours: Mapping[str, str]
    fallback: str


def detect_language(
    path: str,
    head: bytes = b"",
    overrides: Mapping[str, str] | None = None,
    neighbours: Iterable[str] = (),
) -> str:
    """Return the language name of a file, empty for plain text.

    Args:
        path: path in the repository; only the part after the last ``/`` is looked at.
        head: the first bytes of the file, 16 KiB are enough.
        overrides: language by suffix or file name; wins over everything.
        neighbours: names of files around it, asked where content leaves ``.h`` open.
    """
    name = path.rpartition("/")[2]
    suffixes = _suffixes(name)
    if overrides:
        for key in (name, *suffixes):
            if key in overrides:
                return overrides[key]
    found = _by_name().get(name)
    if found is not None:
        return found
    for suffix in suffixes:
        ambiguity = _ambiguities().get(suffix)
        if ambiguity is not None:
            return _by_content(ambiguity, head[:_HEAD_BYTES], neighbours)
        found = _by_suffix().get(suffix)
        if found is not None:
            return found
    return _by_filename_stem(name) or _by_head(head[:_HEAD_BYTES])


def language_by_alias(alias: str) -> str:
    """Return the language an alias such as ``js``, ``c++`` or ``sh`` stands for, else empty."""
    return _by_alias().get(alias.lower(), "")


def _suffixes(name: str) -> list[str]:
    """Return every suffix of ``name`` from the longest, each as written and in lower case."""
    parts = name.split(".")[1:]
    found = ["." + ".".join(parts[i:]) for i in range(len(parts))]
    return [form for suffix in found for form in dict.fromkeys((suffix, suffix.lower()))]


def _by_filename_stem(name: str) -> str:
    """Know ``Dockerfile.dev`` and ``Makefile.common`` by what stands before the first dot."""
    stem, dot, _ = name.partition(".")
    return _by_name().get(stem, "") if dot and stem else ""


def _by_content(ambiguity: _Ambiguity, head: bytes, neighbours: Iterable[str]) -> str:
    modeline = _by_modeline(head)
    if modeline:
        return modeline
    # Without blank lines: a rule that skips white space would skip all of them from each.
    solid = b"\n".join(line[:_LINE_BYTES] for line in head.splitlines() if line.strip())
    for language, pattern in ambiguity.rules:
        if pattern.search(solid):
            return language
    votes: Counter[str] = Counter()
    for neighbour in neighbours:
        suffix = "." + neighbour.rpartition(".")[2].lower()
        if suffix in ambiguity.neighbours:
            votes[ambiguity.neighbours[suffix]] += 1
    return votes.most_common(1)[0][0] if votes else ambiguity.fallback


def _by_head(head: bytes) -> str:
    return _by_shebang(head) or _by_modeline(head) or ("xml" if _XML.match(head) else "")


def _by_shebang(head: bytes) -> str:
    found = _SHEBANG.match(head)
    if found is None:
        return ""
    words = [found[1], *found[2].split()]
    if words[0].rpartition(b"/")[2] == b"env":
        words = [word for word in words[1:] if not word.startswith(b"-") and b"=" not in word]
    program = words[0].rpartition(b"/")[2].decode("ascii", "replace") if words else ""
    return _by_interpreter().get(program) or _by_interpreter().get(_VERSION.sub("", program), "")


def _by_modeline(head: bytes) -> str:
    lines = head.split(b"\n", _MODELINE_LINES)[:_MODELINE_LINES]
    for pattern in (_EMACS, _VIM):
        for line in lines:
            found = pattern.search(line[:_LINE_BYTES])
            if found:
                return language_by_alias(found[1].decode("ascii", "replace"))
    return ""


@functools.cache
def _by_name() -> dict[str, str]:
    return {key: lang.name for lang in LANGUAGES.values() for key in lang.filenames}


@functools.cache
def _by_suffix() -> dict[str, str]:
    return {key: lang.name for lang in LANGUAGES.values() for key in lang.suffixes}


@functools.cache
def _by_interpreter() -> dict[str, str]:
    return {key: lang.name for lang in LANGUAGES.values() for key in lang.interpreters}


@functools.cache
def _by_alias() -> dict[str, str]:
    aliases = {key: lang.name for lang in LANGUAGES.values() for key in lang.aliases}
    return {**aliases, **{name: name for name in LANGUAGES}}


@functools.cache
def _ambiguities() -> dict[str, _Ambiguity]:
    text = resources.files(__package__).joinpath("detection.toml").read_text(encoding="utf-8")
    return {
        suffix: _Ambiguity(
            tuple(
                (rule["language"], re.compile(rule["pattern"].encode(), re.MULTILINE))
                for rule in entry["rules"]
            ),
            entry.get("neighbours", {}),
            entry["fallback"],
        )
        for suffix, entry in tomllib.loads(text).items()
    }
