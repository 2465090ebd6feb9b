"""Vectors are kept once a text and model, refused if bad, and reach every row with the text."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from codelake.errors import EmbeddingError, SchemaError, StoreError
from codelake.schemas import CHUNKS, EMBEDDINGS, SYMBOLS
from codelake.search.tables import Filters
from resources.store import LanceStore
from tests.stored_rows import (
    DIMENSION,
    MODEL,
    batches,
    chunk,
    embed_all,
    embeddings,
    stored,
    symbol,
    unit,
    vector_of,
)

OTHER = "other/4"


def _vectors(
    store: LanceStore, *rows: dict[str, object], model_id: str = MODEL
) -> list[list[float]]:
    ids = [str(row["chunk_id"]) for row in rows]
    found: list[list[float]] = (
        store.search_tables().vectors("chunks", ids, model_id=model_id).tolist()
    )
    return found


def _expected(row: dict[str, object]) -> list[float]:
    expected: list[float] = vector_of(str(row["text_hash"])).astype(np.float16).tolist()
    return expected


def test_rows_have_no_vector_until_their_text_is_embedded(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    row = chunk("a.py", "1")
    store.replace_rows("chunks", batches=batches(CHUNKS, [row]))
    store.use_model(MODEL, DIMENSION)
    assert store.coverage("chunks") == {"": 1}
    assert _vectors(store, row) == [[0.0] * DIMENSION]
    embed_all(store)
    assert store.coverage("chunks") == {MODEL: 1}
    assert _vectors(store, row) == [_expected(row)]


def test_a_text_waits_once_whatever_rows_have_it(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    same = [chunk(path, "same", repository=r) for path in ("a", "b") for r in ("shop", "fork")]
    store.replace_rows("chunks", batches=batches(CHUNKS, [*same, chunk("c", "other")]))
    store.replace_rows("symbols", batches=batches(SYMBOLS, [symbol("f")]))
    store.use_model(MODEL, DIMENSION)
    texts = [text for _, text in store.pending(MODEL)]
    assert sorted(texts) == ["other", "same", "shop: f"]
    assert store.pending_count(MODEL) == 3
    assert embed_all(store) == 3
    assert store.pending_count(MODEL) == 0
    assert store.coverage("chunks") == {MODEL: 5}
    assert store.coverage("symbols") == {MODEL: 1}


def test_a_known_text_gets_its_vector_as_it_is_written(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    copy = chunk("moved/a.py", "1")
    new = chunk("b.py", "2")
    store.replace_rows("chunks", batches=batches(CHUNKS, [copy, new]))
    assert store.coverage("chunks") == {MODEL: 2, "": 1}
    assert _vectors(store, copy, new) == [_expected(copy), [0.0] * DIMENSION]


def test_kept_vectors_outlive_the_rows(tmp_path: Path) -> None:
    row = chunk("a.py", "1")
    store = stored(tmp_path, row)
    store.replace_rows("chunks", delete_ids=[str(row["chunk_id"])])
    store.optimize()
    store.replace_rows("chunks", batches=batches(CHUNKS, [row]))
    assert store.pending_count(MODEL) == 0
    assert _vectors(store, row) == [_expected(row)]


def test_known_vectors_answers_in_the_order_asked(tmp_path: Path) -> None:
    store = stored(tmp_path)
    store.append_embeddings(embeddings(["1", "2"]))
    known, vectors = store.known_vectors(MODEL, ["2", "0", "1", "2"])
    assert known.tolist() == [True, False, True, True]
    expected = [vector_of("2"), np.zeros(DIMENSION), vector_of("1"), vector_of("2")]
    np.testing.assert_allclose(vectors, np.array(expected), atol=1e-3)
    assert not store.known_vectors(OTHER, ["1"])[0].any()


def test_a_vector_is_kept_once(tmp_path: Path) -> None:
    store = stored(tmp_path)
    assert store.append_embeddings(embeddings(["1", "2", "1"])) == 2
    assert store.append_embeddings(embeddings(["2", "3"])) == 1
    assert store.append_embeddings(embeddings(["2", "3"])) == 0
    assert sorted(store.read("embeddings")["text_hash"].to_pylist()) == ["1", "2", "3"]


def test_many_slices_are_found_before_and_after_upkeep(tmp_path: Path) -> None:
    store = stored(tmp_path)
    hashes = [f"{number:032x}" for number in range(60)]
    for start in range(0, 60, 3):
        store.append_embeddings(embeddings(hashes[start : start + 3]))
    for _ in range(2):
        assert store.known_vectors(MODEL, hashes)[0].all()
        assert store.append_embeddings(embeddings(hashes)) == 0
        store.optimize()


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        (np.zeros(DIMENSION, np.float32), "all zero"),
        (np.array([np.nan, 0, 0, 1], np.float32), "not finite"),
        (np.array([np.inf, 0, 0, 1], np.float32), "not finite"),
        (np.array([3, 0, 0, 1], np.float32), "not of length one"),
        (unit(1, 2, 3), "not 4 numbers"),
        (np.array([], np.float32), "not 4 numbers"),
    ],
    ids=["zero", "nan", "infinite", "unscaled", "short", "empty"],
)
def test_a_bad_vector_is_refused_with_all_that_came_along(
    tmp_path: Path, vector: np.ndarray, reason: str
) -> None:
    store = stored(tmp_path)
    with pytest.raises(EmbeddingError, match=reason):
        store.append_embeddings(embeddings(["good", "bad"], [unit(1, 0, 0, 0), vector]))
    assert store.summary()["embeddings"] == 0


def test_vectors_of_a_model_not_in_use_are_refused(tmp_path: Path) -> None:
    store = stored(tmp_path)
    with pytest.raises(EmbeddingError, match="not in use"):
        store.append_embeddings(embeddings(["1"], model_id=OTHER))


def test_vectors_in_another_shape_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="wants columns"):
        stored(tmp_path).append_embeddings(pa.table({"text_hash": ["1"]}))


def test_a_model_keeps_its_dimension(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="have 4 numbers, not 5"):
        stored(tmp_path).use_model(MODEL, DIMENSION + 1)


def test_the_old_model_answers_until_the_new_one_is_complete(tmp_path: Path) -> None:
    rows = [chunk("a.py", "1"), chunk("b.py", "2")]
    store = stored(tmp_path, *rows)
    store.use_model(OTHER, DIMENSION)
    assert store.pending_count(OTHER) == 2
    store.append_embeddings(embeddings([str(rows[0]["text_hash"])], model_id=OTHER))
    store.fill_vectors("chunks", OTHER)

    def hits(model_id: str) -> int:
        tables = store.search_tables()
        query = np.array([unit(1, 0, 0, 0)])
        (found,) = tables.nearest("chunks", query, model_id=model_id, k=9, filters=Filters())
        return int(found.num_rows)

    assert not store.complete_model(OTHER)
    assert store.search_tables().model_id == MODEL
    assert (hits(MODEL), hits(OTHER)) == (2, 1)
    assert store.coverage("chunks") == {MODEL: 1, OTHER: 1}

    embed_all(store, OTHER)
    assert store.complete_model(OTHER)
    assert store.search_tables().model_id == OTHER
    assert hits(OTHER) == 2
    with pytest.raises(StoreError, match=f"of model {OTHER}"):
        hits(MODEL)


def test_rows_written_between_models_take_what_is_known_of_each(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    store.use_model(OTHER, DIMENSION)
    copy = chunk("copy.py", "1")
    store.replace_rows("chunks", batches=batches(CHUNKS, [copy]))
    assert store.coverage("chunks") == {MODEL: 2}
    embed_all(store, OTHER)
    again = chunk("again.py", "1")
    store.replace_rows("chunks", batches=batches(CHUNKS, [again]))
    assert store.coverage("chunks") == {OTHER: 3}
    assert _vectors(store, again) == _vectors(store, again, model_id=OTHER) == [_expected(again)]


def test_going_back_to_a_model_embeds_nothing_again(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    embed_all(store, OTHER)
    store.complete_model(OTHER)
    assert embed_all(store, MODEL) == 0
    assert store.complete_model(MODEL)
    assert store.coverage("chunks") == {MODEL: 1}


def test_a_switch_that_is_called_off_leaves_the_old_model(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"))
    store.use_model(OTHER, DIMENSION)
    store.use_model(MODEL, DIMENSION)
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("b.py", "2")]))
    embed_all(store)
    assert store.complete_model(MODEL)
    assert store.coverage("chunks") == {MODEL: 2}


def test_filling_vectors_in_leaves_the_words_indexed(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "retry policy")]))
    store.index_new_rows()

    def versions() -> int:
        return sum(version.table == "chunks" for version in store.history())

    indexed = versions()
    store.index_new_rows()
    assert versions() == indexed
    embed_all(store)
    filled = versions()
    store.index_new_rows()
    assert versions() == filled, "an index had to be written again"


def test_kept_vectors_are_half_floats() -> None:
    assert EMBEDDINGS.schema.field("vector").type == pa.list_(pa.float16())
