"""Find the documentation of a definition: the comment right above it, or its docstring."""

import functools
import re
from typing import Final

from codelake.definitions.rules import Rules

_LICENCE: Final = re.compile(
    r"copyright|licen[cs]e|SPDX-|all rights reserved|@preserve", re.IGNORECASE
)
# Notes to tools, not to readers.
_DIRECTIVE: Final = re.compile(
    r"^(?:!.*|-\*-.*|vim?:.*|eslint\b.*|jshint\b.*|jslint\b.*|istanbul\b.*|@ts-\w+.*|prettier-\w+.*"
    r"|noqa\b.*|type:\s*ignore.*|pylint:.*|pragma:.*|mypy:.*|rubocop:.*|frozen_string_literal:.*"
    r"|go:\w+.*|nolint\b.*|\+build\b.*|NOLINT\w*.*|clang-format.*|region\b.*|endregion\b.*"
    r"|[-=*#~_/+\s]*)$",
    re.MULTILINE,
)
_DOCSTRING: Final = re.compile(
    rb'[rRuU]{0,2}(?:"""(.*?)"""|\'\'\'(.*?)\'\'\'|"([^"\\\n]*)"|\'([^\'\\\n]*)\')', re.DOTALL
)
_STARS: Final = re.compile(r"^[ \t]*\*+(?:[ \t]|$)?", re.MULTILINE)


def find_docstring(text: bytes, body_start: int) -> str:
    """Return the string literal that opens a body, without quotes and indentation."""
    found = _DOCSTRING.match(text, body_start)
    if found is None:
        return ""
    raw = found[found.lastindex or 0]
    return _dedent(raw.decode("utf-8", "replace"))


def find_doc(text: bytes, start: int, rules: Rules) -> str:
    """Return the comment that ends on the line above ``start``, without its marks.

    A blank line separates, a comment behind code belongs to that code, and a licence banner
    documents no definition.
    """
    line_start = text.rfind(b"\n", 0, start) + 1
    before = text[line_start:start].strip()
    if before:
        end = start if before.endswith(tuple(b for _, b in rules.block_comments)) else -1
    else:
        end = line_start - 1
    if end <= 0:
        return ""
    previous = text[text.rfind(b"\n", 0, end) + 1 : end].strip()
    if not previous:
        return ""
    if rules.line_comments and previous.startswith(rules.line_comments):
        return _line_doc(text, end, rules)
    for opening, closing in rules.block_comments:
        if previous.endswith(closing):
            return _block_doc(text, end, opening, closing)
    return ""


def _line_doc(text: bytes, end: int, rules: Rules) -> str:
    lines: list[bytes] = []
    while end > 0:
        start = text.rfind(b"\n", 0, end) + 1
        line = text[start:end].strip()
        if not line.startswith(rules.line_comments):
            break
        lines.append(line)
        end = start - 1
    lines.reverse()
    return _clean_lines(b"\n".join(lines), rules.line_comments, is_first=end <= 0)


@functools.lru_cache(maxsize=256)
def _clean_lines(comment: bytes, marks: tuple[bytes, ...], *, is_first: bool) -> str:
    texts = []
    for line in comment.decode("utf-8", "replace").split("\n"):
        mark = next(mark for mark in marks if line.encode().startswith(mark)).decode()
        texts.append(line[len(mark) :].lstrip(mark[0]).removeprefix(" "))
    return _accept("\n".join(texts), is_first=is_first)


def _block_doc(text: bytes, end: int, opening: bytes, closing: bytes) -> str:
    stop = text.rfind(closing, 0, end)
    start = text.rfind(opening, 0, stop)
    while start >= 0:
        line_start = text.rfind(b"\n", 0, start) + 1
        if not text[line_start:start].strip():
            break
        if stop - start == len(opening) - 1 or b"\n" not in text[start:stop]:
            return ""  # a remark behind code on the line above
        start = text.rfind(opening, 0, start)
    if start < 0:
        return ""
    inner = text[start + len(opening) : stop].decode("utf-8", "replace").replace("\r\n", "\n")
    is_first = not text[:start].strip() if start < 4096 else False  # noqa: PLR2004 # a banner stands at the top
    return _accept(_STARS.sub("", inner.strip("*!\n ")), is_first=is_first)


def _accept(doc: str, *, is_first: bool) -> str:
    if is_first and _LICENCE.search(doc):
        return ""
    return _dedent(_DIRECTIVE.sub("", doc))


def _dedent(doc: str) -> str:
    doc = doc.replace("\r\n", "\n").expandtabs()
    if "\n" not in doc:
        return doc.strip()
    first, *rest = doc.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest)]).strip()
