"""Show a stored row with what stands around it, so that bodies are read only when chosen."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from codelake.errors import UsageError
from codelake.search.answers import Hit
from codelake.search.candidates import Candidate, read_candidates, read_rows
from codelake.search.hits import build_hits
from codelake.search.tables import HIT_COLUMNS, ID_COLUMNS, Filters, SearchTables

# Definitions or chunks of one file; more is a generated file, whose outline nobody reads.
_MOST_ROWS: Final = 5000

_ANY: Final = Filters()


@dataclass(frozen=True, slots=True)
class Outline:
    """One definition of a file, without its body."""

    id: str
    kind: str
    qualified_name: str
    start_line: int
    end_line: int
    signature: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A row and its surroundings.

    Args:
        hit: the row, its text whole.
        enclosing: the definitions around it, outermost first.
        before: the definition in front of it at the same level, if there is one.
        after: the one behind it.
        file: every definition of the file, in order.
    """

    hit: Hit
    enclosing: tuple[Outline, ...]
    before: Outline | None
    after: Outline | None
    file: tuple[Outline, ...]

    def as_json(self) -> dict[str, object]:
        """Return plain dictionaries and lists, the shape of ``codelake show --json``."""
        return asdict(self)


def show(row_id: str, *, tables: SearchTables, filters: Filters = _ANY) -> Shown:
    """Return the chunk or symbol of ``row_id`` with its class, its neighbours and its file.

    Raises:
        UsageError: no row has this id, or ``filters`` forbid its repository.
    """
    found = [c for table in ID_COLUMNS for c in read_rows(tables, table, [row_id])]
    allowed = [c for c in found if not filters.repositories or c.repository in filters.repositories]
    if not allowed:
        message = (
            f"no chunk or symbol has the id {row_id!r}; ids change with the text, search again"
        )
        raise UsageError(message)
    here = allowed[0]
    symbols = file_rows(tables, "symbols", here.repository, here.path)
    around = [c for c in symbols if _encloses(c, here)]
    level = [c for c in symbols if c.id != here.id and _parent(c) == _parent(here)]
    before = [c for c in level if c.end_line < here.start_line]
    after = [c for c in level if c.start_line > here.end_line]
    (hit,) = build_hits([here], tables, filters)
    return Shown(
        replace(hit, text=_whole_text(here, tables)),
        tuple(_outline(c) for c in around),
        _outline(before[-1]) if before else None,
        _outline(after[0]) if after else None,
        tuple(_outline(c) for c in symbols),
    )


def file_rows(tables: SearchTables, table: str, repository: str, path: str) -> list[Candidate]:
    """Return the chunks or symbols of one file, in order."""
    only = Filters(repositories=(repository,))
    rows = tables.equal(
        table, "path", [path], k=_MOST_ROWS, filters=only, columns=HIT_COLUMNS[table]
    )
    return sorted(read_candidates(table, rows), key=lambda c: (c.start_line, -c.end_line, c.id))


def _encloses(outer: Candidate, inner: Candidate) -> bool:
    if outer.id == inner.id or not inner.qualified_name.startswith(outer.qualified_name):
        return False
    return outer.start_line <= inner.start_line and inner.end_line <= outer.end_line


def _parent(candidate: Candidate) -> str:
    return candidate.qualified_name.rpartition(".")[0]


def _outline(candidate: Candidate) -> Outline:
    return Outline(
        candidate.id,
        candidate.kind,
        candidate.qualified_name,
        candidate.start_line,
        candidate.end_line,
        candidate.signature,
    )


def _whole_text(candidate: Candidate, tables: SearchTables) -> str:
    """Return the lines of a symbol, whose stored body is capped, from the chunks of its file."""
    if candidate.table == "chunks":
        return candidate.text
    chunks = file_rows(tables, "chunks", candidate.repository, candidate.path)
    return join_lines(chunks, candidate.start_line, candidate.end_line) or candidate.text


def join_lines(chunks: Sequence[Candidate], first: int, last: int) -> str:
    """Return lines ``first`` to ``last`` of a file from its chunks; blank where none has any."""
    lines: dict[int, str] = {}
    for chunk in chunks:
        for number, line in enumerate(chunk.text.split("\n"), chunk.start_line):
            lines[number] = lines.get(number, "") + line
    wanted = [lines.get(number, "") for number in range(first, last + 1)]
    return "\n".join(wanted) if any(wanted) else ""
