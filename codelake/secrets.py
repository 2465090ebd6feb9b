"""Find credentials in code and mask them without moving anything.

A mask is as long as what it hides, in characters and in bytes, so offsets and lines stay; it is
made of letters and ``_`` alone, so code stays code to a parser. Forms of known credentials and the
names that credentials are assigned to are data, in ``secrets.toml``.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

_MARK: Final = "REDACTED"
_KEY_LENGTH: Final = 12  # shorter values of a "token" are names of tokens
_NAME_LENGTH: Final = 16  # of what is looked at in front of a word
# Words and numbers joined by marks: the name of something, not a random string.
_NAME_LIKE: Final = re.compile(r"[^\W\d_]*\d{0,4}(?:[-_.:/,@+][^\W\d_]*\d{0,4})*")
# An escape stays as it is: without its backslash a quote would end the string around the secret.
_MASKABLE: Final = re.compile(r"(\\.?)|[!-~]", re.DOTALL)

# How languages give a name that ends in WORDS a value. RE2 reads these too, so no look-around, and
# no class that means less to it: white space and letters are ASCII.
_QUOTED: Final = (
    r"(?i:WORDS)[0-9]*[\"'\]]{0,2}[ \t\r\n]{0,3}(?::[ ]?[A-Za-z0-9_.<>\[\]?&]+[ \t]{0,3})?"
    r"(?:=>|:=|={1,3}|:|\",|',)[ \t\r\n]{0,3}[bru(]{0,2}[\"'`](?P<secret>[^\"'`\s]{8,512})[\"'`]"
)
_ELEMENT: Final = r"(?i:WORDS)>(?P<secret>[^<>\s]{8,512})</"
_LINE: Final = r"(?i:WORDS)[0-9]*[\"']?[ \t]*[:=][ \t]*(?P<secret>[^\s\"'`#]{8,512})"
_LINE_START: Final = r"[ \t]*(?:export |set |ENV |ARG |- )?[\"']?[\w.-]*"
_LINE_HEAD: Final = re.compile(_LINE_START)
_HEAD_LENGTH: Final = 300  # characters; what stands farther into a line begins none
_Span = tuple[int, int, str]  # start, end, kind


@dataclass(frozen=True, slots=True)
class _Form:
    """One form of a credential; ``judge`` is empty where the form leaves no doubt."""

    kind: str
    pattern: re.Pattern[str]
    front: re.Pattern[str]
    judge: str

    def find(self, text: str) -> Iterator[_Span]:
        for match in self.pattern.finditer(text):
            start = match.start()
            group = "secret" if "secret" in self.pattern.groupindex else 0
            if self.front.fullmatch(text, max(0, start - 1), start) and (
                not self.judge or _is_secret(match[group], self.judge)
            ):
                yield match.start(group), match.end(group), self.kind


@dataclass(frozen=True, slots=True)
class _Rules:
    forms: tuple[_Form, ...]
    stems: tuple[str, ...]
    everywhere: tuple[re.Pattern[str], ...]
    line: re.Pattern[str]
    unquoted: tuple[str, ...]
    placeholder: re.Pattern[str]
    public: re.Pattern[str]
    hint: str
    line_hint: str


@cache
def _rules() -> _Rules:
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    forms, assigned = data["format"], data["assigned"]
    words = f"(?P<password>{'|'.join(assigned['passwords'])})|{'|'.join(assigned['keys'])}"
    quoted, element, line = (p.replace("WORDS", words) for p in (_QUOTED, _ELEMENT, _LINE))
    # UTF-16, UTF-32 and the encodings that switch by escapes hide ASCII.
    hints = [form.get("hint", form["pattern"]) for form in forms] + [r"\x00", r"\x1b"]
    return _Rules(
        tuple(
            _Form(
                form["kind"],
                re.compile(form["pattern"]),
                re.compile(form.get("front", ".?"), re.DOTALL),
                form.get("judge", ""),
            )
            for form in forms
        ),
        tuple(assigned["stems"]),
        (re.compile(quoted), re.compile(element)),
        re.compile(line),
        tuple(assigned["unquoted"]),
        re.compile("|".join(assigned["placeholders"]), re.IGNORECASE),
        re.compile(assigned["public"], re.IGNORECASE),
        _hint([*hints, quoted, element]),
        _hint([line]),
    )


def _hint(patterns: Iterable[str]) -> str:
    """Join patterns without group names, each up to the eighth character of a value.

    A bounded repeat is slow to compile, and a hint may say yes too often.
    """
    shorter = (
        re.sub(r"\{8,512\}.*", "{8})", pattern) if "{8,512}" in pattern else pattern
        for pattern in patterns
    )
    return "|".join(f"(?:{re.sub(r'[?]P<[a-z]+>', '', pattern)})" for pattern in shorter)


def mask(text: str, path: str) -> tuple[str, list[str]]:
    """Return ``text`` with its secrets masked, and the kind of each in their order.

    >>> mask('TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789"', "a.py")[0]
    'TOKEN = "REDACTED________________________________"'

    Args:
        text: the text of a file.
        path: its path; values without quotes are looked for in configuration files only.
    """
    found = [span for form in _rules().forms for span in form.find(text)]
    found += _find_assigned(text, path)
    pieces, kinds, end = [], [], 0
    for start, stop, kind in sorted(found):
        if stop > end:  # else it lies inside another one
            pieces += [text[end:start], _masked(text[max(start, end) : stop])]
            kinds.append(kind)
            end = stop
    return "".join([*pieces, text[end:]]), kinds


def _find_assigned(text: str, path: str) -> Iterator[_Span]:
    rules = _rules()
    is_configuration = path.lower().endswith(rules.unquoted)
    for start in _stems(text, rules.stems):
        matches = [pattern.match(text, start) for pattern in rules.everywhere]
        if is_configuration and _is_line_head(text, start):
            matches.append(rules.line.match(text, start))
        if rules.public.search(text, max(0, start - _NAME_LENGTH), start):
            continue
        for match in filter(None, matches):
            judge = "password" if match["password"] else "key"
            if _is_secret(match["secret"], judge):
                yield match.start("secret"), match.end("secret"), judge


def _is_line_head(text: str, start: int) -> bool:
    """Say whether a line begins with a name that goes on at ``start``."""
    first = max(0, start - _HEAD_LENGTH)
    end = text.rfind("\n", first, start)
    is_begun = end >= 0 or not first
    return is_begun and _LINE_HEAD.fullmatch(text, max(end + 1, first), start) is not None


def _stems(text: str, stems: Iterable[str]) -> Iterator[int]:
    """Yield where the stems stand, in any case; ten searches beat one case-blind expression."""
    lower = text.lower()
    if len(lower) != len(text):  # a few characters are two in lower case
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    for stem in stems:
        start = lower.find(stem)
        while start >= 0:
            yield start
            start = lower.find(stem, start + 1)


def find_suspects(contents: Any, paths: Any) -> list[bool]:  # noqa: ANN401 - Arrow has no stubs
    """Say for each file whether :func:`mask` has to look at it; in the others it finds nothing.

    One pass of an automaton over a whole batch costs 3 % of parsing, :func:`mask` alone 20 %.

    Args:
        contents: an Arrow array of raw contents; one that is not ASCII-compatible is suspect.
        paths: an Arrow array of their paths.
    """
    import pyarrow as pa  # noqa: PLC0415 - a parser process masks without Arrow
    import pyarrow.compute as pc  # noqa: PLC0415 - the same

    rules = _rules()
    result: list[bool] = pc.match_substring_regex(contents, rules.hint).to_pylist()
    lines = [
        place
        for place, path in enumerate(paths.to_pylist())
        if not result[place] and path.lower().endswith(rules.unquoted)
    ]
    some = contents.take(pa.array(lines, pa.int64()))
    found = pc.match_substring_regex(some, rules.line_hint).to_pylist()
    for place, is_suspect in zip(lines, found, strict=True):
        result[place] = is_suspect
    return result


def _masked(secret: str) -> str:
    """Return a mask of the same length; line breaks and what is not ASCII stay."""
    fill = iter(_MARK.ljust(len(secret), "_"))
    return _MASKABLE.sub(lambda match: match[1] or next(fill), secret)


def _is_secret(value: str, kind: str) -> bool:
    """Judge a value by its look: random, or a name, a placeholder, a path."""
    if _rules().placeholder.search(value) or _NAME_LIKE.fullmatch(value):
        return False
    if kind == "password":
        return True
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return len(value) >= _KEY_LENGTH and has_both and len(set(value)) > len(value) ** 0.5
