"""Turn the spans of definitions into records: names, documentation, signature."""

import re
from typing import Final

import tree_sitter

from codelake.definitions.comments import clean_string, comments_start, find_doc, find_docstring
from codelake.definitions.finding import Search, Span
from codelake.definitions.names import name_parts, receiver_type
from codelake.definitions.parameters import parse_parameters
from codelake.definitions.record import Definition
from codelake.definitions.rules import Rules, rules_for
from codelake.definitions.signatures import fold_signature, read_prefix, read_returns

_LEVELS: Final = 64  # deeper nesting is no program; keeps names short on hostile input
_NAME_BYTES: Final = 512  # a longer "name" is a parse gone wrong
_PREFIX_BYTES: Final = 4096  # more than this before or behind a name is no declaration either
_BLANK: Final = frozenset(b" \t\r\n")
_NAMELESS: Final = frozenset({"scope", "space"})  # names others stand under, no symbols
_BETWEEN_CLAUSES: Final = b" \t\r\n.;"
_CALLABLE: Final = frozenset({"function", "method"})
_PARAMETERS: Final = re.compile(rb"\s*(?:<[^()<>]*>|\[[^\[\]]*\])?\s*\(")
_BRACKET: Final = re.compile(rb"[()]")

_VISIBILITIES: Final = frozenset({"public", "private", "protected"})
_OWN: Final = _VISIBILITIES | {"self"}  # Ruby's `def self.x` minds no `private` above it

# Start, end, kind and hierarchy of a definition that others stand in.
_Around = tuple[int, int, str, tuple[str, ...]]

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

    __slots__ = ("_cut", "_rules", "_search", "_text", "_visible")

    def __init__(self, text: bytes, rules: Rules) -> None:
        self._text = text
        self._rules = rules
        self._search = Search(text, rules)
        self._visible: dict[int, str] = {}
        self._cut: str | _Utf8 = text.decode("ascii") if text.isascii() else _Utf8(text)

    def describe(self, root: tree_sitter.Node) -> list[Definition]:
        definitions: list[Definition] = []
        merge = self._rules.language.merge
        around: list[_Around] = []
        spans = self._search.run(root)
        sections = sorted(self._search.sections, reverse=True)
        for span in spans:
            start, end = span[0], -span[1]
            if sections:
                self._enter(sections, around, start)
            while around and not (around[-1][0] < start and end <= around[-1][1]):
                around.pop()
            outer_kind, outer = (around[-1][2], around[-1][3]) if around else ("", ())
            kind, parts = self._name(span, outer_kind)
            if not parts or len(around) >= _LEVELS:
                continue
            receiver = receiver_type(span.receiver) if span.receiver else ""
            if len(parts) > 1 and outer and parts[0] == outer[-1]:
                parts = parts[1:]  # Dart's constructor Item.free inside Item
            hierarchy = (*outer, receiver, *parts) if receiver else outer + parts
            visibility = self._visible.get(around[-1][0], "") if around and self._visible else ""
            if kind != "type":  # what stands in an alias is no part of it
                around.append((start, end, kind, hierarchy))
            if kind in _NAMELESS:
                continue
            definition = self._define(span, kind, hierarchy, receiver)
            if visibility and _OWN.isdisjoint(definition.modifiers):
                definition = definition._replace(modifiers=(visibility, *definition.modifiers))
            if merge and definitions and self._continues(definitions[-1], definition):
                definitions[-1] = definitions[-1]._replace(end_byte=definition.end_byte)
            else:
                definitions.append(definition)
        return definitions

    def _enter(self, sections: list[tuple[int, str]], around: list[_Around], start: int) -> None:
        """Note which words on visibility stand in which container before ``start``."""
        while sections and sections[-1][0] < start:
            at, word = sections.pop()
            inside = [outer[0] for outer in around if outer[0] < at < outer[1]]
            if inside:
                # Another word begins a part of which nothing is known, `class << self`.
                self._visible[inside[-1]] = word if word in _VISIBILITIES else ""

    def _continues(self, last: Definition, definition: Definition) -> bool:
        """Tell whether this is one more clause of the function before it."""
        if (last.kind, last.hierarchy) != (definition.kind, definition.hierarchy):
            return False
        between = self._text[last.end_byte : definition.start_byte]
        return not between.strip(_BETWEEN_CLAUSES)

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
            return "constant", parts if raw.isupper() and len(raw) > 1 else ()
        return kind, parts

    def _define(  # noqa: C901 # runs for each symbol of a corpus, where calls are dear
        self, span: Span, kind: str, hierarchy: tuple[str, ...], receiver: str
    ) -> Definition:
        own_start, own_end, name_start, _, name_end, after_name, after, body_start, _ = span
        text, cut, rules, search = self._text, self._cut, self._rules, self._search
        language = rules.language
        start, end = own_start, -own_end
        if search.wrappers or search.decorators:
            start, end = self._whole(start, end)
        if language.widen:
            start = self._line_start(start)
        while text[end - 1] in _BLANK and end > name_end:
            end -= 1
        low = start if name_start - start < _PREFIX_BYTES else name_start - _PREFIX_BYTES
        decorators, modifiers, returns = read_prefix(cut[low:name_start], language.name)
        stop = body_start
        if body_start < name_end:
            stop = self._declaration_end(span, end, kind)
        if kind not in _CALLABLE:
            returns = ""
        parameters = "[]"
        if after_name < 0 and kind in _CALLABLE and language.parameters != "none":
            after_name, after = self._find_parameters(name_end, stop)
        if after_name >= 0 and after - after_name <= _PREFIX_BYTES:
            style = language.parameters if kind != "macro" else "name"
            parameters = parse_parameters(cut[after_name:after], style)
            if language.returns == "after" and stop > after:
                returns = read_returns(cut[after : min(stop, after + _PREFIX_BYTES)], language.name)
            if language.generator == "yield" and text.find(b"yield", stop, end) >= 0:
                modifiers = (*modifiers, "generator")
        name = hierarchy[-1]
        if language.visibility:
            modifiers = _with_visibility(name, modifiers, language.visibility)
        if len(name) != name_end - name_start:
            name_start = _name_byte(text, name, name_start, name_end)
        signature_end = own_start + _PREFIX_BYTES
        # fmt: off
        return _make(Definition, (
            kind, name, hierarchy, start, end, name_start,
            self._doc(start, own_start, body_start),
            fold_signature(cut[own_start : min(stop, signature_end)]),
            decorators, parameters, returns, modifiers, receiver, language.name,
        ))
        # fmt: on

    def _text_end(self, stop: int) -> int:
        while stop and self._text[stop - 1] in _BLANK:
            stop -= 1
        return stop

    def _line_start(self, start: int) -> int:
        """Return where the words before a definition begin that its grammar leaves out of it."""
        low = max(start - _PREFIX_BYTES, 0)
        line_start = max(self._text.rfind(b"\n", low, start) + 1, low)
        words = self._text[line_start:start].decode("utf-8", "replace").split()
        if words and all(word in self._rules.modifiers for word in words):
            return self._text.index(words[0].encode(), line_start)
        return start

    def _find_parameters(self, start: int, stop: int) -> tuple[int, int]:
        """Return the brackets right behind a name, for grammars that have no node for them."""
        opening = _PARAMETERS.match(self._text, start, stop)
        if opening is None:
            return -1, -1
        depth = 0
        for bracket in _BRACKET.finditer(self._text, opening.end() - 1, stop):
            depth += 1 if bracket[0] == b"(" else -1
            if depth == 0:
                return opening.end() - 1, bracket.end()
        return -1, -1

    def _doc(self, start: int, own_start: int, body_start: int) -> str:
        """Return the docstring of a definition, else the comment above it."""
        text, rules, search = self._text, self._rules, self._search
        doc = ""
        if body_start >= 0 and rules.language.docstring == "inside":
            doc = find_docstring(text, body_start)
        elif own_start in search.docs:
            doc = clean_string(search.docs[own_start])
        elif rules.doc_before is not None:
            found = rules.doc_before.search(text, start, own_start)
            doc = clean_string(found[1].decode("utf-8", "replace")) if found else ""
        doc = doc or find_doc(text, start, rules)
        if not doc and search.decorators and start != own_start:
            return find_doc(text, own_start, rules)  # between attributes and definition
        return doc

    def _declaration_end(self, span: Span, end: int, kind: str) -> int:
        """Return where a declaration without body stops: where its line or its parameters do."""
        after = max(span.name_end, span.parameters_end)
        if kind == "macro" and after > span.name_end:
            return after
        line_end = self._text.find(b"\n", after, end)
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
            stop = self._text_end(start)
            if stop not in decorators:
                stop = self._text_end(comments_start(self._text, stop, self._rules))
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
