"""What is known of one definition, and how definitions travel between stages."""

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

KINDS: Final[dict[str, str]] = {
    "class": "a class, object, record, actor or contract",
    "constant": "a value that is not reassigned",
    "enum": "an enumeration",
    "function": "a function outside a type",
    "interface": "an interface, protocol or service",
    "macro": "a macro",
    "method": "a function of a type; constructors and accessors are methods",
    "module": "a module that code can be grouped in",
    "namespace": "a namespace or package",
    "property": "a property or field with behaviour of its own",
    "resource": "a block of infrastructure: resource, data source, output",
    "section": "a heading of a document and the text under it",
    "struct": "a structure, record, union or message",
    "table": "a table or view of a database",
    "target": "a target of a build file",
    "trait": "a trait, type class or mixin",
    "type": "a type alias or any other named type",
    "variable": "a variable of a file or module",
}

CONTAINER_KINDS: Final = frozenset(
    {"class", "enum", "interface", "module", "namespace", "struct", "trait"}
)


class Definition(NamedTuple):
    """One definition of a file; offsets count in its UTF-8 text, ends are exclusive.

    A named tuple, not a dataclass: a repository has tens of thousands and a frozen dataclass of
    this width costs 3 microseconds to make, a tenth of the whole budget.
    """

    kind: str
    name: str
    hierarchy: tuple[str, ...]
    start_byte: int
    end_byte: int
    name_byte: int
    doc: str = ""
    signature: str = ""
    decorators: tuple[str, ...] = ()
    parameters: str = "[]"
    returns: str = ""
    modifiers: tuple[str, ...] = ()
    receiver: str = ""
    language: str = ""

    @property
    def qualified_name(self) -> str:
        """Return the outer names and the name, joined with dots."""
        return ".".join(self.hierarchy)

    @property
    def is_container(self) -> bool:
        """Tell whether other definitions are at home in it, as in a class."""
        return self.kind in CONTAINER_KINDS

    def shifted(self, offset: int) -> "Definition":
        """Return the definition as seen from a text that has it ``offset`` bytes further on."""
        return self._replace(
            start_byte=self.start_byte + offset,
            end_byte=self.end_byte + offset,
            name_byte=self.name_byte + offset,
        )


_encode: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":")
).encode


def definitions_to_json(definitions: Iterable[Definition]) -> bytes:
    """Pack definitions as a JSON array of arrays in the order of the fields."""
    rows = list(definitions)
    return _encode(rows).encode("utf-8", "surrogatepass") if rows else b"[]"


def definitions_from_json(data: bytes) -> list[Definition]:
    """Unpack what :func:`definitions_to_json` packed."""
    return [
        Definition._make(tuple(value) if type(value) is list else value for value in row)
        for row in json.loads(data)
    ]
