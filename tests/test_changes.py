"""What changed between two states of some files, and that applying it leads from one to the other.

The laws are checked over generated files of named pieces that move, change, come and go.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.changes import (
    ChangeCounts,
    count_changes,
    deleted_ids,
    diff_rows,
    written_ids,
)
from codelake.hashing import content_hash, row_id
from codelake.schemas import CHANGES, CHUNKS, SYMBOLS, TableSpec

Piece = tuple[str, str]  # name and body
Files = dict[str, list[Piece]]

_BLANK = {"string": "", "int64": 0, "bool": False}


def _row(spec: TableSpec, **values: object) -> dict[str, object]:
    return {f.name: _BLANK.get(str(f.type), []) for f in spec.columns} | values


def chunks(files: Files) -> pa.Table:
    rows = []
    for path, pieces in files.items():
        line, seen = 1, dict[str, int]()
        for name, body in pieces:
            body_hash = content_hash(body)
            seen[body] = seen.get(body, -1) + 1
            rows.append(
                _row(
                    CHUNKS,
                    chunk_id=row_id("chunk", "r", path, body_hash, str(seen[body])),
                    repository="r",
                    path=path,
                    start_line=line,
                    end_line=line,
                    start_byte=line * 10,
                    end_byte=line * 10 + len(body),
                    kind="function",
                    scope=name,
                    text=body,
                    content_hash=body_hash,
                    text_hash=content_hash(name + body),
                )
            )
            line += 1 + body.count("\n")
    return CHUNKS.table(rows)


def changes(new: Files, stored: Files) -> list[tuple[str, str]]:
    diff = diff_rows("chunks", chunks(new), chunks(stored))
    CHANGES.check(diff)
    return list(zip(diff["path"].to_pylist(), diff["change"].to_pylist(), strict=True))


def test_an_inserted_line_moves_what_follows() -> None:
    before = {"a.py": [("f", "one"), ("g", "two")]}
    after = {"a.py": [("", "new"), ("f", "one"), ("g", "two")]}
    assert changes(after, before) == [("a.py", "added"), ("a.py", "moved"), ("a.py", "moved")]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([("f", "1"), ("g", "2")], [("f", "1"), ("g", "3")], ["unchanged", "modified"]),
        ([("", "1"), ("g", "2")], [("", "9"), ("g", "2")], ["modified", "unchanged"]),
        ([("f", "1")], [("h", "1 + 1")], ["modified"]),
        ([("f", "1"), ("g", "2")], [("f", "1")], ["unchanged", "deleted"]),
        ([("f", "1")], [], ["deleted"]),
        ([], [("f", "1")], ["added"]),
        # another place in the file: what stands between decides, not the number
        (
            [("f", "1"), ("g", "2")],
            [("g", "2"), ("h", "3")],
            ["moved", "added", "deleted"],
        ),
        ([("f", "1"), ("f", "2")], [("f", "2"), ("f", "3")], ["moved", "modified"]),
    ],
)
def test_a_new_row_takes_the_place_of_the_like_that_vanished(
    before: list[Piece], after: list[Piece], expected: list[str]
) -> None:
    assert [c for _, c in changes({"a.py": after}, {"a.py": before})] == expected


def test_rows_of_another_file_are_no_like() -> None:
    assert changes({"b.py": [("f", "1")]}, {"a.py": [("f", "1")]}) == [
        ("b.py", "added"),
        ("a.py", "deleted"),
    ]


def test_a_flag_that_changes_moves_the_row() -> None:
    stored = chunks({"a.py": [("f", "1")]})
    flagged = pa.array([True])
    new = stored.set_column(
        stored.schema.get_field_index("is_test"), stored.schema.field("is_test"), flagged
    )
    assert diff_rows("chunks", new, stored)["change"].to_pylist() == ["moved"]


def test_lists_are_compared_by_what_they_hold() -> None:
    row = _row(CHUNKS, chunk_id="1", repository="r", path="p", symbols=["a", "b"])
    stored = CHUNKS.table([row])
    new = CHUNKS.table([row | {"symbols": ["a", "c"]}])
    assert diff_rows("chunks", new, stored)["change"].to_pylist() == ["moved"]
    assert diff_rows("chunks", stored, stored)["change"].to_pylist() == ["unchanged"]


def test_symbols_pair_by_kind_and_qualified_name() -> None:
    def symbol(number: str, kind: str, name: str) -> dict[str, object]:
        return _row(
            SYMBOLS, symbol_id=number, repository="r", path="p", kind=kind, qualified_name=name
        )

    stored = SYMBOLS.table([symbol("1", "function", "f"), symbol("2", "class", "C")])
    new = SYMBOLS.table([symbol("3", "class", "C"), symbol("4", "function", "f")])
    diff = diff_rows("symbols", new, stored)
    assert diff["change"].to_pylist() == ["modified", "modified"]
    assert diff["replaces"].to_pylist() == ["2", "1"]


def test_counts_take_a_move_for_unchanged() -> None:
    before = {"a.py": [("f", "1"), ("g", "2"), ("h", "3"), ("i", "4")]}
    after = {"a.py": [("", "0"), ("f", "1"), ("g", "2 + 2"), ("i", "4")]}
    diff = diff_rows("chunks", chunks(after), chunks(before))
    assert count_changes(diff) == {
        "chunks": ChangeCounts(unchanged=2, added=1, modified=1, deleted=1)
    }


_PIECES = st.lists(st.tuples(st.sampled_from(["", "f", "g", "C.m"]), st.sampled_from("abcdef")))
_FILES = st.dictionaries(st.sampled_from(["a.py", "b/a.py", "c'; --"]), _PIECES)


@given(_FILES)
def test_nothing_changes_between_a_state_and_itself(files: Files) -> None:
    assert {change for _, change in changes(files, files)} <= {"unchanged"}


@given(_FILES, _FILES)
def test_applying_the_changes_to_the_stored_rows_gives_the_new_ones(new: Files, old: Files) -> None:
    fresh, stored = chunks(new), chunks(old)
    diff = diff_rows("chunks", fresh, stored)
    written = fresh.filter(pc.is_in(fresh["chunk_id"], value_set=written_ids(diff)))
    gone = pa.concat_arrays([deleted_ids(diff), written["chunk_id"].combine_chunks()])
    rest = stored.filter(pc.invert(pc.is_in(stored["chunk_id"], value_set=gone)))
    assert _sorted(pa.concat_tables([rest, written])) == _sorted(fresh)


@given(_FILES, _FILES)
def test_every_row_is_counted_once(new: Files, old: Files) -> None:
    fresh, stored = chunks(new), chunks(old)
    diff = diff_rows("chunks", fresh, stored)
    count = count_changes(diff).get("chunks", ChangeCounts())
    assert count.unchanged + count.added + count.modified == fresh.num_rows
    assert count.unchanged + count.modified + count.deleted == stored.num_rows
    assert len(diff["row_id"].unique()) == diff.num_rows


@given(_FILES, _FILES)
def test_the_changes_keep_the_order_of_the_new_rows(new: Files, old: Files) -> None:
    fresh = chunks(new)
    diff = diff_rows("chunks", fresh, chunks(old))
    assert diff["row_id"].to_pylist()[: fresh.num_rows] == fresh["chunk_id"].to_pylist()


def _sorted(table: pa.Table) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = table.sort_by("chunk_id").to_pylist()
    return rows
