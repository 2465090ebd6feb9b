"""Questions and the code that answers them, from doc comments, comments and prose of packages."""

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from codelake.definitions import Definition
from codelake.natural_names import natural_name
from training.copies import KnownCode
from training.packages import CodeFile, Package

_KINDS: Final = frozenset(
    ("class", "enum", "function", "interface", "macro", "method", "struct", "trait", "type")
)
_CODE_CHARACTERS: Final = (80, 6000)
_SHOWN_CHARACTERS: Final = 2400  # of the code that is learned from; some 700 tokens
_QUESTION_WORDS: Final = (3, 60)
_QUESTION_CHARACTERS: Final = 320
_NAME_WORDS: Final = (2, 7)
_HASH_LANGUAGES: Final = frozenset(("python", "ruby", "php"))
_SLASHES: Final = re.compile(r"^[ \t]*//[/!]?[ \t]?(.*)$")
_HASHES: Final = re.compile(r"^[ \t]*#[ \t]?(.*)$")
_DOCSTRING: Final = re.compile(r'(:[ \t]*\n[ \t]*)[rRuU]?("""|\'\'\')(?:.|\n)*?\2')
_MARKUP: Final = re.compile(
    r"<[^>]{0,80}>|\{@\w+ ?([^}]*)\}|:\w+:`([^`]*)`|[`*]+|\[([^\]]*)\]\([^)]*\)"
)
_TAG: Final = re.compile(
    r"\n\s*(?:[@\\:]\w|Args?:|Parameters?\b|Returns?:|Raises:|Examples?\b|>>>|---)"
)
_CODE_LIKE: Final = re.compile(
    r"[;{}=]|\(\)|->|TODO|FIXME|XXX|noqa|pylint|eslint|copyright|https?:", re.IGNORECASE
)
_WORD: Final = re.compile(r"[A-Za-z]{2,}")
_SENTENCE: Final = re.compile(r"(?<=[a-z0-9)`\"'])[.!?](?=\s+[A-Z]|\s*$)|\n\s*\n")
_ENTRY: Final = re.compile(r"^\s{0,6}(?:[-*+•]|\d+\.)\s+(.{15,400}?)\s*$", re.MULTILINE)
_REFERENCE: Final = re.compile(
    r"\(?\[?(?:#\d+|\b[0-9a-f]{7,40}\b)\]?(?:\([^)]*\))?\)?"
    r"|\([^()]*@[^()]*\)|\bby @\S+|https?://\S+"
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMPOUND: Final = re.compile(r"[a-z][A-Z]|_[a-z]|[A-Z][a-z]+[A-Z]")


# How people ask about what a name says.
_WAYS: Final = (
    "{}", "how {} works", "where is {}", "how does it {}", "{} implementation", "how is {} handled",
    "what does {} do", "handling of {}",
)  # fmt: skip


class Pair(NamedTuple):
    """A question and the code that answers it.

    Args:
        kind: where the question comes from: doc, comment, prose or name.
        question: what is asked.
        code: the definition, without what the question was taken from.
        path: of its file.
        name: qualified name of the definition.
    """

    kind: str
    question: str
    code: str
    path: str
    name: str


def package_pairs(package: Package, known: KnownCode) -> list[Pair]:
    """Return what one package teaches, each question once."""
    pairs: list[Pair] = []
    named: dict[str, list[tuple[CodeFile, Definition]]] = {}
    for file in package.files:
        for definition in file.definitions:
            if definition.kind not in _KINDS:
                continue
            named.setdefault(definition.name, []).append((file, definition))
            body = _body(file, definition)
            if not known.has_definition(body):
                pairs += _definition_pairs(file, definition, body)
    for question, name in prose_questions(package.prose, named):
        file, definition = named[name][0]
        body = _body(file, definition)
        if not known.has_definition(body) and _is_fit(body):
            code = without_docstring(body, file.language)
            pairs.append(_pair("prose", question, code, file, definition))
    return list({pair.question.lower(): pair for pair in pairs}.values())


def _definition_pairs(file: CodeFile, definition: Definition, body: str) -> Iterator[Pair]:
    if not _is_fit(body):
        return
    bare = without_docstring(body, file.language)
    if question := doc_question(definition.doc):
        yield _pair("doc", question, bare, file, definition)
    if question := name_question(definition):
        yield _pair("name", question, bare, file, definition)
    if definition.kind in {"function", "method"}:
        for question, rest in comments(bare, file.language):
            yield _pair("comment", question, rest, file, definition)


def _pair(kind: str, question: str, code: str, file: CodeFile, definition: Definition) -> Pair:
    name = definition.qualified_name
    return Pair(kind, question, code[:_SHOWN_CHARACTERS], file.path, name)


def _body(file: CodeFile, definition: Definition) -> str:
    return file.text[definition.start_byte : definition.end_byte].decode("utf-8", "replace")


def _is_fit(body: str) -> bool:
    return _CODE_CHARACTERS[0] <= len(body) <= _CODE_CHARACTERS[1]


def without_docstring(body: str, language: str) -> str:
    """Return a definition without the text that says what it does."""
    return _DOCSTRING.sub(r"\1", body, count=1) if language == "python" else body


def doc_question(doc: str) -> str:
    """Return the first sentences of a doc comment as one line, empty if they say little."""
    text = _TAG.split("\n" + doc, maxsplit=1)[0]
    return _tidy(text)


def name_question(definition: Definition) -> str:
    """Return a question made of the words of a name, empty if it has too few."""
    words = natural_name("_".join(definition.hierarchy[-2:])).split()
    if not _NAME_WORDS[0] <= len(set(words)) <= _NAME_WORDS[1]:
        return ""
    draw = zlib.crc32(definition.qualified_name.encode("utf-8", "surrogatepass"))
    return _WAYS[draw % len(_WAYS)].format(" ".join(dict.fromkeys(words)))


def comments(body: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield each comment on lines of its own and the body without it."""
    pattern = _HASHES if language in _HASH_LANGUAGES else _SLASHES
    lines = body.split("\n")
    number = 1
    while number < len(lines):
        first = number
        found = []
        while number < len(lines) and (match := pattern.match(lines[number])):
            found.append(match[1])
            number += 1
        text = " ".join(found)
        if found and not _CODE_LIKE.search(text) and (question := _tidy(text)):
            yield question, "\n".join(lines[:first] + lines[number:])
        number = max(number, first + 1)


def prose_questions(
    texts: Iterable[str], named: dict[str, list[tuple[CodeFile, Definition]]]
) -> Iterator[tuple[str, str]]:
    """Yield sentences that name one definition, without the name, and the name."""
    for sentence in sentences(texts):
        names = [
            name
            for name in dict.fromkeys(_NAME.findall(sentence))
            if len(named.get(name, ())) == 1 and _COMPOUND.search(name)
        ]
        if len(names) == 1:
            question = _tidy(re.sub(rf"[\w.:#]*\b{names[0]}\b(\(\))?", " ", sentence))
            if question:
                yield question, names[0]


def sentences(texts: Iterable[str]) -> Iterator[str]:
    """Yield entries of change logs and sentences of other prose, without references to tickets."""
    for text in texts:
        entries = _ENTRY.findall(text)
        rest = _ENTRY.sub("\n\n", text)
        for sentence in (*entries, *_SENTENCE.split(rest)):
            plain = _REFERENCE.sub(" ", sentence)
            if "|" not in plain and "```" not in plain and "::" not in plain[:40]:
                yield plain


def _tidy(text: str) -> str:
    """Return a text as one line of prose without markup, empty if it is none."""
    plain = _MARKUP.sub(lambda match: match[1] or match[2] or match[3] or " ", text)
    line = " ".join(plain.split())[:_QUESTION_CHARACTERS]
    words = _WORD.findall(line)
    few, many = _QUESTION_WORDS
    letters = sum(map(len, words))
    if not few <= len(words) <= many or letters < len(line) * 0.6:
        return ""
    return line
