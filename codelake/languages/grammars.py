"""Open grammars and compile symbol queries, each at its first use."""

import functools
import re

import tree_sitter
from tree_sitter_language_pack import get_language

from codelake.languages.registry import Language, load_languages, query_source

LANGUAGES: dict[str, Language] = load_languages()


@functools.cache
def grammar(name: str) -> tree_sitter.Language | None:
    """Return the grammar of language ``name``, None if it has none (plain text)."""
    language = LANGUAGES.get(name)
    if language is None or not language.grammar:
        return None
    return get_language(language.grammar)  # type: ignore[arg-type] # names come from the table


@functools.cache
def symbol_query(name: str) -> tree_sitter.Query | None:
    """Return the compiled symbol query of language ``name``, None if it has none."""
    language = LANGUAGES.get(name)
    tree_language = grammar(name)
    if language is None or tree_language is None:
        return None
    source = query_source(language.query)
    return tree_sitter.Query(tree_language, source) if source else None


@functools.cache
def _mask(name: str) -> re.Pattern[bytes] | None:
    mask = LANGUAGES[name].mask if name in LANGUAGES else ""
    return re.compile(mask.encode(), re.MULTILINE) if mask else None


def parsable(text: bytes, name: str) -> bytes:
    """Return ``text`` as the grammar of language ``name`` can read it, with no offset moved.

    A NUL ends the text for many scanners, and a macro before a name (``class API Shape``) is a
    syntax error to the grammars of C and C++: both are given to the parser as spaces.
    """
    if b"\0" in text:
        text = text.replace(b"\0", b" ")
    mask = _mask(name)
    return text if mask is None else mask.sub(_blank, text)


def _blank(found: re.Match[bytes]) -> bytes:
    whole, group = found[0], found.lastindex or 0
    start, end = found.start(group) - found.start(), found.end(group) - found.start()
    return whole[:start] + b" " * (end - start) + whole[end:]
