"""What a question asks for beyond its words: names, quoted texts, tests or documentation."""

import re
from dataclasses import dataclass
from typing import Final

from codelake.natural_names import natural_name

# More names than this are prose or pasted code, where an exact look-up says little.
_MOST_NAMES: Final = 8

# In a longer question a name is mentioned rather than looked for: of 307 doc comments as questions,
# with every name's definition first, 0.42 found their function at once; without, 0.47.
_SHORT_QUESTION: Final = 6  # words

_WORD = r"[^\W\d]\w*"
_CODE_TOKEN: Final = re.compile(rf"[@$#]?{_WORD}(?:(?:\.|::|->|#){_WORD})*[!?]?(?:\(\))?")
_QUOTED: Final = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)")
# A question can be pasted text of any size. Where a run of letters can begin is bounded here, so
# that a run that comes to nothing is read once, and not once from each of its letters.
_CODE_SHAPE: Final = re.compile(
    r"\w_+\w|^_+\w|(?:[^\W\d_a-z]|(?<![\da-z])[a-z])[\da-z]*[a-z][A-Z]|[A-Z]{2}[a-z]|::|->"
    r"|\w\w\.\w\w|\(\)$|^[@$]|[a-z]\d"
)
_FILE: Final = re.compile(r"(?<![\w./-])[\w./-]*\w\.[a-z]{1,5}\b")
_DEFINED: Final = re.compile(
    rf"\b(?:is|are) (?:the )?({_WORD}) (?:defined|declared|implemented)\b"
    rf"|\b(?:definition|declaration|implementation|source|signature) of (?:the )?({_WORD})\b"
    rf"|^\s*(?:def|class|func|fn|function|struct|interface|type|enum|trait|method) ({_WORD})",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(r"::|->|#|\.")

# What a program puts into a message at run time: quoted values, numbers, paths, addresses.
_VARIABLE: Final = re.compile(
    r"`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*'|\b0x[0-9a-f]+\b|\b\d[\d.,:]*\b|(?<!\w)/\S+|\{[^}]{0,200}\}|%\w"
)
_MESSAGE: Final = re.compile(
    r"[:;%{}=<>]|['\"]|\b(?:error|exception|panic|failed|failure|fatal|warning|cannot|can't"
    r"|could not|unable|invalid|unexpected|unknown|missing|undefined|not found|must)\b",
    re.IGNORECASE,
)
# The class in front of a message is raised in many places, the message in one.
_RAISED: Final = re.compile(r"^\s*(?:[\w.]+\.)?\w*(?:Error|Exception|Warning|panic|fatal)\s*:\s*")
_SHORTEST_PIECE: Final = 8  # characters; a shorter piece of a message stands everywhere

_WANTS: Final[dict[str, re.Pattern[str]]] = {
    "test": re.compile(r"\b(?:tests?|testing|tested|unittests?|specs?|mocks?|mocked|fixtures?)\b"),
    "generated": re.compile(r"\b(?:generated|bundled?|minified|dist)\b"),
    "vendored": re.compile(r"\b(?:vendor|vendored|third party|node modules)\b"),
    "documentation": re.compile(r"\b(?:docs?|documentation|readme|guide|tutorial|changelog)\b"),
}
_TESTS_FIRST: Final = re.compile(
    r"^tests?\b|\btests? (?:for|of|that|which|cover\w*|cases?|suites?|files?)\b|\btested\b"
    r"|\b(?:unit|integration|regression|acceptance|end to end|e2e) tests?\b"
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question, taken apart.

    Args:
        text: as asked.
        names: identifiers whose definition is asked for, without their outer names.
        is_about_names: the definition of ``names`` is asked for, not only mentioned.
        qualified: the same with outer names joined by ``.``.
        natural: the natural name of each of ``names``, and of the whole question.
        files: what looks like the name or the end of the path of a file.
        pieces: texts that should stand word for word, lower case, without run-time values.
        wants: kinds of code asked for: test, generated, vendored, documentation.
        tests_first: tests are the object of the question, not only mentioned.
    """

    text: str
    names: tuple[str, ...]
    is_about_names: bool
    qualified: tuple[str, ...]
    natural: tuple[str, ...]
    files: tuple[str, ...]
    pieces: tuple[str, ...]
    wants: frozenset[str]
    tests_first: bool


def read_question(text: str) -> Question:
    """Take a question apart.

    >>> read_question("where is parseHTTPRetryAfter defined").names
    ('parseHTTPRetryAfter',)
    """
    pieces = _pieces(text)
    qualified = _names(text, is_message=bool(pieces))
    names = tuple(dict.fromkeys(_JOINT.split(name)[-1] for name in qualified))
    words = natural_name(text)
    natural = tuple(dict.fromkeys([words, *(natural_name(name) for name in names)]))
    return Question(
        text,
        names,
        len(text.split()) <= _SHORT_QUESTION or bool(_DEFINED.search(text)),
        tuple(_JOINT.sub(".", name) for name in qualified),
        tuple(name for name in natural if name),
        tuple(dict.fromkeys(_FILE.findall(text))),
        pieces,
        frozenset(kind for kind, pattern in _WANTS.items() if pattern.search(words)),
        bool(_TESTS_FIRST.search(words)),
    )


def _names(text: str, *, is_message: bool) -> list[str]:
    stripped = text.strip().strip("`'\"")
    if _CODE_TOKEN.fullmatch(stripped):
        return [_bare(stripped)]
    if is_message:  # what a message quotes are values
        text = _VARIABLE.sub(" ", _RAISED.sub("", text))
    found = [token for token in _quoted(text) if _CODE_TOKEN.fullmatch(token)]
    found += [next(filter(None, match.groups())) for match in _DEFINED.finditer(text)]
    found += [token for token in _CODE_TOKEN.findall(text) if _CODE_SHAPE.search(token)]
    return list(dict.fromkeys(_bare(token) for token in found))[:_MOST_NAMES]


def _quoted(text: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]


def _bare(token: str) -> str:
    return token.lstrip("@$#").removesuffix("()").rstrip("!")


def _pieces(text: str) -> tuple[str, ...]:
    pieces = [token for token in _quoted(text) if not _CODE_TOKEN.fullmatch(token)]
    if _MESSAGE.search(text):
        pieces += _VARIABLE.split(_RAISED.sub("", text))
    cleaned = (piece.strip(" \t.,:;'\"`()").lower() for piece in pieces)
    return tuple(dict.fromkeys(p for p in cleaned if len(p) >= _SHORTEST_PIECE and " " in p))
