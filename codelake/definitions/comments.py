"""Find the documentation of a definition: the comment right above it, or its docstring."""

import functools
import re
from typing import Final

from codelake.definitions.rules import Rules

_LICENCE: Final = re.compile(
    r"copyright|licen[cs]e|SPDX-|all rights reserved|@preserve", re.IGNORECASE
)
# White space without the line end, for a character class, where it cannot be written `[^\S\n]`.
_BLANKS: Final = r"\t\v\f\r \x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# Notes to tools, not to readers: one line of a comment. The characters they start with come first,
# so that the other lines cost nothing.
_DIRECTIVE: Final = re.compile(
    r"\n(?=[-!vejipnNmcr@tfg+=*#~_/;%])(?:!.*|.*-\*-.*-\*-[^\S\n]*|vim?:.*"
    r"|(?:eslint|jshint|jslint|istanbul|prettier|rubocop|pylint|noqa|nolint|NOLINT"
    r"|mypy|pragma|clang-format|region|endregion)\b.*|@ts-\w+.*|type:[^\S\n]*ignore.*"
    r"|frozen_string_literal:.*|go:\w.*|\+build\b.*|[-=*#~_/+;%" + _BLANKS + r"]*)(?=\n|\Z)"
)
# These begin with a character that is quick to find; what ends a line is stripped last.
_STARS: Final = re.compile(r"\n[^\S\n]*\** ?")
_STARRED: Final = re.compile(r"[^\n]*\n[^\S\n]*\*")
_FLUSH: Final = re.compile(r"\n\S")
_DOCSTRING_START: Final = re.compile(rb"[rRuU]{0,2}(\"\"\"|'''|[\"'])")
_STRING_START: Final = re.compile(r"^(?:[a-zA-Z]{0,2}|~[sS])[\"'`]+")
_NEWLINE: Final = ord("\n")
# How far is looked back, so that a file on one line costs no square of its length.
_LINE_BYTES: Final = 4096
_COMMENT_BYTES: Final = 65_536
_INNER_OPENINGS: Final = 16
_BANNER_BYTES: Final = 4096  # a licence banner stands at the top


def find_docstring(text: bytes, body_start: int) -> str:
    """Return the string literal that opens a body, without quotes and indentation."""
    found = _DOCSTRING_START.match(text, body_start)
    if found is None:
        return ""
    quotes, start = found[1], found.end()
    end = text.find(quotes, start)
    literal = text[start : max(end, start)]
    if len(quotes) == 1 and (b"\n" in literal or b"\\" in literal):
        return ""
    return _dedent(literal.decode("utf-8", "replace").split("\n"))


def clean_string(literal: str) -> str:
    """Return the text of a string literal without its quotes and indentation."""
    text = _STRING_START.sub("", literal.strip())
    return _dedent(text.rstrip("\"'`").split("\n"))


def find_doc(text: bytes, start: int, rules: Rules) -> str:
    """Return the comment that ends on the line above ``start``, without its marks.

    A blank line separates, a comment behind code belongs to that code, and a licence banner
    documents no definition.
    """
    low = start - _LINE_BYTES if start > _LINE_BYTES else 0
    end = text.rfind(b"\n", low, start)
    before = text[end + 1 if end >= 0 else low : start]
    if before and not before.isspace():
        if not before.rstrip().endswith(rules.comment_ends):
            return ""
        end = start
    if end <= 0 or text[end - 1] == _NEWLINE:
        return ""
    low = end - _LINE_BYTES if end > _LINE_BYTES else 0
    previous = text[text.rfind(b"\n", low, end) + 1 or low : end].strip()
    if not previous:
        return ""
    if previous.startswith(rules.line_comments):
        doc = _line_doc(text, end, rules.line_comments)
    elif previous.endswith(rules.comment_ends):
        doc = _block_doc(text, end, rules)
    else:
        return ""
    return doc if rules.doc_noise is None else rules.doc_noise.sub("", doc).strip()


def comments_start(text: bytes, end: int, rules: Rules) -> int:
    """Return where the lines of comments begin that end at ``end``; ``end`` if none do."""
    while end > 0 and rules.line_comments:
        start = text.rfind(b"\n", 0, end) + 1
        if not text[start:end].lstrip().startswith(rules.line_comments):
            break
        end = max(start - 1, 0)
    return end


def _line_doc(text: bytes, end: int, marks: tuple[bytes, ...]) -> str:
    stop = end
    least = max(end - _COMMENT_BYTES, 0)
    while end > least:
        start = text.rfind(b"\n", 0, end) + 1
        if not text[start:end].lstrip().startswith(marks):
            break
        end = start - 1
    # A line end in front: where a comment opens with text, the lines below set the margin.
    lines = "\n" + text[end + 1 : stop].decode("utf-8", "replace")
    return _tidy(_marks(marks).sub("\n", lines), is_first=end <= 0)


@functools.cache
def _marks(marks: tuple[bytes, ...]) -> re.Pattern[str]:
    """Return what matches the marks that lines open with; the rest of a ruler is part of one."""
    words = "|".join(f"{re.escape(m.decode())}{re.escape(chr(m[0]))}*" for m in marks)
    return re.compile(rf"\n[^\S\n]*(?:{words}) ?")


def _block_doc(text: bytes, end: int, rules: Rules) -> str:
    start = stop = -1
    for opening, closing in rules.block_comments:
        stop = text.rfind(closing, max(end - _LINE_BYTES, 0), end)
        if stop >= 0 and not text[stop + len(closing) : end].strip():
            start = _block_start(text, stop, opening)
            break
    if start < 0:
        return ""
    raw = text[start + len(opening) : stop].strip(b"*!").decode("utf-8", "replace")
    if _STARRED.match(raw):
        raw = _STARS.sub("\n", f"\n{raw}")
    return _tidy(raw, is_first=start < _BANNER_BYTES and not text[:start].strip())


def _block_start(text: bytes, stop: int, opening: bytes) -> int:
    """Return where the comment that closes at ``stop`` opens, -1 if code stands before it."""
    low = max(stop - _COMMENT_BYTES, 0)
    start = text.rfind(opening, low, stop)
    for _ in range(_INNER_OPENINGS):
        if start < 0:
            break
        before = text[max(text.rfind(b"\n", low, start) + 1, low) : start].strip()
        if not before:
            return start
        if opening not in before and text.find(b"\n", start, stop) < 0:
            break  # a remark behind code on the line above
        start = text.rfind(opening, low, start)
    return -1


def _tidy(text: str, *, is_first: bool) -> str:
    if is_first and _LICENCE.search(text):
        return ""
    kept = _DIRECTIVE.sub("", f"\n{text}")[1:]
    if _FLUSH.search(kept):  # nothing to take off the left
        return "\n".join(map(str.rstrip, kept.split("\n"))).strip()
    return _dedent(kept.split("\n"))


def _dedent(lines: list[str]) -> str:
    if len(lines) == 1:
        return lines[0].strip()
    margin = -1
    for line in lines[1:]:
        text = line.lstrip()
        if text and (margin < 0 or len(line) - len(text) < margin):
            margin = len(line) - len(text)
            if margin == 0:
                break
    rest = [line[max(margin, 0) :].rstrip() for line in lines[1:]]
    return "\n".join([lines[0].strip(), *rest] if lines else rest).strip()
