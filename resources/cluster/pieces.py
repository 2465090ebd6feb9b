"""A stage table cut into pieces that travel: enough rows to be worth it, few enough to hold."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from resources.stages import Batches

Choose = Callable[[pa.RecordBatch], pa.RecordBatch]
"""Picks the rows of a batch that are worked on."""


class Piece(NamedTuple):
    """Some chosen rows of a stage table that follow one another.

    Args:
        number: number of the first row, counted over all chosen rows.
        batch: number of the batch it stands in.
        row: its place among the chosen rows of that batch.
        rows: how many there are, in this batch and the next.
    """

    number: int
    batch: int
    row: int
    rows: int


def cut(sizes: Iterable[Iterable[int]], *, most_rows: int, most_bytes: int) -> Iterator[Piece]:
    """Cut rows into pieces of so many rows and bytes at most, or of one row.

    Args:
        sizes: the bytes of each chosen row, batch by batch.
        most_rows: rows of a piece.
        most_bytes: bytes of a piece.
    """
    number, start, held = 0, (0, 0, 0), 0
    for batch, rows in enumerate(sizes):
        for row, size in enumerate(rows):
            count = number - start[0]
            if count == most_rows or (count and held + size > most_bytes):
                yield Piece(*start, count)
                count, held = 0, 0
            if not count:
                start = (number, batch, row)
            held += size
            number += 1
    if number > start[0]:
        yield Piece(*start, number - start[0])


def read_piece(batches: Batches, piece: Piece, choose: Choose) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece, those of each batch by themselves."""
    skipped, left = piece.row, piece.rows
    for batch in batches.starting_with(piece.batch):
        part = choose(batch).slice(skipped, left)
        skipped = 0
        left -= part.num_rows
        if part.num_rows:
            yield part
        if not left:
            return


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Reads all rows of a piece."""

    batches: Batches

    def __call__(self, piece: Piece) -> list[pa.RecordBatch]:
        """Return them."""
        return list(read_piece(self.batches, piece, lambda batch: batch))
