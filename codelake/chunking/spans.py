"""What a chunker is given and what it returns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from codelake.definitions import Definition
from codelake.measure import Measure
from codelake.outline import Outline


@dataclass
class Source:
    """One parsed text; every chunker reads the same."""

    text: bytes
    language: str
    outline: Outline
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
        overlap: characters a fixed chunk repeats of the one before.
        lines: lines of a fixed chunk; 0 cuts by characters.
    """

    budget: int
    overlap: int = 0
    lines: int = 0


@dataclass(slots=True)
class Span:
    """A stretch of the text, before it is trimmed and described.

    ``core`` is where it begins without the comments in front. ``parts`` has the bits of
    :class:`Parts` for what stands in it at the top level, 0 if it lies deeper.
    """

    start: int
    core: int
    end: int
    parts: int = 0
    has_error: bool = False
    kind: str = ""
    definition: Definition | None = None


Chunker = Callable[[Source, Options], list[Span]]


class Parts:
    """Bits that say what a span has at the top level of the file."""

    IMPORT = 1
    PACKAGE = 2
    SETUP = 4
    OTHER = 8
