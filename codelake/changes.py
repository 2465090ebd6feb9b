"""What differs between the rows just made and the rows stored, by the hashes in their ids.

>>> from codelake.schemas import SYMBOLS
>>> rows = SYMBOLS.table()
>>> diff_rows("symbols", rows, rows).num_rows
0
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from codelake.schemas import CHANGES, TABLES

_ID: Final = {"chunks": "chunk_id", "symbols": "symbol_id"}
_NAME: Final = {"chunks": "scope", "symbols": "qualified_name"}

# An id holds the hash of the text, so equal ids mean equal texts; texts need not be compared.
_TEXTS: Final = frozenset({"text", "body", "embedded_text"})

DIFF_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    table: tuple(name for name in TABLES[table].schema.names if name not in _TEXTS) for table in _ID
}
"""The columns of each table that :func:`diff_rows` compares; reading no more keeps it light."""

_FILE: Final = ["repository", "path"]
_WRITTEN: Final = ("moved", "added", "modified")


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """Rows by what happened to them; a row that only moved counts as unchanged."""

    unchanged: int = 0
    added: int = 0
    modified: int = 0
    deleted: int = 0


def diff_rows(table: str, new: pa.Table, stored: pa.Table) -> pa.Table:
    """Compare the rows of some files with the stored rows of the same files.

    A new row takes the place of a vanished one of its file if both have the kind and a name, or
    else if both stand between the same unchanged rows; it is then *modified*, not added.

    Args:
        table: chunks or symbols.
        new: rows with at least :data:`DIFF_COLUMNS`.
        stored: rows with the same columns; none for a file that is new.

    Returns:
        ``CHANGES``: a row for each new row, in their order, then one for each deleted row.
    """
    id_column = _ID[table]
    places = pc.index_in(new[id_column], value_set=stored[id_column].combine_chunks())
    is_kept = places.is_valid().to_numpy()
    was_kept = np.zeros(stored.num_rows, np.bool_)
    was_kept[places.drop_null().to_numpy()] = True
    added = _Side.of(table, new, is_kept)
    gone = _Side.of(table, stored, was_kept)
    pairs = dict(_pairs(added, gone))
    kinds = np.full(new.num_rows, "added", object)
    kinds[is_kept] = np.where(_moved(table, new, stored, places), "moved", "unchanged")
    kinds[list(pairs)] = "modified"
    old_ids, replaces = stored[id_column], np.full(new.num_rows, "", object)
    replaces[list(pairs)] = old_ids.take(pa.array(pairs.values(), pa.int64())).to_pylist()
    taken = set(pairs.values())
    deleted = stored.take(pa.array([row for row in gone.rows if row not in taken], pa.int64()))
    texts = new["text_hash"]
    return pa.concat_tables(
        [
            _changes(
                table, new, pa.array(kinds, pa.string()), pa.array(replaces, pa.string()), texts
            ),
            _changes(table, deleted, "deleted", "", ""),
        ]
    )


def written_ids(changes: pa.Table) -> pa.Array:
    """Return the ids of the new rows that are to be written."""
    is_written = pc.is_in(changes["change"], value_set=pa.array(_WRITTEN))
    return changes.filter(is_written)["row_id"].combine_chunks()


def deleted_ids(changes: pa.Table) -> pa.Array:
    """Return the ids of the stored rows that are to be deleted, replaced ones included."""
    deleted = changes.filter(pc.equal(changes["change"], "deleted"))["row_id"]
    replaced = changes.filter(pc.equal(changes["change"], "modified"))["replaces"]
    return pa.concat_arrays([deleted.combine_chunks(), replaced.combine_chunks()])


def count_changes(changes: pa.Table) -> dict[str, ChangeCounts]:
    """Return the counts of each table that ``changes`` speaks of."""
    found = changes.group_by(["table", "change"]).aggregate([([], "count_all")])
    counts: dict[str, dict[str, int]] = {}
    for row in found.to_pylist():
        name = "unchanged" if row["change"] == "moved" else row["change"]
        of_table = counts.setdefault(row["table"], {})
        of_table[name] = of_table.get(name, 0) + row["count_all"]
    return {table: ChangeCounts(**of_table) for table, of_table in sorted(counts.items())}


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows of one side that the other has not, in the order they stand in their files.

    Args:
        rows: their numbers.
        named: file, kind and name of each; the name is empty where there is none.
        placed: file of each, and how many rows that stay stand before it there.
    """

    rows: list[int]
    named: list[tuple[object, ...]]
    placed: list[tuple[object, ...]]

    @classmethod
    def of(cls, table: str, rows: pa.Table, is_kept: NDArray[np.bool_]) -> "_Side":
        """Take the rows that are not kept."""
        if is_kept.all():
            return cls([], [], [])
        order = pc.sort_indices(
            rows, [(name, "ascending") for name in (*_FILE, "start_byte", _ID[table])]
        ).to_numpy()
        before = np.cumsum(is_kept[order])
        lone = ~is_kept[order]
        chosen = order[lone]
        columns = rows.select([*_FILE, "kind", _NAME[table]]).take(pa.array(chosen))
        repositories, paths, kinds, names = (column.to_pylist() for column in columns.columns)
        # The count runs on from file to file: what stays of the files before is the same number
        # on both sides, since what stays is in both.
        placed = zip(repositories, paths, before[lone].tolist(), strict=True)
        named = zip(repositories, paths, kinds, names, strict=True)
        return cls(chosen.tolist(), list(named), list(placed))


def _pairs(added: _Side, gone: _Side) -> Iterator[tuple[int, int]]:
    """Pair new rows with vanished ones: by kind and name first, then by the gap they stand in."""
    if not added.rows or not gone.rows:
        return
    left, lost = dict(enumerate(added.rows)), dict(enumerate(gone.rows))
    for new_keys, old_keys in (
        ([key if key[-1] else None for key in added.named], gone.named),
        (added.placed, gone.placed),
    ):
        for new, old in list(_paired(new_keys, old_keys, left, lost)):
            yield left.pop(new), lost.pop(old)


def _paired(
    added: Sequence[tuple[object, ...] | None],
    gone: Sequence[tuple[object, ...]],
    left: Collection[int],
    lost: Collection[int],
) -> Iterator[tuple[int, int]]:
    """Pair the n-th new row of a key with the n-th vanished one, of those not yet paired."""
    waiting: dict[tuple[object, ...], deque[int]] = {}
    for row in lost:
        waiting.setdefault(gone[row], deque()).append(row)
    for row in left:
        key = added[row]
        if key is not None and waiting.get(key):
            yield row, waiting[key].popleft()


def _moved(
    table: str, new: pa.Table, stored: pa.Table, places: pa.ChunkedArray
) -> NDArray[np.bool_]:
    """Return, for each new row that is stored, whether any column but its id differs."""
    fresh, old = new.filter(places.is_valid()), stored.take(places.drop_null())
    is_moved = np.zeros(fresh.num_rows, np.bool_)
    for name in DIFF_COLUMNS[table]:
        for one, other in zip(_comparable(fresh[name]), _comparable(old[name]), strict=True):
            is_moved |= pc.not_equal(one, other).to_numpy()
    return is_moved


def _comparable(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Return columns that are equal where the values are; Arrow does not compare lists."""
    if not pa.types.is_list(column.type):
        return [column]
    return [pc.list_value_length(column), pc.binary_join(column, "\0")]


def _changes(
    table: str,
    rows: pa.Table,
    change: pa.Array | str,
    replaces: pa.Array | str,
    text_hash: pa.ChunkedArray | str,
) -> pa.Table:
    columns = {
        "table": table,
        "row_id": rows[_ID[table]],
        "change": change,
        "replaces": replaces,
        "text_hash": text_hash,
    } | {name: rows[name] for name in _FILE}
    arrays = [
        pa.array([value] * rows.num_rows, pa.string()) if isinstance(value, str) else value
        for value in (columns[name] for name in CHANGES.schema.names)
    ]
    return pa.Table.from_arrays(arrays, schema=CHANGES.schema)
