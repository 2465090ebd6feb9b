"""Parsing on a cluster: the same worker processes with their limits, on every node.

A file that may hold a secret is parsed on the machine that reads it, so that the secret does not
travel; the others are parsed anywhere. What a grammar did in one place is made known to the rest
here, by the number of each file: the rows are those of a run on one machine.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from codelake.schemas import SYNTAX
from codelake.secrets import find_suspects
from codelake.settings import Settings
from resources.cluster.pieces import Piece, read_piece
from resources.contents import read_contents, to_parse
from resources.parser_faults import GRAMMAR_STOPPED, Fault, find_stops
from resources.parser_pool import ParserPool
from resources.stages import Batches

_NUMBER: Final = "number"
_MARKS: Final = (_NUMBER, "size", "fault")  # columns beside those of the rows

# The pool of this process by run: its workers and what it knows of grammars serve further pieces.
_POOLS: Final[dict[str, ParserPool]] = {}


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Reads the contents of the files of a piece; parses those that may hold a secret."""

    repositories: pa.Table
    files: Batches
    settings: Settings
    run: str

    def __call__(self, piece: Piece) -> list[pa.RecordBatch]:
        """Return files with their contents and files that are parsed, all with their numbers."""
        batches = self.contents(piece)
        if not self.settings.secrets.redact:
            return batches
        found = []
        for batch in batches:
            suspects = pa.array(find_suspects(batch.column("content"), batch.column("path")))
            found.append(batch.filter(pc.invert(suspects)))
            held = batch.filter(suspects)
            found.append(parse_numbered(held, self.settings, self.run) if held.num_rows else held)
        return [batch for batch in found if batch.num_rows]

    def contents(self, piece: Piece) -> list[pa.RecordBatch]:
        """Return the files of a piece with their contents and numbers."""
        rows = read_piece(self.files, piece, to_parse)
        batches, first = [], piece.number
        for batch in read_contents(self.repositories, rows, self.settings):
            numbers = pa.array(range(first, first + batch.num_rows), pa.int64())
            batches.append(batch.append_column(_NUMBER, numbers))
            first += batch.num_rows
        return batches


@dataclass(frozen=True, slots=True)
class ParseFiles:
    """Parses what of a piece is not parsed yet."""

    settings: Settings
    run: str

    def __call__(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Return rows of the syntax table with their marks, as they come."""
        return [
            parse_numbered(batch, self.settings, self.run)
            if "content" in batch.schema.names
            else batch
            for batch in batches
        ]


def parse_numbered(batch: pa.RecordBatch, settings: Settings, run: str) -> pa.RecordBatch:
    """Parse files with numbers in a worker process of this process."""
    if run not in _POOLS:
        while _POOLS:
            _POOLS.popitem()[1].close()
        _POOLS[run] = ParserPool(1, settings)
    return _parsed(batch, _POOLS[run])


def _parsed(batch: pa.RecordBatch, pool: ParserPool) -> pa.RecordBatch:
    numbers = batch.column(_NUMBER).to_pylist()
    (rows,) = pool.map_numbered([(numbers, batch.drop_columns([_NUMBER]))])
    faults = [pool.faults.get(number) for number in numbers]
    sizes = pc.binary_length(batch.column("content")).cast(pa.int64())
    reasons = pa.array([fault.reason if fault else "" for fault in faults], pa.string())
    for name, column in zip(_MARKS, (batch.column(_NUMBER), sizes, reasons), strict=True):
        rows = rows.append_column(name, column)
    return rows


def settle(
    answers: Iterable[tuple[Piece, list[pa.RecordBatch]]], reader: ReadFiles
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all pieces as if one process had parsed them in order.

    Args:
        answers: each piece and its parsed files, in the order of pieces.
        reader: reads a piece once more where some of its files should not have been parsed.
    """
    faults: dict[int, Fault] = {}
    for piece, batches in answers:
        rows = pa.Table.from_batches(batches).sort_by(_NUMBER)
        _note_faults(rows, faults)
        late = _parsed_too_late(rows, faults)
        if late:
            rows = _once_more(rows, late, faults, reader, piece)
        yield from _by_repository(rows)


def _note_faults(rows: pa.Table, faults: dict[int, Fault]) -> None:
    marked = rows.filter(pc.not_equal(rows["fault"], ""))
    for row in marked.select([*_MARKS, "language"]).to_pylist():
        faults[row[_NUMBER]] = Fault(row["fault"], row["language"], row["size"], is_fatal=False)


def _parsed_too_late(rows: pa.Table, faults: dict[int, Fault]) -> list[int]:
    """Return the numbers of the files whose grammar had stopped on a file before them."""
    stops = find_stops(faults)
    if not stops:
        return []
    columns = [_NUMBER, "language", "parse_reason", "skip_reason"]
    return [
        row[_NUMBER]
        for row in rows.select(columns).to_pylist()
        if stops.get(row["language"], row[_NUMBER]) < row[_NUMBER]
        and row["parse_reason"] != GRAMMAR_STOPPED
        and not row["skip_reason"]
    ]


def _once_more(
    rows: pa.Table, late: Sequence[int], faults: dict[int, Fault], reader: ReadFiles, piece: Piece
) -> pa.Table:
    """Cut the files ``late`` by lines, in this process, and put them in their places."""
    wanted = pa.array(late, pa.int64())
    parts = [rows.filter(pc.invert(pc.is_in(rows[_NUMBER], wanted)))]
    with ParserPool(1, reader.settings) as pool:
        pool.faults.update(faults)
        for batch in reader.contents(piece):
            some = batch.filter(pc.is_in(batch.column(_NUMBER), wanted))
            if some.num_rows:
                parts.append(pa.Table.from_batches([_parsed(some, pool)]))
    return pa.concat_tables(parts).sort_by(_NUMBER)


def _by_repository(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield rows without their marks, a batch for each repository as local parsing does."""
    rows = rows.drop_columns(list(_MARKS)).combine_chunks()
    start = 0
    for run in pc.run_end_encode(rows["repository"].combine_chunks()).run_ends.to_pylist():
        (batch,) = rows.slice(start, run - start).to_batches()
        yield pa.RecordBatch.from_arrays(batch.columns, schema=SYNTAX.schema)
        start = run
