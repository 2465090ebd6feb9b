"""Read the surface of a definition: signature, decorators, modifiers, types."""

import functools
import re
from typing import Final, NamedTuple

from codelake.definitions.rules import rules_for

_SIGNATURE_CHARACTERS: Final = 2000  # a longer one is data, not a declaration
_ARROW: Final = re.compile(r"^(?:[\w\s()]*?->|:)\s*")
_TAIL: Final = re.compile(r"\s*(?:\bwhere\b.*)?(?:=>|[{:=;\s])*$", re.DOTALL)
_GENERICS: Final = re.compile(r"^\s*(?:template\s*)?<[^<>]*(?:<[^<>]*>[^<>]*)*>\s*")
_WORD: Final = re.compile(r"[\w-]+")


class Prefix(NamedTuple):
    """What stands before a name."""

    decorators: tuple[str, ...]
    modifiers: tuple[str, ...]
    type: str


@functools.lru_cache(maxsize=8192)
def read_prefix(text: str, language: str) -> Prefix:
    """Take apart what stands between the start of a definition and its name."""
    rules = rules_for(language)
    if rules is None:
        return Prefix((), (), "")
    decorators: tuple[str, ...] = ()
    if rules.decorator is not None:
        decorators = tuple(" ".join(m[0].split()) for m in rules.decorator.finditer(text))
        if decorators:
            text = rules.decorator.sub(" ", text)
    words = _WORD.findall(text)
    modifiers = tuple(dict.fromkeys(word for word in words if word in rules.modifiers))
    if rules.language.generator == "*" and "*" in text:
        modifiers += ("generator",)
    type_ = ""
    if rules.language.returns == "before":
        kept = [word for word in text.split() if word not in rules.modifiers]
        type_ = _GENERICS.sub("", " ".join(kept))
    return Prefix(decorators, modifiers, type_)


def fold_signature(text: str) -> str:
    """Return a declaration on one line, without the mark that opens its body."""
    if "\n" in text or "  " in text:
        text = " ".join(text[:_SIGNATURE_CHARACTERS].split())
    folded = text.rstrip(" {;")
    last = folded[-1:]
    if last == ":":
        return folded[:-1]
    if last == "=" or folded.endswith("=>"):
        return folded.rstrip("=> ")
    return folded


@functools.lru_cache(maxsize=8192)
def read_returns(text: str) -> str:
    """Return the type in what stands between parameters and body."""
    return _TAIL.sub("", _ARROW.sub("", " ".join(text.split())))
