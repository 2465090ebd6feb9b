"""Parse one text: bytes in, syntax tree and definitions out.

Time is bounded by whoever calls: a grammar may never return, so files of unknown origin are parsed
in the worker processes of :mod:`resources.parser_pool`.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import tree_sitter

from codelake.definitions import Definition, find_definitions
from codelake.embedded import Injection, find_injections
from codelake.languages import grammar, language_by_alias
from codelake.notebooks import Cell, find_cells, notebook_language

NOTEBOOK: Final = "jupyter"
_MOST_EMBEDDED: Final = 3  # programs inside each other: a page in a template has scripts
_MOST_ERRORS: Final = 4096  # errors that are looked at one by one; more say nothing new


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of a file in another language; ``label`` names it, as ``cell 3``, or is empty."""

    start: int
    end: int
    language: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """A syntax tree and the trees that stand inside its leaves, by the leaf's node id."""

    root: tree_sitter.Node
    language: str
    embedded: dict[int, "Tree"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the parser knows about a text; offsets count its UTF-8 bytes.

    ``status`` is ``ok``, ``partial`` (syntax errors) or ``lines`` (no tree), ``reason`` says why
    it is not ok. ``errors`` are the spans of syntax errors; what is missing has an empty one.
    """

    tree: Tree | None
    definitions: list[Definition]
    status: str
    reason: str = ""
    first_error_line: int = 0
    errors: tuple[tuple[int, int], ...] = ()
    regions: tuple[Region, ...] = ()


def parse_text(text: bytes, language: str) -> Parsed:
    """Parse ``text`` (UTF-8)."""
    return examine(parse_tree(text, language), text, language)


def parse_tree(text: bytes, language: str) -> tree_sitter.Node | None:
    """Return the root of the tree of ``text``, None if ``language`` has no grammar."""
    parser = _parser(language)
    # A NUL is the end of the text to many scanners: a blank of the same length is none.
    return None if parser is None else parser.parse(text.replace(b"\0", b" ")).root_node


def examine(root: tree_sitter.Node | None, text: bytes, language: str) -> Parsed:
    """Find the definitions, errors and embedded code of a text whose tree is ``root``."""
    if root is None:
        return lines_only("no-grammar" if language else "plain-text")
    source = text.replace(b"\0", b" ")
    found = _Found(text, source, find_definitions(root, text, language), [])
    own = len(found.definitions)
    tree = Tree(root, language, _embed(found, root, language, ()))
    definitions, regions = found.definitions, found.regions
    if language == NOTEBOOK:
        in_cells, regions = _parse_cells(root, source)
        definitions += in_cells
    if len(definitions) > own:
        definitions.sort(key=lambda definition: definition.start_byte)
    errors = find_errors(root) if root.has_error else []
    return Parsed(
        tree,
        definitions,
        "partial" if errors else "ok",
        "syntax-error" if errors else "",
        errors[0].start_point.row + 1 if errors else 0,
        tuple((node.start_byte, node.end_byte) for node in errors),
        tuple(regions),
    )


class _Found(NamedTuple):
    """What gathers while embedded programs are looked through."""

    text: bytes
    source: bytes
    definitions: list[Definition]
    regions: list[Region]


def _embed(
    found: _Found,
    root: tree_sitter.Node,
    language: str,
    inside: tuple[tree_sitter.Range, ...],
    depth: int = 0,
) -> dict[int, Tree]:
    """Parse what is embedded below ``root``, and in that; return the trees by their host."""
    trees: dict[int, Tree] = {}
    for injection in find_injections(root, found.source, language, inside):
        inner = _parse_injection(injection, found.source)
        found.definitions.extend(find_definitions(inner, found.text, injection.language))
        ranges = injection.ranges
        if injection.host and len(ranges) == 1:
            found.regions.append(
                Region(ranges[0].start_byte, ranges[0].end_byte, injection.language)
            )
        nested: dict[int, Tree] = {}
        if depth < _MOST_EMBEDDED:
            nested = _embed(found, inner, injection.language, ranges, depth + 1)
        if injection.host:
            trees[injection.host] = Tree(inner, injection.language, nested)
    return trees


def lines_only(reason: str) -> Parsed:
    """Return what is known without a tree: the text is cut at its lines."""
    return Parsed(None, [], "lines", reason)


def find_errors(root: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return the first error nodes and missing tokens below ``root`` in the order of the text."""
    found: list[tree_sitter.Node] = []
    todo = [root]
    while todo and len(found) < _MOST_ERRORS:
        node = todo.pop()
        if node.is_error or node.is_missing:
            found.append(node)
        else:
            todo += [child for child in reversed(node.children) if child.has_error]
    return found


@functools.cache
def _parser(language: str) -> tree_sitter.Parser | None:
    tree_language = grammar(language)
    return None if tree_language is None else tree_sitter.Parser(tree_language)


def _parse_injection(injection: Injection, source: bytes) -> tree_sitter.Node:
    tree_language = grammar(injection.language)
    assert tree_language is not None  # noqa: S101 - find_injections returns known languages only
    parser = tree_sitter.Parser(tree_language, included_ranges=list(injection.ranges))
    return parser.parse(source).root_node


def _parse_cells(root: tree_sitter.Node, source: bytes) -> tuple[list[Definition], list[Region]]:
    name = notebook_language(root, source)
    language = language_by_alias(name) or name
    definitions: list[Definition] = []
    regions: list[Region] = []
    for cell in find_cells(root, source):
        is_code = cell.kind == "code" and _parser(language) is not None
        label = f"cell {cell.number}"
        inner = language if is_code else "markdown"
        regions.append(Region(cell.start_byte, cell.end_byte, inner, label))
        definitions += _definitions_in(cell, language) if is_code else []
    return definitions, regions


def _definitions_in(cell: Cell, language: str) -> list[Definition]:
    parser = _parser(language)
    if parser is None:
        return []
    root = parser.parse(cell.program).root_node
    found = find_definitions(root, cell.program, language)
    return [_moved(definition, cell.to_file) for definition in found]


def _moved(definition: Definition, to_file: Callable[[int], int]) -> Definition:
    return definition._replace(
        start_byte=to_file(definition.start_byte),
        end_byte=to_file(definition.end_byte - 1) + 1,
        name_byte=to_file(definition.name_byte),
    )
