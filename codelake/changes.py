"""What differs between the rows just made and the rows stored, by the hashes in their ids.

>>> from codelake.schemas import SYMBOLS
>>> rows = SYMBOLS.table()
>>> diff_rows("symbols", rows, rows).num_rows
0
"""

from dataclasses import dataclass
from typing import Final

import polars as pl
import pyarrow as pa

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
    columns = list(DIFF_COLUMNS[table])
    id_column = _ID[table]
    fresh = _frame(new, columns).with_row_index("order")
    old = _frame(stored, columns)
    kept = _kept(fresh, old, id_column)
    added = _in_gaps(fresh, kept, id_column).filter(~pl.col("is_kept"))
    gone = _in_gaps(old, kept, id_column).filter(~pl.col("is_kept"))
    replaces = _replaced(table, added, gone)
    changes = (
        fresh.join(kept, on=id_column, how="left")
        .join(replaces, on=id_column, how="left", suffix="_old")
        .sort("order")
        .select(
            *_FILE,
            pl.col(id_column).alias("row_id"),
            pl.when(pl.col("is_moved"))
            .then(pl.lit("moved"))
            .when(pl.col("is_moved").is_not_null())
            .then(pl.lit("unchanged"))
            .when(pl.col("replaces").is_not_null())
            .then(pl.lit("modified"))
            .otherwise(pl.lit("added"))
            .alias("change"),
            pl.col("replaces").fill_null(""),
            "text_hash",
        )
    )
    deleted = (
        gone.join(replaces, left_on=id_column, right_on="replaces", how="anti")
        .sort(*_FILE, "start_byte", id_column)
        .select(
            *_FILE,
            pl.col(id_column).alias("row_id"),
            pl.lit("deleted").alias("change"),
            pl.lit("").alias("replaces"),
            pl.lit("").alias("text_hash"),
        )
    )
    return _changes(table, pl.concat([changes, deleted]))


def written_ids(changes: pa.Table) -> pa.Array:
    """Return the ids of the new rows that are to be written."""
    return _ids(changes, pl.col("change").is_in(_WRITTEN), "row_id")


def deleted_ids(changes: pa.Table) -> pa.Array:
    """Return the ids of the stored rows that are to be deleted, replaced ones included."""
    deleted = _ids(changes, pl.col("change") == "deleted", "row_id")
    replaced = _ids(changes, pl.col("change") == "modified", "replaces")
    return pa.concat_arrays([deleted, replaced])


def count_changes(changes: pa.Table) -> dict[str, ChangeCounts]:
    """Return the counts of each table that ``changes`` speaks of."""
    frame = _from_arrow(changes.select(["table", "change"]))
    counts: dict[str, dict[str, int]] = {}
    for table, change, count in frame.group_by("table", "change").len().iter_rows():
        name = "unchanged" if change == "moved" else change
        of_table = counts.setdefault(table, {})
        of_table[name] = of_table.get(name, 0) + count
    return {table: ChangeCounts(**of_table) for table, of_table in sorted(counts.items())}


def _frame(rows: pa.Table, columns: list[str]) -> pl.DataFrame:
    return _from_arrow(rows.select(columns))


def _from_arrow(rows: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table becomes a frame, not a series
    return frame


def _kept(fresh: pl.DataFrame, old: pl.DataFrame, id_column: str) -> pl.DataFrame:
    """Return the ids on both sides, each with whether any other column differs."""
    others = [name for name in old.columns if name != id_column]
    both = fresh.join(old, on=id_column, how="inner", suffix="_old")
    differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_old")) for name in others)
    return both.select(id_column, differs.alias("is_moved"))


def _in_gaps(rows: pl.DataFrame, kept: pl.DataFrame, id_column: str) -> pl.DataFrame:
    """Add whether a row is kept, and how many kept rows of its file stand before it."""
    is_kept = pl.col("is_moved").is_not_null().alias("is_kept")
    return (
        rows.join(kept, on=id_column, how="left")
        .with_columns(is_kept)
        .sort(*_FILE, "start_byte", id_column)
        .with_columns(pl.col("is_kept").cum_sum().over(_FILE).alias("gap"))
    )


def _replaced(table: str, added: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame:
    """Pair new rows with vanished ones: by kind and name first, then by the gap they stand in."""
    id_column, name = _ID[table], _NAME[table]
    named = _paired(
        added.filter(pl.col(name) != ""),
        gone.filter(pl.col(name) != ""),
        [*_FILE, "kind", name],
        id_column,
    )
    placed = _paired(
        added.join(named, on=id_column, how="anti"),
        gone.join(named, left_on=id_column, right_on="replaces", how="anti"),
        [*_FILE, "gap"],
        id_column,
    )
    return pl.concat([named, placed])


def _paired(
    added: pl.DataFrame, gone: pl.DataFrame, keys: list[str], id_column: str
) -> pl.DataFrame:
    """Pair the n-th new row of a key with the n-th vanished one."""
    nth = pl.int_range(pl.len()).over(keys).alias("nth")
    new = added.select(*keys, id_column, nth)
    old = gone.select(*keys, pl.col(id_column).alias("replaces"), nth)
    return new.join(old, on=[*keys, "nth"], how="inner").select(id_column, "replaces")


def _changes(table: str, frame: pl.DataFrame) -> pa.Table:
    full = frame.with_columns(pl.lit(table).alias("table")).select(CHANGES.schema.names)
    return full.to_arrow().cast(CHANGES.schema)


def _ids(changes: pa.Table, which: pl.Expr, column: str) -> pa.Array:
    chosen = _from_arrow(changes).filter(which)[column]
    return chosen.to_arrow().cast(pa.string())
