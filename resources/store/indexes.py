"""Indexes of the tables and their upkeep: what makes a change or a question cost what it touches.

A row no index covers yet is found all the same: Lance reads what is not covered.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, Literal

import lance

from resources.store.rows import FRAGMENT_ROWS
from resources.store.specs import SEARCHED, WORDS, vector_column, vector_models

_SCALAR: Final[dict[str, dict[str, Literal["BTREE", "BITMAP"]]]] = {
    "repositories": {"repository": "BTREE"},
    "files": {"repository": "BTREE", "skip_reason": "BITMAP"},
    "chunks": {
        "chunk_id": "BTREE",
        "repository": "BTREE",
        "path": "BTREE",
        "name": "BTREE",
        "content_hash": "BTREE",
        "language": "BITMAP",
        "kind": "BITMAP",
    },
    "symbols": {
        "symbol_id": "BTREE",
        "repository": "BTREE",
        "path": "BTREE",
        "name": "BTREE",
        "natural_name": "BTREE",
        "qualified_name": "BTREE",
        "content_hash": "BTREE",
        "language": "BITMAP",
        "kind": "BITMAP",
    },
    "embeddings": {"text_hash": "BTREE"},
}

# Lance's analyser of code splits identifiers and keeps them whole too. Recall@5 by words over
# 27,065 chunks on three question sets (what code does, commit messages, doc comments): without
# stop words 0.76, 0.56, 0.67; with them 0.75, 0.51, 0.63; unstemmed 0.72, 0.57, 0.67.
_TEXT_OPTIONS: Final[dict[str, Any]] = {
    "analyzer": "code",
    "split_identifiers": True,
    "stem": True,
    "remove_stop_words": True,
}

# Rows with a vector from which an index is faster than reading every vector. Exact search takes
# 7 ms over 27,000 rows of 384 numbers, the index 3 ms, and the exact one misses nothing.
VECTOR_INDEX_ROWS: Final = 50_000

# Bits of a number in the index. Of 30,000 vectors without any order, 100 compared exactly, recall
# is 0.48 with one bit, 0.99 with three, 1.00 with five, for 63, 160 and 254 bytes a vector.
_BITS: Final = 3
_INDEXED_MULTIPLE: Final = 8  # IVF_RQ takes no other number of dimensions

# A question reads every part of an index, merging copies them: a part is merged with what is more
# than a half as large.
_GROWN: Final = 2

# Compaction copies rows, so it waits until this many small fragments or this share of dead rows.
_SMALL_FRAGMENTS: Final = 16
_DEAD_SHARE: Final = 0.1


def ensure_indexes(table: str, dataset: lance.LanceDataset) -> None:
    """Create the scalar and text indexes that ``table`` lacks; drop those it has no use for."""
    present = {index.name for index in dataset.describe_indices()}
    wanted = {f"{column}_values" for column in _SCALAR[table]}
    if table in SEARCHED:
        wanted.add(f"{WORDS}_words")
    for name in sorted(present - wanted):
        if name.endswith(("_values", "_words")):
            dataset.drop_index(name)
    for column, kind in _SCALAR[table].items():
        if (name := f"{column}_values") not in present:
            dataset.create_scalar_index(column, kind, name)
    if table in SEARCHED and (name := f"{WORDS}_words") not in present:
        dataset.create_scalar_index(WORDS, "INVERTED", name, **_TEXT_OPTIONS)


def cover_new_rows(dataset: lance.LanceDataset) -> None:
    """Let every index cover the rows it does not.

    They get a part of their own, so that a night costs what it changed: 0.06 CPU s for 270 of
    27,000 rows, where merging all took 0.75. It takes in the parts before it that it has grown up
    to, so that a large table is not merged anew for small ones, and few parts are ever left. Where
    it takes in all of them, vectors are grouped anew: there are more than their groups were made
    for, or others.
    """
    rows = dataset.count_rows()
    living = {f.fragment_id: f.physical_rows - f.num_deletions for f in dataset.get_fragments()}
    vectors = set(map(vector_column, vector_models(dataset.schema)))
    for index in dataset.describe_indices():
        if index.num_rows_indexed >= rows:
            continue
        parts = [sum(living.get(f, 0) for f in part.fragment_ids) for part in index.segments]
        count = parts_to_merge(parts, rows - index.num_rows_indexed)
        if count == len(parts) and index.name in vectors:
            dataset.optimize.optimize_indices(index_names=[index.name], retrain=True)
        else:
            dataset.optimize.optimize_indices(index_names=[index.name], num_indices_to_merge=count)


def parts_to_merge(parts: Sequence[int], new_rows: int) -> int:
    """Return how many of the last ``parts`` of an index the part of new rows takes in.

    Each part that is left is more than twice as large as all behind it: of ten million rows that
    change by a thousandth a night there are seven at most, and 500 nights until all are merged.

    >>> parts_to_merge([10_000_000, 50_000, 10_000], 10_000)
    1

    Args:
        parts: rows of each part, oldest first.
        new_rows: rows no part has.
    """
    behind = sum(parts) + new_rows
    for place, rows in enumerate(parts):
        behind -= rows
        if rows <= _GROWN * behind:
            return len(parts) - place
    return 0


def ensure_vector_indexes(dataset: lance.LanceDataset, least_rows: int) -> None:
    """Index the vectors of each model of which there are ``least_rows`` or more."""
    present = {index.name for index in dataset.describe_indices()}
    for model_id, dimension in vector_models(dataset.schema).items():
        column = vector_column(model_id)
        if dimension % _INDEXED_MULTIPLE or column in present:
            continue
        if dataset.count_rows(f"{column} IS NOT NULL") < least_rows:
            continue
        dataset.create_index(column, "IVF_RQ", name=column, metric="dot", num_bits=_BITS)


def compact(dataset: lance.LanceDataset) -> bool:
    """Merge small fragments and drop dead rows where that is worth a copy; tell whether it was."""
    sizes = [(f.physical_rows, f.num_deletions) for f in dataset.get_fragments()]
    small = sum(1 for rows, dead in sizes if rows - dead < FRAGMENT_ROWS // 2)
    is_holed = any(dead > rows * _DEAD_SHARE for rows, dead in sizes)
    if small < _SMALL_FRAGMENTS and not is_holed:
        return False
    dataset.optimize.compact_files(
        target_rows_per_fragment=FRAGMENT_ROWS,
        materialize_deletions_threshold=_DEAD_SHARE,
        num_threads=1,
    )
    return True


def drop_old_versions(dataset: lance.LanceDataset, retention: timedelta) -> int:
    """Forget versions older than ``retention`` that no tag names; return the bytes freed.

    Files of writes that were killed go too, which is safe while this process holds the lock.
    """
    stats = dataset.cleanup_old_versions(
        retention, delete_unverified=True, error_if_tagged_old_versions=False
    )
    return int(stats.bytes_removed)
