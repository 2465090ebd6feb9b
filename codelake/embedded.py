"""Find code of another language inside a file: scripts in pages, fences in prose, template code.

What stands where is data, languages/injections.toml. The inner code is parsed in place, so every
offset and line is the file's own.
"""

import functools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import tree_sitter

from codelake.languages import grammar, language_by_alias

_LANG: Final = re.compile(rb"""\b(?:lang|type)\s*=\s*["']?([\w+#./-]+)""")
_FENCE_WORD: Final = re.compile(rb"[{.\s]*([\w+#-]+)")
_MIME_PREFIX: Final = ("text/", "application/", "x-")


@dataclass(frozen=True, slots=True)
class Injection:
    """Ranges of one inner program; ``host`` is the id of the node it replaces, 0 if joined."""

    language: str
    ranges: tuple[tree_sitter.Range, ...]
    host: int = 0


@dataclass(frozen=True, slots=True)
class _Rule:
    content: str
    named_by: str
    default: str
    is_joined: bool


@functools.cache
def _rules() -> dict[str, dict[str, _Rule]]:
    path = resources.files("codelake.languages").joinpath("injections.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        host: {kind: _rule(entry) for kind, entry in rules.items()}
        for host, rules in tables.items()
    }


def _rule(entry: dict[str, Any]) -> _Rule:
    return _Rule(
        entry["content"],
        entry.get("named_by", ""),
        entry.get("default", ""),
        bool(entry.get("joined")),
    )


@functools.cache
def _query(language: str) -> tree_sitter.Query:
    tree_language = grammar(language)
    assert tree_language is not None, language  # noqa: S101 - injections.toml names grammars; its test reads all
    return tree_sitter.Query(
        tree_language, " ".join(f"({kind}) @{kind}" for kind in _rules()[language])
    )


def find_injections(
    root: tree_sitter.Node,
    text: bytes,
    language: str,
    inside: tuple[tree_sitter.Range, ...] = (),
) -> list[Injection]:
    """Return the embedded programs below ``root`` in the order of the text.

    Args:
        root: root of the tree of ``text``, or of a part of it.
        text: the whole file.
        language: language of the tree.
        inside: the parts of the text that the tree was made of; empty for the whole.
    """
    if language not in _rules():
        return []
    found: list[Injection] = []
    joined: dict[str, list[tree_sitter.Range]] = {}
    for rule, host, content in _contents(root, language):
        inner = _language_of(rule, host, text)
        # A document in a document shows how documents are written: its headings are none.
        if inner == language or grammar(inner) is None or content.end_byte <= content.start_byte:
            continue
        if rule.is_joined:
            joined.setdefault(inner, []).append(content.range)
        elif ranges := _common(content.range, inside):
            found.append(Injection(inner, ranges, content.id))
    found += [Injection(inner, tuple(ranges)) for inner, ranges in joined.items()]
    return sorted(found, key=lambda injection: injection.ranges[0].start_byte)


def _common(
    whole: tree_sitter.Range, parts: tuple[tree_sitter.Range, ...]
) -> tuple[tree_sitter.Range, ...]:
    """Return what of ``whole`` lies in the parts; all of it if there are none."""
    if not parts:
        return (whole,)
    return tuple(
        tree_sitter.Range(
            max(part.start_point, whole.start_point),
            min(part.end_point, whole.end_point),
            max(part.start_byte, whole.start_byte),
            min(part.end_byte, whole.end_byte),
        )
        for part in parts
        if part.start_byte < whole.end_byte and whole.start_byte < part.end_byte
    )


def _contents(
    root: tree_sitter.Node, language: str
) -> Iterator[tuple[_Rule, tree_sitter.Node, tree_sitter.Node]]:
    captures = tree_sitter.QueryCursor(_query(language)).captures(root)
    hosts = [(node, kind) for kind, nodes in captures.items() for node in nodes]
    for host, kind in sorted(hosts, key=lambda pair: pair[0].start_byte):
        rule = _rules()[language][kind]
        for child in host.children:
            if child.type == rule.content:
                yield rule, host, child


def _language_of(rule: _Rule, host: tree_sitter.Node, text: bytes) -> str:
    for child in host.children if rule.named_by else ():
        if child.type != rule.named_by:
            continue
        words = text[child.start_byte : child.end_byte]
        is_tag = words.startswith(b"<")
        match = _LANG.search(words) if is_tag else _FENCE_WORD.match(words)
        if match is not None:
            return _by_name(match[1].decode("utf-8", "replace"))
    return rule.default


def _by_name(name: str) -> str:
    """Return the language a tag or fence means; an unknown one is no language."""
    name = name.lower()
    if name == "module":  # <script type="module"> is JavaScript
        return "javascript"
    for prefix in _MIME_PREFIX:
        name = name.removeprefix(prefix)
    return language_by_alias(name) or (name if grammar(name) is not None else "")
