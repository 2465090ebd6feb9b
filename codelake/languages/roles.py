"""Say what a node's kind means for cutting: comment, prefix, import, key, ... All data."""

import enum
import functools
import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from codelake.languages.grammars import grammar


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
    """The roles of one language: by node kind id, and by the text of a top-level statement."""

    by_kind: bytes
    import_pattern: re.Pattern[bytes] | None
    setup_pattern: re.Pattern[bytes] | None
    open_depth: int


@functools.cache
def _tables() -> dict[str, dict[str, Any]]:
    path = resources.files(__package__).joinpath("roles.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@functools.cache
def roles_of(language: str) -> Roles:
    """Return the roles of ``language``, which has a grammar."""
    tables = _tables()
    tree_language = grammar(language)
    count = tree_language.node_kind_count if tree_language else 0
    names = [tree_language.node_kind_for_id(i) or "" for i in range(count)] if tree_language else []
    named = [bool(tree_language and tree_language.node_kind_is_named(i)) for i in range(count)]
    return Roles(
        bytes(
            _role(name, language, is_named=flag) for name, flag in zip(names, named, strict=True)
        ),
        _pattern(tables["patterns"].get(language)),
        _pattern(tables["setup_patterns"].get(language)),
        tables["depths"].get(language, 1),
    )


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
    return Role.COMMENT if "comment" in kind else Role.OTHER


def _pattern(source: str | None) -> re.Pattern[bytes] | None:
    return re.compile(rb"\s*(?:%s)(?:\b|(?<=\())" % source.encode()) if source else None
