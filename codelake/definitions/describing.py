"""Turn the spans of definitions into records: names, documentation, signature."""

from typing import Final

import tree_sitter

from codelake.definitions.comments import find_doc, find_docstring
from codelake.definitions.finding import Found, Span, find_spans
from codelake.definitions.names import name_parts, receiver_type
from codelake.definitions.parameters import parse_parameters
from codelake.definitions.record import Definition
from codelake.definitions.rules import Rules, rules_for
from codelake.definitions.signatures import fold_signature, read_prefix, read_returns

_LEVELS: Final = 64  # deeper nesting is no program; keeps names short on hostile input
_DECLARED: Final = frozenset({"function", "method", "macro"})
_BLANK: Final = b" \t\r\n"


def find_definitions(root: tree_sitter.Node, text: bytes, language: str) -> list[Definition]:
    """Return the definitions below ``root`` in order of their start.

    Args:
        root: root of the tree of ``text``.
        text: the file as UTF-8; offsets of the result count in it.
        language: a name of ``codelake.languages.LANGUAGES``.
    """
    rules = rules_for(language)
    if rules is None:
        return []
    found = find_spans(root, text, rules)
    definitions = []
    stack: list[tuple[int, int, str, tuple[str, ...]]] = []
    for span in found.spans:
        start, end = span.start, -span.negative_end
        while stack and not (stack[-1][0] < start and end <= stack[-1][1]):
            stack.pop()
        outer_kind, outer = (stack[-1][2], stack[-1][3]) if stack else ("", ())
        named = _name(span, outer_kind, text, rules) if len(stack) < _LEVELS else None
        if named is None:
            continue
        kind, parts, receiver = named
        hierarchy = (*outer, receiver, *parts) if receiver else outer + parts
        stack.append((start, end, kind, hierarchy))
        if kind != "scope":
            definitions.append(_definition(found, span, kind, hierarchy, receiver, text, rules))
    return definitions


def _name(
    span: Span, outer_kind: str, text: bytes, rules: Rules
) -> tuple[str, tuple[str, ...], str] | None:
    """Return kind, name parts and receiver; None if this is no definition worth a record."""
    language = rules.language
    raw = text[span.name_start : span.name_end].decode("utf-8", "replace")
    parts = (raw,) if raw.isidentifier() else name_parts(raw, language.name)
    kind = rules.kinds[span.pattern]
    if not parts or len(raw) > rules.name_characters:
        return None
    if rules.ignore is not None and rules.ignore.match(text, span.name_end):
        return None
    if kind == "function":
        if outer_kind in rules.method_scopes or (len(parts) > 1 and language.qualified_methods):
            kind = "method"
    elif kind == "variable" and language.constants:
        if not raw.isupper():
            return None
        kind = "constant"
    return kind, parts, receiver_type(span.receiver) if span.receiver else ""


def _definition(
    found: Found,
    span: Span,
    kind: str,
    hierarchy: tuple[str, ...],
    receiver: str,
    text: bytes,
    rules: Rules,
) -> Definition:
    language = rules.language
    own_start = span.start
    start, end = _whole(found, own_start, -span.negative_end, text)
    prefix = read_prefix(text[start : span.name_start].decode("utf-8", "replace"), language.name)
    stop = span.body_start
    if stop < span.name_end:
        stop = end
        if kind not in _DECLARED:
            stop = text.find(b"\n", span.name_end, end)
            stop = end if stop < 0 else stop
    name = hierarchy[-1]
    modifiers = prefix.modifiers
    parameters, returns = "[]", ""
    if span.parameters_start >= 0:
        raw = text[span.parameters_start : span.parameters_end].decode("utf-8", "replace")
        parameters = parse_parameters(raw, language.parameters)
        if language.returns == "after":
            returns = read_returns(text[span.parameters_end : stop].decode("utf-8", "replace"))
        if language.generator == "yield" and text.find(b"yield", stop, end) >= 0:
            modifiers = (*modifiers, "generator")
    if language.returns == "before" and kind in _DECLARED:
        returns = prefix.type
    doc = ""
    if language.docstring == "inside" and span.body_start >= 0:
        doc = find_docstring(text, span.body_start)
    signature_start = own_start
    return Definition(
        kind,
        name,
        hierarchy,
        start,
        end,
        span.name_start if len(hierarchy) == 1 else _name_byte(text, name, span),
        doc or find_doc(text, start, rules),
        fold_signature(text[signature_start:stop].decode("utf-8", "replace")),
        prefix.decorators,
        parameters,
        returns,
        _visibility(name, modifiers, language.visibility) if language.visibility else modifiers,
        receiver,
        language.name,
    )


def _whole(found: Found, start: int, end: int, text: bytes) -> tuple[int, int]:
    """Return the span with wrappers and the attributes that stand before it."""
    wrapper = found.wrappers.get(start)
    while wrapper is not None:
        start, end = wrapper[0], max(end, wrapper[1])
        wrapper = found.wrappers.get(start)
        if wrapper is not None and wrapper[0] == start:
            break
    if found.decorators:
        start = _before_decorators(found, start, text)
    return start, end


def _before_decorators(found: Found, start: int, text: bytes) -> int:
    # TODO comments between
    while True:
        stop = start
        while stop > 0 and text[stop - 1] in _BLANK:
            stop -= 1
        before = found.decorators.get(stop)
        if before is None:
            return start
        start = before


def _name_byte(text: bytes, name: str, span: Span) -> int:
    found = text.rfind(name.encode(), span.name_start, span.name_end)
    return found if found >= 0 else span.name_start


def _visibility(name: str, modifiers: tuple[str, ...], rule: str) -> tuple[str, ...]:
    if rule == "capital":
        return (*modifiers, "exported") if name[:1].isupper() else modifiers
    if name.startswith("_") and not name.endswith("__"):
        return (*modifiers, "private")
    return modifiers
