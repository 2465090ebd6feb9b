"""What differs per language: suffixes, grammars, symbol queries. All of it is data.

``languages.toml`` has the languages with a symbol query, ``grammars.toml`` every other grammar of
tree-sitter-language-pack, ``detection.toml`` the suffixes that several languages share.
"""

from codelake.languages.detection import detect_language, language_by_alias
from codelake.languages.grammars import LANGUAGES, grammar, parsable, symbol_query
from codelake.languages.registry import Language

__all__ = [
    "LANGUAGES",
    "Language",
    "detect_language",
    "grammar",
    "language_by_alias",
    "parsable",
    "symbol_query",
]
