"""Read parameter lists as text: names, types, defaults, kinds."""

import functools
import json
import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""["'`](?:\\.|(?!["'`])[^\\])*["'`]|=>|->|[(\[{<]|[)\]}>]|[,;]|[^"'`(\[{<)\]}>,;=:-]+|.""",
    re.DOTALL,
)
_OPEN: Final = frozenset("([{<")
_CLOSE: Final = frozenset(")]}>")
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ANNOTATION: Final = re.compile(r"^(?:@[\w.]+(?:\([^)]*\))?|#?\[[^\]]*\])\s*")
_WORDS: Final = frozenset(
    [
        *("final", "const", "var", "val", "ref", "out", "in", "inout", "readonly", "public"),
        *("private", "protected", "override", "let", "mut", "params", "covariant"),
        *("required", "late", "implicit", "using", "local", "my", "comptime", "noalias"),
    ]
)
_LAST_WORD: Final = re.compile(r"(\$?\w+)\s*((?:\[[^\]]*\]\s*)*)$")
_TYPE_WORDS: Final = frozenset(["struct", "enum", "union", "const", "unsigned", "signed"])
_FUNCTION_POINTER: Final = re.compile(r"\(\s*[*^&]\s*(\w+)\s*\)")
_AMBIGUOUS: Final = re.compile(r"[\"'`]|[-=]>|<<|>=")  # where counting brackets misleads
_MARKS: Final = frozenset("*/")  # with these, or ..., a parameter says something of others
_NESTED: Final = frozenset("([{<\"'`")
_GROUP: Final = re.compile(r"[{\[].*[}\]]", re.DOTALL).fullmatch
_quote: Final = json.encoder.encode_basestring


class Parameter(NamedTuple):
    """One parameter; ``kind`` is positional, keyword-only, variadic or keyword-variadic."""

    name: str
    type: str = ""
    default: str = ""
    kind: str = "positional"


@functools.lru_cache(maxsize=16_384)
def parse_parameters(raw: str, style: str) -> str:
    """Return a parameter list as JSON: ``[{"name", "type", "default", "kind"}]``.

    Args:
        raw: the list as written, with or without its brackets.
        style: where the type stands: ``name``, ``name:type``, ``name type`` or ``type name``.
    """
    text = raw.strip()
    if text[:1] in {"(", "[", "|"} and text[-1:] in {")", "]", "|"}:
        text = text[1:-1]
    if "//" in text or "/*" in text:
        text = _COMMENT.sub("", text)
    parts = split_list(text)
    if style == "type name":  # Dart's optional ones: `int id, {bool strict = false}`
        parts = [p for part in parts for p in (split_list(part[1:-1]) if _GROUP(part) else [part])]
    if style == "type name" or (
        style == "name:type" and _MARKS.isdisjoint(text) and "..." not in text
    ):
        return "[" + ",".join(filter(None, [_encoded(part, style) for part in parts])) + "]"
    return "[" + ",".join(map(_encode, _read(parts, style))) + "]"


def _read(parts: list[str], style: str) -> list[Parameter]:
    """Return the parameters of a list in which one may say what the next ones are."""
    found: list[Parameter] = []
    is_keyword_only = False
    for part in parts:
        if part == "*":
            is_keyword_only = True
        elif part == "/":
            found = [parameter._replace(kind="positional-only") for parameter in found]
        else:
            parameter = _parameter(part, style)
            if is_keyword_only and parameter.kind == "positional":
                parameter = parameter._replace(kind="keyword-only")
            is_keyword_only |= parameter.kind == "variadic" and style == "name:type"
            if parameter.name or parameter.type:
                found.append(parameter)
    return _spread_types(found) if style == "name type" else found


@functools.lru_cache(maxsize=16_384)
def _encoded(part: str, style: str) -> str:
    parameter = _parameter(part, style)
    return _encode(parameter) if parameter.name or parameter.type else ""


def _encode(parameter: Parameter) -> str:
    name, type_, default, kind = parameter
    return (
        f'{{"name":{_quote(name)},"type":{_quote(type_)},'
        f'"default":{_quote(default)},"kind":"{kind}"}}'
    )


def split_list(text: str, separators: str = ",;") -> list[str]:
    """Split at separators outside brackets and strings; empty parts are left out."""
    if _NESTED.isdisjoint(text):
        parts = text.replace(";", ",").split(",") if ";" in separators else text.split(separators)
        return [part.strip() for part in parts if part and not part.isspace()]
    if _AMBIGUOUS.search(text) is None:
        return _merge(
            text.replace(";", ",").split(",") if ";" in separators else text.split(separators)
        )
    found: list[str] = []
    piece: list[str] = []
    depth = 0
    for token in _TOKEN.findall(text):
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif token in separators and depth <= 0:
            found.append("".join(piece).strip())
            piece = []
            continue
        piece.append(token)
    found.append("".join(piece).strip())
    return [part for part in found if part]


def _merge(parts: list[str]) -> list[str]:
    """Join what was split inside brackets; a tenth of the price of reading every token."""
    found: list[str] = []
    piece = ""
    for part in parts:
        if not piece and _NESTED.isdisjoint(part):
            if part and not part.isspace():
                found.append(part.strip())
            continue
        piece = f"{piece},{part}" if piece else part
        if _depth(piece) <= 0:
            found.append(piece.strip())
            piece = ""
    if piece.strip():
        found.append(piece.strip())
    return found


def _depth(text: str) -> int:
    return sum(map(text.count, "([{<")) - sum(map(text.count, ")]}>"))


@functools.lru_cache(maxsize=16_384)
def _parameter(part: str, style: str) -> Parameter:
    if part.isidentifier() and style in {"name", "name:type"}:
        return Parameter(part)
    text = part
    while text[0] in "@#[" and (found := _ANNOTATION.match(text)) and found.end() < len(text):
        text = text[found.end() :]
    declared, default = _cut(text, "=")
    type_ = ""
    if style == "name:type":
        name, type_ = _cut(declared, ":")
        type_ = type_.lstrip(": ")
    elif style == "name type":
        name, _, type_ = declared.partition(" ")
    elif style == "type name":
        name, type_ = _type_first(declared)
    else:
        name = declared.partition(" ")[0]
    if name[:1] not in _OPEN:
        words = name.split()
        name = words[-1] if words and words[-1] not in _WORDS else name
    name, kind = _variadic(name)
    if type_.startswith("...") or (style == "type name" and "..." in declared):
        kind, type_ = "variadic", type_.replace("...", "").strip()
    return Parameter(" ".join(name.rstrip("?!").split()), type_.strip(), default, kind)


def _cut(text: str, mark: str) -> tuple[str, str]:
    """Split at the first ``mark`` outside brackets and strings."""
    if mark not in text:
        return text, ""
    at = text.index(mark)
    before = text[:at]
    is_plain = _NESTED.isdisjoint(before) or (
        _AMBIGUOUS.search(before) is None and _depth(before) == 0
    )
    if is_plain and (mark == ":" or text[at + 1 : at + 2] not in {"=", ">"}):
        return before.strip(), text[at + 1 :].strip()
    depth = position = 0
    for token in _TOKEN.findall(text):
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif token == mark and depth <= 0:
            return text[:position].strip(), text[position + 1 :].strip()
        position += len(token)
    return text, ""


def _type_first(declared: str) -> tuple[str, str]:
    before, _, name = declared.rpartition(" ")
    if name.isidentifier() and name.isascii() and "(" not in before:  # nine of ten
        before = before.strip()
        if before and before.split()[-1] not in _TYPE_WORDS:
            return name, before
    pointer = _FUNCTION_POINTER.search(declared)
    if pointer:
        return pointer[1], declared
    found = _LAST_WORD.search(declared)
    before = declared[: found.start()].strip() if found else ""
    if found is None or not before or before.split()[-1] in _TYPE_WORDS:
        return "", declared.strip()
    return found[1], (before + found[2].strip()).strip()


def _variadic(name: str) -> tuple[str, str]:
    if name.startswith("**"):
        return name[2:], "keyword-variadic"
    if name.startswith(("...", "*")):
        return name.lstrip(".*"), "variadic"
    return name.lstrip("&"), "positional"


def _spread_types(found: list[Parameter]) -> list[Parameter]:
    """Give ``a`` in Go's ``a, b int`` the type of ``b``; words without any type are types."""
    if all(parameter.type for parameter in found):
        return found
    if not any(parameter.type for parameter in found):
        return [Parameter("", parameter.name, kind=parameter.kind) for parameter in found]
    spread = []
    type_ = ""
    for parameter in reversed(found):
        type_ = parameter.type or type_
        spread.append(parameter._replace(type=type_))
    return spread[::-1]
