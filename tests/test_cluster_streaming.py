"""What travels to a node and back, without a cluster."""

import pyarrow as pa
import pytest

from codelake.errors import CodelakeError, EmbeddingError, SourceError
from resources.cluster.pieces import Piece
from resources.cluster.streaming import _read, _received, _work

_ASKED = pa.Table.from_pylist([Piece(0, 0, 0, 2)._asdict(), Piece(2, 1, 0, 1)._asdict()])


def _numbers(piece: Piece) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"n": [piece.number] * piece.rows})]


def _failing_second(piece: Piece) -> list[pa.RecordBatch]:
    if piece.number:
        message = "it is gone"
        raise SourceError(message)
    return _numbers(piece)


def _doubled(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return [*batches, *batches]


def _failing(_batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    message = "no model"
    raise EmbeddingError(message)


def test_answers_keep_the_numbers_of_their_pieces_and_all_batches() -> None:
    answers = _work(_read(_ASKED, _numbers), _doubled).to_pylist()
    assert [answer["number"] for answer in answers] == [0, 2]
    found = [[b.column("n").to_pylist() for b in _received(answer)] for answer in answers]
    assert found == [[[0, 0], [0, 0]], [[2], [2]]]


def test_batches_without_rows_come_back_too() -> None:
    empty = pa.RecordBatch.from_pydict({"n": pa.array([], pa.int64())})
    (first, _) = _read(_ASKED, lambda _piece: [empty]).to_pylist()
    assert _received(first) == [empty]


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [(_doubled, SourceError, "it is gone"), (_failing, EmbeddingError, "no model")],
    ids=["reading", "working"],
)
def test_error_of_ours_is_raised_where_the_answer_is_read(
    work: object, error: type[CodelakeError], message: str
) -> None:
    answers = _work(_read(_ASKED, _failing_second), work).to_pylist()  # type: ignore[arg-type]
    with pytest.raises(error, match=message):
        [_received(answer) for answer in answers]
