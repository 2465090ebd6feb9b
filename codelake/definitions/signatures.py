"""Read the surface of a definition: signature, decorators, modifiers, types."""

import functools
import re
from typing import Final, NamedTuple

from codelake.definitions.rules import rules_for

_SIGNATURE_CHARACTERS: Final = 2000  # a longer one is data, not a declaration
# Words and further lists of parameters may stand before the mark: `throws ->`, `(implicit b: B):`.
_ARROW: Final = re.compile(r"^(?:[\w\s()]*?(?:->|\breturns\b)|(?:\([^()]*\)\s*)*:)\s*")
_TAIL: Final = re.compile(r"\s*(?:\bwhere\b.*)?(?:=>|[{:=;\s])*$", re.DOTALL)
_GENERICS: Final = re.compile(r"^\s*(?:template\s*)?<[^<>]*(?:<[^<>]*>[^<>]*)*>\s*")
_METHOD_TYPE: Final = re.compile(r"^[-+] ?\((.*)\)$")  # Objective-C's sign and brackets
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
    if not set(rules.language.private).isdisjoint(words):
        modifiers += ("private",)
    if rules.language.generator == "*" and "*" in text:
        modifiers += ("generator",)
    type_ = ""
    if rules.language.returns == "before":
        kept = [word for word in text.split() if word not in rules.modifiers]
        type_ = _METHOD_TYPE.sub(r"\1", _GENERICS.sub("", " ".join(kept)))
        type_ = "" if type_.endswith(".") else type_  # Dart's `Item.` of `Item.free()`
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
def read_returns(text: str, language: str) -> str:
    """Return the type in what stands between parameters and body."""
    words = " ".join(text.split())
    mark = _ARROW.match(words)
    if mark is not None:
        return _TAIL.sub("", words[mark.end() :])
    found = _TAIL.sub("", words)
    rules = rules_for(language)
    is_type = rules is None or not rules.modifiers.issuperset(found.split())
    return found if is_type else ""  # Solidity's `external payable` is none
