import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from codelake.schemas import TableSpec, column
from resources.cluster.pieces import cut, read_piece
from resources.stages import Batches, write_batches

_SPEC = TableSpec("numbers", 1, (), (column("n", pa.int64(), "a number; large ones are chosen"),))


def _large(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pc.greater(batch.column("n"), 20))


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 50), max_size=8), max_size=8),
    st.integers(1, 6),
    st.integers(1, 120),
)
def test_pieces_are_bounded_and_read_back_as_the_chosen_rows(
    batches: list[list[int]], most_rows: int, most_bytes: int
) -> None:
    chosen = [[n for n in rows if n > 20] for rows in batches]
    pieces = list(cut(chosen, most_rows=most_rows, most_bytes=most_bytes))
    with tempfile.TemporaryDirectory() as folder:
        table = Batches(Path(folder) / "numbers.arrow", _SPEC)
        made = [pa.RecordBatch.from_pydict({"n": rows}, _SPEC.schema) for rows in batches]
        write_batches(table.path, _SPEC, made)
        found = [
            [n for part in read_piece(table, piece, _large) for n in part.column("n").to_pylist()]
            for piece in pieces
        ]
    assert [n for rows in found for n in rows] == [n for rows in chosen for n in rows]
    assert all(len(rows) == 1 or sum(rows) <= most_bytes for rows in found)
    assert all(0 < len(rows) <= most_rows for rows in found)
    assert [piece.number for piece in pieces] == [
        sum(map(len, found[:place])) for place in range(len(found))
    ]
