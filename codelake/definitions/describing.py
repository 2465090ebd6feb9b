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
_BLANK: Final = frozenset(b" \t\r\n")
_DECLARED: Final = frozenset({"function", "method", "macro"})

# A named tuple made without its constructor, which costs half a microsecond more.
_make: Final = tuple.__new__


def find_definitions(root: tree_sitter.Node, text: bytes, language: str) -> list[Definition]:
    """Return the definitions below ``root`` in order of their start.

    Args:
        root: root of the tree of ``text``.
        text: the file as UTF-8; offsets of the result count in it.
        language: a name of ``codelake.languages.LANGUAGES``.
    """
    rules = rules_for(language)
    return [] if rules is None else _Description(text, rules).describe(root)


class _Utf8:
    """Text cut by byte offsets; an ASCII text is cut as a string, which is three times faster."""

    __slots__ = ("_text",)

    def __init__(self, text: bytes) -> None:
        self._text = text

    def __getitem__(self, span: slice) -> str:
        return self._text[span].decode("utf-8", "replace")


class _Description:
    """The definitions of one text, outer before inner."""

    __slots__ = ("_cut", "_rules", "_search", "_text")

    def __init__(self, text: bytes, rules: Rules) -> None:
        self._text = text
        self._rules = rules
        self._search = Search(text, rules)
        self._cut: str | _Utf8 = text.decode("ascii") if text.isascii() else _Utf8(text)

    def describe(self, root: tree_sitter.Node) -> list[Definition]:
        definitions = []
        around: list[tuple[int, int, str, tuple[str, ...]]] = []
        for span in self._search.run(root):
            start, end = span[0], -span[1]
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
        name_start, name_end = span.name_start, span.name_end
        if name_end - name_start > _NAME_BYTES:
            return "", ()
        raw = self._cut[name_start:name_end]
        kind = rules.kinds[span.pattern]
        parts = (raw,) if raw.isidentifier() else name_parts(raw, rules.language.name)
        if rules.ignore is not None and rules.ignore.match(self._text, name_end):
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
        own_start, own_end, name_start, _, name_end, after_name, after, body_start, _ = span
        text, cut, rules, search = self._text, self._cut, self._rules, self._search
        language = rules.language
        start, end = own_start, -own_end
        if search.wrappers or search.decorators:
            start, end = self._whole(start, end)
        decorators, modifiers, returns = read_prefix(
            cut[max(start, name_start - _PREFIX_BYTES) : name_start], language.name
        )
        stop = body_start
        if body_start < name_end:
            stop = self._declaration_end(span, end, kind)
        if kind not in _DECLARED:
            returns = ""
        parameters = "[]"
        if after_name >= 0:
            parameters = parse_parameters(cut[after_name:after], language.parameters)
            if language.returns == "after" and stop > after:
                returns = read_returns(cut[after:stop])
            if language.generator == "yield" and text.find(b"yield", stop, end) >= 0:
                modifiers = (*modifiers, "generator")
        name = hierarchy[-1]
        if language.visibility:
            modifiers = _with_visibility(name, modifiers, language.visibility)
        doc = ""
        if body_start >= 0 and language.docstring == "inside":
            doc = find_docstring(text, body_start)
        if len(name) != name_end - name_start:
            name_start = _name_byte(text, name, name_start, name_end)
        return _make(
            Definition,
            (
                kind,
                name,
                hierarchy,
                start,
                end,
                name_start,
                doc or find_doc(text, start, rules),
                fold_signature(cut[own_start:stop]),
                decorators,
                parameters,
                returns,
                modifiers,
                receiver,
                language.name,
            ),
        )

    def _declaration_end(self, span: Span, end: int, kind: str) -> int:
        """Return where a declaration without body stops: values stop at the end of the line."""
        if kind in _DECLARED and span.parameters_start >= 0:
            return end if kind != "macro" else span.parameters_end
        line_end = self._text.find(b"\n", span.name_end, end)
        return end if line_end < 0 else line_end

    def _whole(self, start: int, end: int) -> tuple[int, int]:
        """Return a span with its wrapper and the attributes that stand before it."""
        wrappers, decorators = self._search.wrappers, self._search.decorators
        wrapper = wrappers.get(start)
        while wrapper is not None:
            end = max(end, wrapper[1])
            if wrapper[0] == start:
                break
            start = wrapper[0]
            wrapper = wrappers.get(start)
        while decorators:
            stop = start
            while stop and self._text[stop - 1] in _BLANK:
                stop -= 1
            if stop not in decorators:
                break
            start = decorators[stop]
        return start, end


def _name_byte(text: bytes, name: str, start: int, end: int) -> int:
    """Return where the last part of a qualified name begins."""
    found = text.rfind(name.encode(), start, end)
    return found if found >= 0 else start


def _with_visibility(name: str, modifiers: tuple[str, ...], rule: str) -> tuple[str, ...]:
    if rule == "capital":
        return (*modifiers, "exported") if name[:1].isupper() else modifiers
    if name.startswith("_") and not name.endswith("__"):
        return (*modifiers, "private")
    return modifiers
