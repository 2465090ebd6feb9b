"""Read parameter lists as text: names, types, defaults, kinds."""

import functools
import json
import re
from typing import Final

_TOKEN: Final = re.compile(
    r"""["'`](?:\\.|(?!["'`])[^\\])*["'`]|=>|->|[(\[{<]|[)\]}>]|[,;]|[^"'`(\[{<)\]}>,;=-]+|.""",
    re.DOTALL,
)
_OPEN: Final = frozenset("([{<")
_CLOSE: Final = frozenset(")]}>")
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ANNOTATION: Final = re.compile(r"^(?:@[\w.]+(?:\([^)]*\))?|#?\[[^\]]*\])\s*")
_WORDS: Final = frozenset(
    [
        "final",
        "const",
        "var",
        "val",
        "ref",
        "out",
        "in",
        "inout",
        "readonly",
        "public",
        "private",
        "protected",
        "override",
        "let",
        "mut",
        "this",
        "params",
        "covariant",
        "required",
        "late",
        "implicit",
        "using",
    ]
)
_LAST_WORD: Final = re.compile(r"([\w$]+)\s*((?:\[[^\]]*\]\s*)*)$")


@functools.lru_cache(maxsize=16_384)
def parse_parameters(raw: str, style: str) -> str:
    """Return a parameter list as JSON: ``[{"name", "type", "default", "kind"}]``.

    Args:
        raw: the list as written, with or without its brackets.
        style: where the type stands: ``name``, ``name:type``, ``name type`` or ``type name``.
    """
    text = raw.strip()
    if text[:1] in {"(", "[", "|"} and len(text) > 1:
        text = text[1:-1]
    if "//" in text or "/*" in text:
        text = _COMMENT.sub("", text)
    if not text.strip():
        return "[]"
    found: list[dict[str, str]] = []
    kind = "positional"
    for part in _split(text):
        if part == "*":
            kind = "keyword-only"
            continue
        if part == "/":
            for parameter in found:
                parameter["kind"] = "positional-only"
            continue
        parameter = _parameter(part, style, kind)
        if parameter is None:
            continue
        found.append(parameter)
        if style == "name:type" and parameter["kind"] == "variadic":
            kind = "keyword-only"
    if style == "name type":
        _spread_types(found)
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _split(text: str, separators: str = ",;") -> list[str]:
    if not any(mark in text for mark in "([{<\"'`"):
        return [part.strip() for part in re.split(f"[{separators}]", text) if part.strip()]
    parts, piece, depth = [], [], 0
    for token in _TOKEN.findall(text):
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif token in separators and depth <= 0:
            parts.append("".join(piece).strip())
            piece = []
            continue
        piece.append(token)
    parts.append("".join(piece).strip())
    return [part for part in parts if part]


def _parameter(part: str, style: str, kind: str) -> dict[str, str] | None:
    text = part
    while found := _ANNOTATION.match(text):
        text = text[found.end() :]
    declared, default = _cut(text, "=")
    if style == "name:type":
        name, type_ = _cut(declared, ":")
        kind = "keyword-only" if style == "name:type" and kind == "keyword-only" else kind
    elif style == "name type":
        name, _, type_ = declared.strip().partition(" ")
    elif style == "type name":
        name, type_ = _type_first(declared)
    else:
        name, type_ = declared, ""
    words = [word for word in name.split() if word not in _WORDS] or name.split()
    name = " ".join(words[-1:])
    name, kind = _variadic(name, kind)
    if type_.startswith("...") or (style == "type name" and "..." in type_):
        kind, type_ = "variadic", type_.replace("...", "").strip()
    name = name.removesuffix("?").removesuffix("!")
    if not name and not type_:
        return None
    return {"name": name, "type": type_.strip(), "default": default.strip(), "kind": kind}


def _cut(text: str, mark: str) -> tuple[str, str]:
    """Split at the first ``mark`` outside brackets."""
    if mark not in text:
        return text, ""
    if not any(opening in text for opening in "([{<\"'"):
        before, _, after = text.partition(mark)
        return before.strip(), after.strip()
    depth = position = 0
    for token in _TOKEN.findall(text):
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif depth <= 0 and mark in token and token not in {"=>", "->"} and token[0] not in "\"'`":
            at = position + token.index(mark)
            return text[:at].strip(), text[at + 1 :].strip()
        position += len(token)
    return text, ""


def _type_first(declared: str) -> tuple[str, str]:
    found = re.search(r"\(\s*[*^&]\s*(\w+)\s*\)", declared)  # a pointer to a function
    if found:
        return found[1], declared
    found = _LAST_WORD.search(declared)
    if found is None or not declared[: found.start()].strip():
        return "", declared.strip()
    before = declared[: found.start()].strip()
    if before.split()[-1] in {"struct", "enum", "union", "const", "unsigned", "signed"}:
        return "", declared.strip()
    return found[1], (before + found[2].strip()).strip()


def _variadic(name: str, kind: str) -> tuple[str, str]:
    if name.startswith("**"):
        return name[2:], "keyword-variadic"
    if name.startswith("...") or name.startswith("*"):
        return name.lstrip(".*"), "variadic"
    return name.lstrip("&"), kind


def _spread_types(found: list[dict[str, str]]) -> None:
    """Give ``a`` in Go's ``a, b int`` the type of ``b``; a lone word is a type."""
    if any(parameter["type"] for parameter in found):
        type_ = ""
        for parameter in reversed(found):
            type_ = parameter["type"] or type_
            parameter["type"] = type_
        return
    for parameter in found:
        parameter["name"], parameter["type"] = "", parameter["name"]
