"""The symbol query of a language, compiled, with what its patterns and settings mean."""

import functools
import re
from dataclasses import dataclass
from typing import Final

import tree_sitter

from codelake.languages import LANGUAGES, Language, symbol_query

_NAME_CHARACTERS: Final = 512  # a longer "name" is a parse gone wrong
_ROLE: Final = re.compile(r"@(definition\.(\w+)|scope|region|block|wrapper|decorator)")


@dataclass(frozen=True, slots=True)
class Rules:
    """How definitions of one language are found and described."""

    language: Language
    kinds: tuple[str, ...]
    captures: tuple[str, ...]
    shallow: tree_sitter.QueryCursor
    deep: tree_sitter.QueryCursor
    markers: re.Pattern[bytes] | None
    separators: re.Pattern[str] | None
    drop: frozenset[str]
    decorator: re.Pattern[str] | None
    modifiers: frozenset[str]
    ignore: re.Pattern[bytes] | None
    method_scopes: frozenset[str]
    name_characters: int
    line_comments: tuple[bytes, ...]
    block_comments: tuple[tuple[bytes, bytes], ...]


@functools.cache
def rules_for(name: str) -> Rules | None:
    """Return the rules of language ``name``, None if it has no symbol query."""
    query = symbol_query(name)
    if query is None:
        return None
    language = LANGUAGES[name]
    shallow = tree_sitter.QueryCursor(query)
    shallow.set_max_start_depth(language.depth)
    roles = [_role(query, index, language) for index in range(query.pattern_count)]
    return Rules(
        language=language,
        kinds=tuple(kind for kind, _ in roles),
        captures=tuple(capture for _, capture in roles),
        shallow=shallow,
        deep=tree_sitter.QueryCursor(query),
        markers=_bytes_pattern(language.markers),
        separators=re.compile(language.separators) if language.separators else None,
        drop=frozenset(language.drop),
        decorator=re.compile(language.decorator) if language.decorator else None,
        modifiers=frozenset(language.modifiers),
        ignore=_bytes_pattern(language.ignore),
        method_scopes=frozenset(language.method_scopes),
        name_characters=_NAME_CHARACTERS,
        line_comments=tuple(mark.encode() for mark in language.line_comments),
        block_comments=tuple((a.encode(), b.encode()) for a, b in language.block_comments),
    )


def _bytes_pattern(pattern: str) -> re.Pattern[bytes] | None:
    return re.compile(pattern.encode(), re.MULTILINE) if pattern else None


def _role(query: tree_sitter.Query, index: int, language: Language) -> tuple[str, str]:
    source = query_text(language)[
        query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)
    ]
    found = _ROLE.search(source.decode())
    if found is None:
        message = f"pattern {index} of queries/{language.query}.scm captures no known role"
        raise ValueError(message)
    return found[2] or found[1], found[1]


def query_text(language: Language) -> bytes:
    """Return the query's source; patterns are looked up in it by byte."""
    from codelake.languages.registry import query_source

    return query_source(language.query).encode()
