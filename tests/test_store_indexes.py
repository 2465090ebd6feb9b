"""Indexes that follow their tables night by night."""

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance.query import MatchQuery

from resources.store.indexes import cover_new_rows, ensure_vector_indexes, parts_to_merge
from resources.store.specs import vector_column, vector_field

_MODEL = "chance/16"
_COLUMN = vector_column(_MODEL)
_SCHEMA = pa.schema([pa.field("text", pa.string()), vector_field(_MODEL, 16)])


def _rows(count: int, seed: int) -> pa.Table:
    vectors = np.random.default_rng(seed).standard_normal((count, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    flat = pa.array(vectors.astype(np.float16).ravel())
    texts = pa.array([f"common w{row % 100}" for row in range(count)])
    return pa.table([texts, pa.FixedSizeListArray.from_arrays(flat, 16)], schema=_SCHEMA)


def _parts(dataset: lance.LanceDataset) -> dict[str, int]:
    return {index.name: len(index.segments) for index in dataset.describe_indices()}


def _groups(dataset: lance.LanceDataset) -> list[int]:
    stats = dataset.stats.index_stats(_COLUMN)
    return [part["num_partitions"] for part in stats["indices"]]


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_few_parts_are_left_and_large_ones_rest(nights: list[int]) -> None:
    parts: list[int] = []
    for new in nights:
        merged = parts_to_merge(parts, new)
        kept = len(parts) - merged
        parts = [*parts[:kept], sum(parts[kept:]) + new]
        assert all(part > 2 * sum(parts[place + 1 :]) for place, part in enumerate(parts))
    assert sum(parts) == sum(nights)


@pytest.mark.parametrize(
    ("parts", "new", "expected"),
    [
        ([], 10, 0),
        ([10_000_000], 10_000, 0),
        ([10_000_000, 10_000], 10_000, 1),
        ([10_000_000, 50_000, 10_000], 10_000, 1),
        ([100, 30], 60, 2),
    ],
)
def test_part_takes_in_what_is_no_more_than_twice_its_size(
    parts: list[int], new: int, expected: int
) -> None:
    assert parts_to_merge(parts, new) == expected


def test_indexes_follow_the_rows_and_group_vectors_anew_once_they_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCE_INCLUDE_VECTOR_CENTROIDS", "false")
    place = str(tmp_path / "chunks.lance")
    dataset = lance.write_dataset(_rows(4500, 0), place)
    dataset.create_scalar_index("text", "INVERTED", "words")
    ensure_vector_indexes(dataset, 1)
    assert _groups(dataset) == [1]
    for night in range(1, 8):
        dataset = lance.write_dataset(_rows(150, night), place, mode="append")
        cover_new_rows(dataset)
    assert _parts(dataset) == {"words": 3, _COLUMN: 3}
    dataset = lance.write_dataset(_rows(8000, 9), place, mode="append")
    cover_new_rows(dataset)
    assert _parts(dataset) == {"words": 1, _COLUMN: 1}
    assert _groups(dataset) == [3]
    found = dataset.to_table(full_text_query=MatchQuery("common", "text"), columns=["text"])
    assert found.num_rows == dataset.count_rows() == 4500 + 7 * 150 + 8000
