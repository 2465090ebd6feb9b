"""Choose the lines of a hit to show, and make hidden characters visible."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from codelake.natural_names import natural_name
from codelake.search.answers import Hit

# Control, format (direction marks, zero width), surrogate and private-use characters, and the
# separators that some programs take for line ends.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# Shorter words (is, in, to, for) stand on every line.
_SHORTEST_WORD: Final = 4
_CLOSERS: Final = ("}", ")", "]", "end", "fi", "done", "esac")
_DECORATORS: Final = ("@", "#[", "[")
_STEP: Final = 4  # spaces a body is further in, where nothing closes it: Python's
_PLAIN: Final = re.compile(r"[\t\n\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Snippet:
    """Lines of a hit.

    Args:
        start_line: line of the file the text starts at.
        text: the lines, without the white space they all begin with.
        before: lines of the hit left out in front.
        after: lines of the hit left out behind.
    """

    start_line: int
    text: str
    before: int
    after: int


def cut_snippet(hit: Hit, most_lines: int) -> Snippet:
    """Return at most ``most_lines`` lines of ``hit``, those with most words of its questions.

    The first lines win ties: a definition says what it is at its beginning.
    """
    lines = _with_indentation(hit.text.split("\n"))
    start = 0 if len(lines) <= most_lines else _best_window(hit, lines, most_lines)
    shown = lines[start : start + most_lines]
    after = max(len(lines), hit.end_line - hit.start_line + 1) - start - len(shown)
    return Snippet(hit.start_line + start, "\n".join(_dedent(shown)), start, after)


def _best_window(hit: Hit, lines: list[str], size: int) -> int:
    if hit.lines:
        return max(0, min(hit.lines[0] - hit.start_line - 1, len(lines) - size))
    asked = (word for query in hit.matched_queries for word in natural_name(query).split())
    words = {word for word in asked if len(word) >= _SHORTEST_WORD}
    found = [len(words & set(natural_name(line).split())) for line in lines]
    sums = [sum(found[i : i + size]) for i in range(len(lines) - size + 1)]
    return sums.index(max(sums))


def _with_indentation(lines: list[str]) -> list[str]:
    """Give the first line of a definition the white space that stood before it in its file.

    A stored symbol begins at its first token. Where the definition stood is told by what closes
    it, by what follows a decorator, and else by its body, which is one step further in.
    """
    rest = [line for line in lines[1:] if line.strip()]
    if not rest or lines[0][:1].isspace():
        return lines
    inner = min((line[: len(line) - len(line.lstrip())] for line in rest), key=len)
    if not (rest[-1].lstrip().startswith(_CLOSERS) or lines[0].startswith(_DECORATORS)):
        inner = inner[:-1] if inner.endswith("\t") else inner[: -min(len(inner), _STEP)]
    return [inner + lines[0], *lines[1:]] if inner else lines


def _dedent(lines: list[str]) -> list[str]:
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
    if not indents:
        return lines
    common = min(indents, key=len)
    while common and not all(indent.startswith(common) for indent in indents):
        common = common[:-1]
    return [line.removeprefix(common) for line in lines]


def make_visible(text: str) -> str:
    r"""Return ``text`` with control and direction characters shown by their code.

    Line feeds and tabs stay, as does a carriage return's line end without it.

    >>> make_visible("a\u202eb")
    'a<U+202E>b'
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_visible(text.replace("\r\n", "\n")))


def _visible(text: str) -> Iterator[str]:
    for character in text:
        if character in "\t\n" or unicodedata.category(character) not in _HIDDEN:
            yield character
        else:
            yield f"<U+{ord(character):04X}>"
