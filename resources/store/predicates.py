"""Predicates of the store's tables: text built from data by one quoting function.

Nothing else in codelake writes a literal into a predicate, so a file name is data wherever it
comes from: a quote, ``%``, ``_``, a backslash or a newline in it means itself.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from codelake.search.tables import Filters

# Values of one IN list. Parsing is linear (6 microseconds a value at any length up to 30,000,
# measured), and short lists keep the memory of a plan small.
GROUP_VALUES: Final = 2_000

_WILDCARD: Final = re.compile(r"\*\*/|\*\*|\*")
_WILDCARDS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}


def literal(value: str | int | bool) -> str:  # noqa: FBT001 - a literal may be a truth value
    """Return ``value`` as a literal of a predicate; the only place where quotes are written.

    >>> literal("x' OR '1'='1")
    "'x'' OR ''1''=''1'"
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("'", "''") + "'"


HAS_TEXT: Final = "text_hash <> ''"
"""Selects the rows that are embedded; a symbol that is a chunk too is embedded as that chunk."""


def equals(column: str, value: str) -> str:
    """Return a predicate for rows whose ``column`` is ``value``."""
    return f"{column} = {literal(value)}"


def differs(column: str, value: str) -> str:
    """Return a predicate for rows whose ``column`` is not ``value``."""
    return f"{column} <> {literal(value)}"


def is_one_of(column: str, values: Iterable[str]) -> str:
    """Return a predicate for rows whose ``column`` is one of ``values``; none means no row."""
    listed = ", ".join(literal(value) for value in values)
    return f"{column} IN ({listed})" if listed else "false"


def groups_of(column: str, values: Iterable[str]) -> Iterator[str]:
    """Yield predicates that together select the rows whose ``column`` is one of ``values``."""
    rest = iter(values)
    while group := list(islice(rest, GROUP_VALUES)):
        yield is_one_of(column, group)


def matches(column: str, pattern: str) -> str:
    """Return a predicate for rows where a regular expression is found in ``column``.

    The engine's expressions run in time linear in the text; none of them can hang a search.
    """
    return f"regexp_like({column}, {literal(pattern)})"


def any_of(predicates: Sequence[str]) -> str:
    """Return a predicate that holds where one of ``predicates`` does."""
    return predicates[0] if len(predicates) == 1 else "(" + " OR ".join(predicates) + ")"


def all_of(predicates: Iterable[str]) -> str | None:
    """Return a predicate that holds where all do, or None where there is none to hold."""
    given = [predicate for predicate in predicates if predicate]
    return " AND ".join(given) if given else None


def path_matches(glob: str, column: str = "path") -> str:
    """Return a predicate for rows whose path matches ``glob`` from its start to its end.

    ``*`` stays inside one folder, ``**`` does not, ``**/`` also stands for no folder at all, and
    a glob that ends in ``/`` means all below that folder. Case counts; all else is literal.
    """
    if glob.endswith("/"):
        glob += "**"
    start = glob.split("*", 1)[0]
    if start == glob:
        return equals(column, glob)
    # An index on the column answers the literal start; the expression then sees few rows.
    known = f"starts_with({column}, {literal(start)})" if start else ""
    if glob == start + "**":
        return known or "true"
    return all_of([known, matches(column, f"(?s)^{glob_expression(glob)}$")]) or "true"


def glob_expression(glob: str) -> str:
    """Return the regular expression, without anchors, that matches what ``glob`` does."""
    parts = []
    position = 0
    for wildcard in _WILDCARD.finditer(glob):
        parts += [_escape(glob[position : wildcard.start()]), _WILDCARDS[wildcard.group()]]
        position = wildcard.end()
    return "".join(parts) + _escape(glob[position:])


def filter_predicate(filters: Filters, *more: str) -> str | None:
    """Return ``filters`` and ``more`` as one predicate, or None where all rows are wanted."""
    exact = (
        ("repository", filters.repositories),
        ("language", filters.languages),
        ("kind", filters.kinds),
    )
    conditions = [is_one_of(column, values) for column, values in exact if values]
    if filters.paths:
        conditions.append(any_of([f"({path_matches(glob)})" for glob in filters.paths]))
    if filters.owners:
        starts = (literal(owner.rstrip("/") + "/") for owner in filters.owners)
        conditions.append(any_of([f"starts_with(repository, {start})" for start in starts]))
    if filters.is_test is not None:
        conditions.append(f"is_test = {literal(filters.is_test)}")
    return all_of([*conditions, *more])


def _escape(text: str) -> str:
    """Escape what the engine's expressions give a meaning; it refuses a needless backslash."""
    return re.sub(r"[\\.+*?()|\[\]{}^$#&~-]", lambda found: "\\" + found.group(), text)
