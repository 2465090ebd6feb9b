"""Vectors: kept once a text and model, and copied into the rows that have the text."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.fragment import FragmentMetadata
from numpy.typing import NDArray

from codelake.errors import EmbeddingError
from codelake.schemas import EMBEDDINGS
from resources.memory import release_memory
from resources.store.predicates import GROUP_VALUES, HAS_TEXT, differs, equals, is_one_of
from resources.store.rows import SCAN_FACTOR
from resources.store.specs import MODEL_COLUMN, vector_column

# float16 keeps three digits: a unit vector's length comes back within this of one.
_LENGTH_TOLERANCE: Final = 0.01
_PENDING_ROWS: Final = 1024
_LOOKED_UP_ROWS: Final = 1024

Vectors = NDArray[np.float16]
Lookup = Callable[[str, Sequence[str]], tuple[NDArray[np.bool_], Vectors]]


def check_vectors(table: pa.Table, dimensions: dict[str, int]) -> None:
    """Refuse rows of ``EMBEDDINGS`` that would be found nowhere or spoil a search.

    Args:
        table: the rows.
        dimensions: the dimension of each model the store has columns for.

    Raises:
        SchemaError: the table has another shape.
        EmbeddingError: a vector is of the wrong length, not finite or not a unit vector.
    """
    EMBEDDINGS.check(table)
    for model_id in pc.unique(table["model_id"]).to_pylist():
        if model_id not in dimensions:
            message = f"model {model_id!r} is not in use in this store: call use_model first"
            raise EmbeddingError(message)
        rows = table.filter(pc.equal(table["model_id"], model_id))
        _check_model(rows, model_id, dimensions[model_id])


def _check_model(rows: pa.Table, model_id: str, dimension: int) -> None:
    lengths = pc.list_value_length(rows["vector"])
    _refuse(
        rows,
        pc.not_equal(lengths, dimension).to_numpy(),
        f"not {dimension} numbers, which {model_id!r} has",
    )
    is_bad = bad_vectors(rows["vector"].combine_chunks(), dimension)
    _refuse(rows, is_bad, "not finite, all zero or not of length one")


def bad_vectors(column: pa.Array, dimension: int | None) -> NDArray[np.bool_]:
    """Return which vectors are missing, not finite or not of length one.

    Args:
        column: a column of lists of float16.
        dimension: numbers each vector has; None if they may differ.
    """
    bad: NDArray[np.bool_] = ~column.is_valid().to_numpy(zero_copy_only=False)
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    for width in [dimension] if dimension is not None else np.unique(lengths[~bad]).tolist():
        rows = np.flatnonzero(~bad & (lengths == width))
        vectors = matrix(column.take(pa.array(rows)), width).astype(np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        # written so that NaN, which compares to nothing, is bad
        bad[rows] = ~(np.abs(norms - 1) <= _LENGTH_TOLERANCE)
    return bad


def _refuse(rows: pa.Table, bad: NDArray[np.bool_], reason: str) -> None:
    if bad.any():
        first = rows["text_hash"][int(np.argmax(bad))].as_py()
        message = f"{int(bad.sum())} vectors refused, the first of text {first}: {reason}"
        raise EmbeddingError(message)


def matrix(column: pa.ChunkedArray | pa.Array, dimension: int) -> Vectors:
    """Return a column of vectors, none of them missing, as rows of a matrix."""
    arrays = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [array.flatten().to_numpy(zero_copy_only=False) for array in arrays]
    flat = np.concatenate(parts) if parts else np.empty(0, np.float16)
    return flat.reshape(-1, dimension)


def vector_array(vectors: Vectors, known: NDArray[np.bool_]) -> pa.FixedSizeListArray:
    """Return ``vectors`` as an Arrow column with no value where ``known`` is false."""
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float16).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1], mask=pa.array(~known))


def look_up(
    dataset: lance.LanceDataset, model_id: str, hashes: Sequence[str], dimension: int
) -> tuple[NDArray[np.bool_], Vectors]:
    """Return for each text hash whether its vector is stored, and the vectors (else zeros)."""
    known = np.zeros(len(hashes), np.bool_)
    vectors = np.zeros((len(hashes), dimension), np.float16)
    stored = dataset.count_rows()
    if not stored:
        return known, vectors
    wanted = pa.array(hashes, pa.string())
    for found in _found(dataset, model_id, pc.unique(wanted), stored, ["text_hash", "vector"]):
        places = pc.index_in(wanted, value_set=found.column("text_hash"))
        hit = places.is_valid().to_numpy(zero_copy_only=False)
        known |= hit
        vectors[hit] = matrix(found.column("vector"), dimension)[places.drop_null().to_numpy()]
    return known, vectors


def unknown_hashes(dataset: lance.LanceDataset, model_id: str, hashes: pa.Array) -> pa.Array:
    """Return those of ``hashes``, each once, whose vectors are not stored."""
    wanted = pc.unique(hashes)
    stored = dataset.count_rows()
    if not stored or not len(wanted):
        return wanted
    is_known = np.zeros(len(wanted), np.bool_)
    for part in _found(dataset, model_id, wanted, stored, ["text_hash"]):
        is_known |= pc.is_in(wanted, value_set=part.column("text_hash")).to_numpy(
            zero_copy_only=False
        )
    return wanted.filter(pa.array(~is_known))


def _found(
    dataset: lance.LanceDataset, model_id: str, wanted: pa.Array, stored: int, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield stored rows of the model: those of the hashes ``wanted``, or all if that is faster.

    Of many hashes the index and the pages it points to would stay in memory, 60 MB for 30,000.
    """
    if len(wanted) * SCAN_FACTOR > stored:
        filters = [equals("model_id", model_id)]
    else:
        filters = [_of_model(model_id, group.to_pylist()) for group in _groups(wanted)]
    for predicate in filters:
        yield from dataset.to_batches(
            columns=columns, filter=predicate, batch_size=_LOOKED_UP_ROWS, batch_readahead=1
        )


def _of_model(model_id: str, hashes: list[str]) -> str:
    return f"{equals('model_id', model_id)} AND {is_one_of('text_hash', hashes)}"


def _groups(values: pa.Array) -> Iterator[pa.Array]:
    for start in range(0, len(values), GROUP_VALUES):
        yield values.slice(start, GROUP_VALUES)


def with_vectors(
    batch: pa.RecordBatch, schema: pa.Schema, models: dict[str, int], look: Lookup
) -> pa.RecordBatch:
    """Return rows of a stage as rows of the store: with what vectors are known for their texts.

    Args:
        batch: the rows.
        schema: the stored table's schema.
        models: dimension of each model the table has a column for, the one to come first.
        look: finds vectors by model and text hashes.
    """
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    hashes = batch.column("text_hash").to_pylist()
    newest = np.full(batch.num_rows, "", dtype=object)
    for model_id, dimension in models.items():
        known, vectors = look(model_id, hashes)
        columns[vector_column(model_id)] = (
            vector_array(vectors, known)
            if known.any()
            else pa.nulls(batch.num_rows, pa.list_(pa.float16(), dimension))
        )
        newest[known & (newest == "")] = model_id
    columns[MODEL_COLUMN] = pa.array(newest, pa.string())
    # the column of a model that is no longer in use stays empty until it is dropped
    arrays = [columns.get(f.name, pa.nulls(batch.num_rows, f.type)) for f in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def waits_for(model_id: str) -> str:
    """Return a predicate for rows that lack a vector of ``model_id`` and are to have one.

    It reads two columns: 0.09 CPU s a million rows. A bitmap index on the model makes that 0.007
    where every row has a text, and 0.28 where half of them have none.
    """
    return f"{differs(MODEL_COLUMN, model_id)} AND {HAS_TEXT}"


def waiting_rows(datasets: Sequence[lance.LanceDataset], model_id: str) -> dict[str, int]:
    """Return, by repository, how many rows wait for a vector of ``model_id``."""
    parts = [d.to_table(columns=["repository"], filter=waits_for(model_id)) for d in datasets]
    counts = pc.value_counts(pa.concat_tables(parts)["repository"])
    return {item["values"]: item["counts"] for item in counts.to_pylist()}


def pending_hashes(
    datasets: Sequence[lance.LanceDataset], embeddings: lance.LanceDataset, model_id: str
) -> pa.Array:
    """Return the hash of each text of some row that has no stored vector of ``model_id``."""
    columns = [
        dataset.to_table(columns=["text_hash"], filter=waits_for(model_id))["text_hash"]
        for dataset in datasets
    ]
    hashes = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
    return unknown_hashes(embeddings, model_id, hashes.combine_chunks())


def pending_texts(
    datasets: Sequence[lance.LanceDataset], embeddings: lance.LanceDataset, model_id: str
) -> Iterator[tuple[str, str]]:
    """Yield each text without a stored vector of ``model_id`` once: its hash and itself."""
    wanted = set(pending_hashes(datasets, embeddings, model_id).to_pylist())
    for dataset in datasets:
        batches = dataset.to_batches(
            columns=["text_hash", "embedded_text"],
            filter=waits_for(model_id),
            batch_size=_PENDING_ROWS,
            batch_readahead=1,
        )
        for batch in batches if wanted else ():
            texts = batch.column("embedded_text")
            for row, text_hash in enumerate(batch.column("text_hash").to_pylist()):
                if text_hash in wanted:
                    wanted.remove(text_hash)
                    yield text_hash, texts[row].as_py()


def fill(dataset: lance.LanceDataset, model_id: str, look: Lookup) -> int:
    """Copy known vectors of ``model_id`` into the rows that lack them, in one commit.

    Only the vector and its model are rewritten, fragment by fragment: indexes on other columns
    keep covering the rows.

    Returns:
        The number of rows that got a vector.
    """
    updated: list[FragmentMetadata] = []
    fields: list[int] = []
    count = 0
    for fragment in dataset.get_fragments():
        rows = fragment.to_table(
            columns=["text_hash"], filter=differs(MODEL_COLUMN, model_id), with_row_id=True
        )
        filled = _filled(rows, model_id, look)
        if not filled.num_rows:
            continue
        release_memory()  # 30 MB that looking up leaves in pieces
        metadata, fields = fragment.update_columns(filled)
        updated.append(metadata)
        count += filled.num_rows
    if updated:
        operation = lance.LanceOperation.Update(updated_fragments=updated, fields_modified=fields)
        lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)
    return count


def _filled(rows: pa.Table, model_id: str, look: Lookup) -> pa.Table:
    known, vectors = look(model_id, rows["text_hash"].to_pylist())
    if not known.all():
        rows, vectors = rows.filter(pa.array(known)), vectors[known]
    columns = {
        "_rowid": rows["_rowid"],
        MODEL_COLUMN: pa.array([model_id] * rows.num_rows, pa.string()),
        vector_column(model_id): vector_array(vectors, known[known]),
    }
    return pa.table(columns)


def not_kept(table: pa.Table, dataset: lance.LanceDataset) -> pa.Table:
    """Return the rows of ``table`` that are not in ``dataset``, each model and text once."""
    table = table.append_column("row", pa.array(np.arange(table.num_rows)))
    kept = []
    for model_id in pc.unique(table["model_id"]).to_pylist():
        rows = table.filter(pc.equal(table["model_id"], model_id))
        hashes = rows["text_hash"].combine_chunks()
        fresh = unknown_hashes(dataset, model_id, hashes)
        kept.append(rows.take(pc.index_in(fresh, value_set=hashes)))
    return pa.concat_tables(kept).sort_by("row").drop_columns("row") if kept else table
