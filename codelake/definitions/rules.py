"""The symbol query of a language, compiled, with what its patterns and settings mean."""

import functools
import re
from dataclasses import dataclass
from typing import Final

import tree_sitter

from codelake.definitions.record import CONTAINER_KINDS
from codelake.languages import LANGUAGES, Language, symbol_query
from codelake.languages.registry import query_source

# Levels below a body that definitions are looked for in: what begins on more than twice as many
# takes Tree-sitter's queries 20 seconds a megabyte, and code has some hundred.
_DEEPEST: Final = 40_000
_ROLE: Final = re.compile(
    r"@((?:definition|rest)\.(\w+)|scope|space|region|block|nested|wrapper|decorator|doc|visibility)\b"
)


@dataclass(frozen=True, slots=True)
class Rules:
    """How definitions of one language are found and described."""

    language: Language
    kinds: tuple[str, ...]
    roles: tuple[str, ...]
    shallow: tree_sitter.QueryCursor
    deep: tree_sitter.QueryCursor
    searched: frozenset[str]
    markers: tuple[bytes, ...]
    nested: re.Pattern[bytes]
    separators: re.Pattern[str] | None
    drop: frozenset[str]
    decorator: re.Pattern[str] | None
    modifiers: frozenset[str]
    ignore: re.Pattern[bytes] | None
    doc_noise: re.Pattern[str] | None
    doc_before: re.Pattern[bytes] | None
    rest_kinds: frozenset[int]
    method_scopes: frozenset[str]
    line_comments: tuple[bytes, ...]
    comment_ends: tuple[bytes, ...]
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
    deep = tree_sitter.QueryCursor(query)
    deep.set_max_start_depth(_DEEPEST)
    roles = [_role(query, index, language) for index in range(query.pattern_count)]
    return Rules(
        language=language,
        kinds=tuple(kind for kind, _ in roles),
        roles=tuple(role for _, role in roles),
        shallow=shallow,
        deep=deep,
        searched=(CONTAINER_KINDS | {"scope", "space"}) - set(language.closed),
        markers=tuple(marker.encode() for marker in language.markers),
        nested=re.compile(language.nested.encode()),
        separators=re.compile(language.separators) if language.separators else None,
        drop=frozenset(language.drop),
        decorator=re.compile(language.decorator) if language.decorator else None,
        modifiers=frozenset(language.modifiers),
        ignore=_bytes_pattern(language.ignore),
        doc_noise=re.compile(language.doc_noise) if language.doc_noise else None,
        doc_before=_bytes_pattern(language.doc_before),
        rest_kinds=frozenset(
            index for index, (_, role) in enumerate(roles) if role.startswith("rest.")
        ),
        method_scopes=frozenset(language.method_scopes),
        line_comments=tuple(mark.encode() for mark in language.line_comments),
        comment_ends=tuple(end.encode() for _, end in language.block_comments),
        block_comments=tuple((a.encode(), b.encode()) for a, b in language.block_comments),
    )


def _bytes_pattern(pattern: str) -> re.Pattern[bytes] | None:
    return re.compile(pattern.encode(), re.MULTILINE | re.DOTALL) if pattern else None


def _precedence(found: re.Match[str]) -> int:
    return 1 if found[2] or found[1] in {"scope", "space"} else 0


def _role(query: tree_sitter.Query, index: int, language: Language) -> tuple[str, str]:
    source = query_source(language.query).encode()
    source = source[query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)]
    # A definition may hold a node that documents it: what it is comes first.
    found = max(_ROLE.finditer(source.decode()), key=_precedence, default=None)
    if found is None:
        message = f"pattern {index} of queries/{language.query}.scm captures no known role"
        raise ValueError(message)
    return found[2] or found[1], found[1]
