"""What a chunker is given and what it returns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from codelake.definitions import Definition
from codelake.measure import Measure
from codelake.parsing import Tree


@dataclass
class Source:
    """One parsed text; every chunker reads the same. ``tree`` is None where there is no grammar."""

    text: bytes
    language: str
    tree: Tree | None = None
    definitions: list[Definition] = field(default_factory=list)

    @cached_property
    def measure(self) -> Measure:
        """Counts of the text, made at the first use."""
        return Measure(self.text)


@dataclass(frozen=True, slots=True)
class Options:
    """How big chunks may be; a chunker reads what it knows.

    Args:
        budget: most nws characters of a cAST chunk; characters of a fixed one.
        overlap: characters (or lines) a fixed chunk repeats of the one before.
        lines: lines of a fixed chunk; 0 cuts by characters.
    """

    budget: int
    overlap: int = 0
    lines: int = 0


@dataclass(slots=True)
class Span:
    """A stretch of the text, before it is trimmed and described.

    ``core`` is where it begins without the comments in front, ``nws`` its size or -1 where it was
    not counted, ``parts`` the bits of :class:`Parts` for what stands in it at the top level.
    ``kind`` is empty where :func:`codelake.chunking.describe` is to find it.
    """

    start: int
    core: int
    end: int
    nws: int = -1
    parts: int = 0
    kind: str = ""


Chunker = Callable[[Source, Options], list[Span]]


class Parts:
    """Bits that say what a span has at the top level of the file."""

    IMPORT = 1
    PACKAGE = 2
    SETUP = 4
    OTHER = 8
