"""Parse one text: bytes in, syntax outline and definitions out.

Time is bounded by whoever calls: a grammar may never return, so files of unknown origin are parsed
in the worker processes of :mod:`resources.parser_pool`.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import tree_sitter

from codelake.definitions import Definition, find_definitions
from codelake.embedded import Injection, find_injections
from codelake.languages import grammar, language_by_alias
from codelake.notebooks import find_cells, notebook_language
from codelake.outline import Embedded, Outline, OutlineBuilder, Region, flat_outline

NOTEBOOK: Final = "jupyter"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the parser knows about a text; offsets count its UTF-8 bytes.

    ``status`` is ``ok``, ``partial`` (syntax errors) or ``lines`` (no tree), ``reason`` says why
    it is not ok.
    """

    outline: Outline
    definitions: list[Definition]
    status: str
    reason: str = ""
    first_error_line: int = 0


def parse_text(text: bytes, language: str, granularity: int) -> Parsed:
    """Parse ``text`` (UTF-8) and outline the nodes over ``granularity`` nws characters."""
    parser = _parser(language)
    if parser is None:
        return lines_only(text, "no-grammar" if language else "plain-text")
    # A NUL is the end of the text to many scanners: a blank of the same length is none.
    source = text.replace(b"\0", b" ")
    root = parser.parse(source).root_node
    definitions = find_definitions(root, text, language)
    injections = find_injections(root, source, language)
    trees = [(injection, _parse_injection(injection, source)) for injection in injections]
    for injection, tree in trees:
        definitions += find_definitions(tree.root_node, text, injection.language)
    regions: list[Region] = [
        (i.ranges[0].start_byte, i.ranges[0].end_byte, i.language, "") for i in injections if i.host
    ]
    if language == NOTEBOOK:
        inner, regions = _parse_cells(root, source)
        definitions += inner
    if trees or language == NOTEBOOK:
        definitions.sort(key=lambda definition: definition.start_byte)
    embedded = {i.host: Embedded(tree.root_node, i.language) for i, tree in trees if i.host}
    builder = OutlineBuilder(source, granularity)
    builder.add_tree(root, language, embedded)
    outline = builder.build(regions)
    if not root.has_error:
        return Parsed(outline, definitions, "ok")
    return Parsed(outline, definitions, "partial", "syntax-error", first_error_line(root))


def lines_only(text: bytes, reason: str) -> Parsed:
    """Return what is known without a tree: the text is cut at its lines."""
    return Parsed(flat_outline(len(text)), [], "lines", reason)


def first_error_line(root: tree_sitter.Node) -> int:
    """Return the line of the first error below ``root``, 0 if there is none."""
    node = root
    while node.has_error and not (node.is_error or node.is_missing):
        worse = next((child for child in node.children if child.has_error), None)
        if worse is None:
            break
        node = worse
    return node.start_point.row + 1 if node.has_error else 0


@functools.cache
def _parser(language: str) -> tree_sitter.Parser | None:
    tree_language = grammar(language)
    return None if tree_language is None else tree_sitter.Parser(tree_language)


def _parse_injection(injection: Injection, source: bytes) -> tree_sitter.Tree:
    tree_language = grammar(injection.language)
    assert tree_language is not None  # noqa: S101 - find_injections returns known languages only
    parser = tree_sitter.Parser(tree_language, included_ranges=list(injection.ranges))
    return parser.parse(source)


def _parse_cells(root: tree_sitter.Node, source: bytes) -> tuple[list[Definition], list[Region]]:
    name = notebook_language(root, source)
    language = language_by_alias(name) or name
    parser = _parser(language)
    definitions: list[Definition] = []
    regions: list[Region] = []
    for cell in find_cells(root, source):
        is_code = cell.kind == "code" and parser is not None
        regions.append(
            (
                cell.start_byte,
                cell.end_byte,
                language if is_code else "markdown",
                f"cell {cell.number}",
            )
        )
        if parser is None or not is_code:
            continue
        inner = parser.parse(cell.program).root_node
        definitions += [
            _moved(found, cell.to_file) for found in find_definitions(inner, cell.program, language)
        ]
    return definitions, regions


def _moved(definition: Definition, to_file: Callable[[int], int]) -> Definition:
    return definition._replace(
        start_byte=to_file(definition.start_byte),
        end_byte=to_file(definition.end_byte - 1) + 1,
        name_byte=to_file(definition.name_byte),
    )
