"""Read names as they stand in code: qualified, quoted, generic."""

import functools
import re
from typing import Final

from codelake.definitions.rules import rules_for

_GENERIC: Final = re.compile(r"(?<=[\w)])(?:<[^<>]*>|\[[^\[\]]*\])")
_RECEIVER: Final = re.compile(r"(\w+)\W*$")
_INNER_QUOTE: Final = re.compile(r"[\"'`]")
_QUOTES: Final = "\"'`"


@functools.lru_cache(maxsize=4096)
def name_parts(raw: str, language: str) -> tuple[str, ...]:
    """Split a name that is no plain identifier into the names it is made of.

    Quotes, generic arguments and words that only say how a thing is attached (``exports``,
    ``prototype``) are left out. Empty where nothing is left.
    """
    rules = rules_for(language)
    name = " ".join(raw.split())
    if rules is None or not name:
        return ()
    if name[0] in _QUOTES and name[-1] == name[0]:
        name = name[1:-1].strip()
        if rules.separators is None or _INNER_QUOTE.search(name) is None:
            return (name,) if name else ()
    if name[0] == "(" and name[-1] == ")":
        name = name[1:-1].strip()  # Haskell's operators
    if rules.separators is None:
        return (name,) if name else ()
    if "operator" not in name:
        name = _without_generics(name)
    parts = [part for part in (p.strip(" *&:") for p in rules.separators.split(name)) if part]
    kept = [part for part in parts[:-1] if part not in rules.drop]
    return (*kept, *parts[-1:])


@functools.lru_cache(maxsize=4096)
def receiver_type(raw: str) -> str:
    """Return the type name of a receiver such as ``(s *Stack[T])``, empty if there is none."""
    found = _RECEIVER.search(_without_generics(raw))
    return found[1] if found else ""


def _without_generics(name: str) -> str:
    shorter = _GENERIC.sub("", name)
    while shorter != name:
        name, shorter = shorter, _GENERIC.sub("", shorter)
    return name
