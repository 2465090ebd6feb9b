"""Write a trained table as it is shipped."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from resources.models.tensors import Arrays, write_tensors
from training.starting import is_word
from training.table import Array, Table

_WHOLE: Final = 127  # largest 8-bit integer that is used
_DIGITS: Final = 12  # of the revision


def write_table(
    table_file: Path, vocabulary_file: Path, table: Table, words: Sequence[str]
) -> None:
    """Write vectors as 8-bit integers with a scale a row, and weights; what is no word has none."""
    rows, scale = quantize(table.vectors)
    said = np.array([is_word(word) for word in words])
    arrays: Arrays = {"table": rows, "scale": scale}
    for name, logs in (("query_weight", table.query_log), ("document_weight", table.document_log)):
        arrays[name] = (np.exp(logs) * said).astype(np.float32)
    write_tensors(table_file, arrays)
    vocabulary_file.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")


def quantize(rows: Array) -> tuple[NDArray[np.int8], Array]:
    """Return rows of 8-bit integers and what each is multiplied by."""
    scale = np.abs(rows).max(axis=1) / _WHOLE
    return np.rint(rows / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def revision(table_file: Path, vocabulary_file: Path) -> str:
    """Return the first digits of the SHA-256 of both files."""
    digest = hashlib.sha256(table_file.read_bytes() + vocabulary_file.read_bytes())
    return digest.hexdigest()[:_DIGITS]
