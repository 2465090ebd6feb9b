"""Say what a node's kind means for cutting: comment, prefix, import, key, ... All data."""

import enum
import functools
import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from codelake.languages.grammars import grammar

_STATEMENT_BYTES: Final = 400  # an import is not longer; keeps the patterns from reading much


class Role(enum.IntEnum):
    """What a node is to a chunker."""

    OTHER = 0
    COMMENT = 1
    PREFIX = 2
    SUFFIX = 3
    IMPORT = 4
    PACKAGE = 5
    SETUP = 6
    KEY = 7


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of one language: by node kind id (if any), and by a top-level statement's text."""

    by_kind: dict[int, int]
    patterns: tuple[tuple[re.Pattern[bytes], Role], ...]

    def by_text(self, text: bytes, start: int, end: int) -> int:
        """Return the role of a statement by its first words: an import that is a call."""
        if end - start < _STATEMENT_BYTES:
            for pattern, role in self.patterns:
                if pattern.match(text, start, end):
                    return role
        return Role.OTHER


@functools.cache
def _tables() -> dict[str, dict[str, Any]]:
    path = resources.files(__package__).joinpath("roles.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@functools.cache
def roles_of(language: str) -> Roles:
    """Return the roles of ``language``, which has a grammar."""
    sources = (("patterns", Role.IMPORT), ("setup_patterns", Role.SETUP))
    patterns = [(_tables()[table].get(language), role) for table, role in sources]
    compiled = [(re.compile(source.encode()), role) for source, role in patterns if source]
    return Roles(_roles_by_kind(language), tuple(compiled))


def key_depth(language: str) -> int:
    """Return how deep the keys of a data language are looked for, 0 for none."""
    depth: int = _tables()["depths"].get(language, 0)
    return depth


def _roles_by_kind(language: str) -> dict[int, int]:
    tree_language = grammar(language)
    found = {}
    for kind in range(tree_language.node_kind_count if tree_language else 0):
        name = tree_language.node_kind_for_id(kind) if tree_language else None
        is_named = bool(tree_language and tree_language.node_kind_is_named(kind))
        role = _role(name or "", language, is_named=is_named)
        if role:
            found[kind] = int(role)
    return found


def module_kind(language: str) -> str:
    """Return the kind of a chunk of ``language`` that is no definition and in none."""
    kind: str = _tables()["modules"].get(language, "module" if language else "text")
    return kind


def _role(kind: str, language: str, *, is_named: bool) -> Role:
    tables = _tables()
    every = tables["every"]
    if not is_named:
        return Role.SUFFIX if kind in every["suffix"] else Role.OTHER
    if kind in tables["keys"].get(language, ()):
        return Role.KEY
    if kind in tables["setup"].get(language, ()):
        return Role.SETUP
    for role in (Role.PREFIX, Role.IMPORT, Role.PACKAGE):
        if kind in every[{"IMPORT": "imports"}.get(role.name, role.name.lower())]:
            return role
    if kind in every["closers"]:
        return Role.SUFFIX
    return Role.COMMENT if "comment" in kind else Role.OTHER
