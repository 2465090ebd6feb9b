"""Turn the spans of definitions into records: names, documentation, signature."""

from typing import Final

import tree_sitter

from codelake.definitions.comments import find_doc, find_docstring
from codelake.definitions.finding import Search, Span
from codelake.definitions.names import name_parts, receiver_type
from codelake.definitions.parameters import parse_parameters
from codelake.definitions.record import Definition
from codelake.definitions.rules import Rules, rules_for
from codelake.definitions.signatures import fold_signature, read_prefix, read_returns

_LEVELS: Final = 64  # deeper nesting is no program; keeps names short on hostile input
_NAME_BYTES: Final = 512  # a longer "name" is a parse gone wrong
_PREFIX_BYTES: Final = 4096  # more than this in front of a name is no declaration either
_DECLARED: Final = frozenset({"function", "method", "macro"})


def find_definitions(root: tree_sitter.Node, text: bytes, language: str) -> list[Definition]:
    """Return the definitions below ``root`` in order of their start.

    Args:
        root: root of the tree of ``text``.
        text: the file as UTF-8; offsets of the result count in it.
        language: a name of ``codelake.languages.LANGUAGES``.
    """
    rules = rules_for(language)
    return [] if rules is None else _Description(text, rules).describe(root)


class _Description:
    """The definitions of one text, outer before inner."""

    __slots__ = ("_rules", "_search", "_text")

    def __init__(self, text: bytes, rules: Rules) -> None:
        self._text = text
        self._rules = rules
        self._search = Search(text, rules)

    def describe(self, root: tree_sitter.Node) -> list[Definition]:
        definitions = []
        around: list[tuple[int, int, str, tuple[str, ...]]] = []
        for span in self._search.run(root):
            start, end = span.start, -span.negative_end
            while around and not (around[-1][0] < start and end <= around[-1][1]):
                around.pop()
            outer_kind, outer = (around[-1][2], around[-1][3]) if around else ("", ())
            kind, parts = self._name(span, outer_kind)
            if not parts or len(around) >= _LEVELS:
                continue
            receiver = receiver_type(span.receiver) if span.receiver else ""
            hierarchy = (*outer, receiver, *parts) if receiver else outer + parts
            around.append((start, end, kind, hierarchy))
            if kind != "scope":
                definitions.append(self._define(span, kind, hierarchy, receiver))
        return definitions

    def _name(self, span: Span, outer_kind: str) -> tuple[str, tuple[str, ...]]:
        """Return kind and name parts; no part if this is no definition worth a record."""
        rules = self._rules
        if span.name_end - span.name_start > _NAME_BYTES:
            return "", ()
        raw = self._text[span.name_start : span.name_end].decode("utf-8", "replace")
        kind = rules.kinds[span.pattern]
        parts = (raw,) if raw.isidentifier() else name_parts(raw, rules.language.name)
        if rules.ignore is not None and rules.ignore.match(self._text, span.name_end):
            return kind, ()
        if kind == "function":
            is_qualified = len(parts) > 1 and rules.language.qualified_methods
            return "method" if is_qualified or outer_kind in rules.method_scopes else kind, parts
        if kind == "variable" and rules.language.constants:
            return "constant", parts if raw.isupper() else ()
        return kind, parts

    def _define(
        self, span: Span, kind: str, hierarchy: tuple[str, ...], receiver: str
    ) -> Definition:
        text, rules, language = self._text, self._rules, self._rules.language
        start, end = self._whole(span)
        before = text[max(start, span.name_start - _PREFIX_BYTES) : span.name_start]
        prefix = read_prefix(before.decode("utf-8", "replace"), language.name)
        stop = self._declaration_end(span, end, kind)
        parameters, returns, modifiers = "[]", "", prefix.modifiers
        if span.parameters_start >= 0:
            raw = text[span.parameters_start : span.parameters_end].decode("utf-8", "replace")
            parameters = parse_parameters(raw, language.parameters)
            if language.returns == "after" and stop > span.parameters_end:
                returns = read_returns(text[span.parameters_end : stop].decode("utf-8", "replace"))
            if language.generator == "yield" and text.find(b"yield", stop, end) >= 0:
                modifiers = (*modifiers, "generator")
        if language.returns == "before" and kind in _DECLARED:
            returns = prefix.type
        name = hierarchy[-1]
        if language.visibility:
            modifiers = _with_visibility(name, modifiers, language.visibility)
        doc = ""
        if language.docstring == "inside" and span.body_start >= 0:
            doc = find_docstring(text, span.body_start)
        return Definition(
            kind,
            name,
            hierarchy,
            start,
            end,
            self._name_byte(span, name),
            doc or find_doc(text, start, rules),
            fold_signature(text[span.start : stop].decode("utf-8", "replace")),
            prefix.decorators,
            parameters,
            returns,
            modifiers,
            receiver,
            language.name,
        )

    def _declaration_end(self, span: Span, end: int, kind: str) -> int:
        """Return where the declaration stops: at the body, for values at the end of the line."""
        if span.body_start >= span.name_end:
            return span.body_start
        if kind in _DECLARED and span.parameters_start >= 0:
            return end if kind != "macro" else span.parameters_end
        line_end = self._text.find(b"\n", span.name_end, end)
        return end if line_end < 0 else line_end

    def _whole(self, span: Span) -> tuple[int, int]:
        """Return the span with its wrapper and the attributes that stand before it."""
        search = self._search
        start, end = span.start, -span.negative_end
        if search.wrappers:
            wrapper = search.wrappers.get(start)
            while wrapper is not None:
                end = max(end, wrapper[1])
                if wrapper[0] == start:
                    break
                start = wrapper[0]
                wrapper = search.wrappers.get(start)
        if search.decorators:
            start = self._before_decorators(start)
        return start, end

    def _before_decorators(self, start: int) -> int:
        while True:
            stop = len(self._text[max(0, start - _PREFIX_BYTES) : start].rstrip())
            stop += max(0, start - _PREFIX_BYTES)
            before = self._search.decorators.get(stop)
            if before is None:
                return start
            start = before

    def _name_byte(self, span: Span, name: str) -> int:
        """Return where the last part of a qualified name begins."""
        data = name.encode()
        if span.name_end - span.name_start == len(data):
            return span.name_start
        found = self._text.rfind(data, span.name_start, span.name_end)
        return found if found >= 0 else span.name_start


def _with_visibility(name: str, modifiers: tuple[str, ...], rule: str) -> tuple[str, ...]:
    if rule == "capital":
        return (*modifiers, "exported") if name[:1].isupper() else modifiers
    if name.startswith("_") and not name.endswith("__"):
        return (*modifiers, "private")
    return modifiers
