"""Open grammars and compile symbol queries, each at its first use."""

import functools

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
