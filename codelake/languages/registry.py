"""Read the language tables: what differs per language is data."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Final

_TABLES: Final = ("languages.toml", "grammars.toml")


@dataclass(frozen=True, slots=True)
class Language:
    """One entry of languages.toml or grammars.toml; docs/languages.md explains the keys."""

    name: str
    grammar: str
    suffixes: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    line_comments: tuple[str, ...] = ()
    block_comments: tuple[tuple[str, str], ...] = ()
    query: str = ""
    depth: int = 2
    markers: tuple[str, ...] = ()
    nested: str = ""
    closed: tuple[str, ...] = ()
    parameters: str = "name"
    returns: str = ""
    modifiers: tuple[str, ...] = ()
    visibility: str = ""
    private: tuple[str, ...] = ()
    generator: str = ""
    docstring: str = ""
    decorator: str = ""
    separators: str = ""
    drop: tuple[str, ...] = ()
    ignore: str = ""
    constants: bool = False
    merge: bool = False
    widen: bool = False
    doc_before: str = ""
    doc_noise: str = ""
    method_scopes: tuple[str, ...] = ("class", "enum", "interface", "scope", "struct", "trait")
    qualified_methods: bool = False
    mask: str = ""


def load_languages() -> dict[str, Language]:
    """Return every language by name, those with a symbol query first."""
    folder = resources.files(__package__)
    languages: dict[str, Language] = {}
    for table in _TABLES:
        entries = tomllib.loads(folder.joinpath(table).read_text(encoding="utf-8"))
        languages.update({name: _language(name, entry) for name, entry in entries.items()})
    return languages


def _language(name: str, entry: Mapping[str, object]) -> Language:
    values = {key: _freeze(value) for key, value in entry.items()}
    return Language(name=name, **{"grammar": name, "query": name, **values})  # type: ignore[arg-type] # the loader's test checks every key


def _freeze(value: object) -> object:
    if isinstance(value, list):
        return tuple(_freeze(item) for item in value)
    return value


@functools.cache
def query_source(query: str) -> str:
    """Return the text of queries/<query>.scm, empty if there is none."""
    path = resources.files(__package__).joinpath("queries", f"{query}.scm")
    return path.read_text(encoding="utf-8") if path.is_file() else ""
