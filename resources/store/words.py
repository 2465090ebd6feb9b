"""The text that a search by words looks through: one column made of several.

One column answers in a third of the time that four take together, and better: docs/search.md.
"""

import lance
import pyarrow as pa
import pyarrow.compute as pc

from codelake.search.tables import WORD_COLUMNS
from resources.store.specs import STORED, WORDS, stored_schema


def words_of(table: str, rows: pa.RecordBatch) -> pa.Array:
    """Return the text to look through for each row: columns that count more stand there more."""
    parts = [rows.column(name) for name, times in WORD_COLUMNS[table].items() for _ in range(times)]
    return pc.binary_join_element_wise(*parts, "\n")


def add_words(table: str, dataset: lance.LanceDataset) -> None:
    """Add the column to a table of a version that had none."""
    if WORDS in dataset.schema.names:  # by a run that was killed before it could say so
        return
    field = stored_schema(STORED[table]).field(WORDS)

    @lance.batch_udf(output_schema=pa.schema([field]))
    def words(rows: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([words_of(table, rows)], schema=pa.schema([field]))

    dataset.add_columns(words, read_columns=list(WORD_COLUMNS[table]))
