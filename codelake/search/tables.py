"""What a search needs from a store: filters as data, and four ways to read a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ID_COLUMNS: Final = {"chunks": "chunk_id", "symbols": "symbol_id"}

WORD_COLUMNS: Final[dict[str, dict[str, int]]] = {
    "chunks": {"path": 4, "embedded_text": 1},
    "symbols": {"qualified_name": 4, "path": 2, "embedded_text": 1, "body": 1},
}
"""The columns :meth:`SearchTables.match` looks at, and how often the words of each count."""

_SHARED: Final = (
    *("repository", "path", "language", "start_line", "end_line", "kind", "name", "content_hash"),
    *("is_test", "is_generated", "is_vendored", "is_documentation"),
)
HIT_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "chunks": ("chunk_id", *_SHARED, "scope", "text"),
    "symbols": (
        *("symbol_id", *_SHARED, "qualified_name", "natural_name"),
        *("signature", "doc", "body"),
    ),
}
"""The columns a hit is made of. What is read again and again is among them."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions a row must meet before the best ``k`` are taken; empty means any.

    Args:
        repositories: exact names.
        owners: what stands in front of a repository's name: ``acme`` of ``acme/shop``, and
            ``acme`` or ``acme/team`` of ``acme/team/shop``.
        languages: exact names.
        paths: globs; ``*`` stays inside one folder, ``**`` does not. A plain folder name ending
            in ``/`` means all below it. Every other character is literal.
        kinds: exact kinds of chunk or symbol.
        is_test: only tests, only what is no test, or both.
    """

    repositories: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    is_test: bool | None = None
    owners: tuple[str, ...] = ()


class SearchTables(Protocol):
    """The tables ``chunks`` and ``symbols`` as a search sees them.

    Answers carry the asked columns and, where rows are ranked, ``score`` (float64, larger is
    better), best first, ties by row id.
    """

    def nearest(
        self, table: str, vectors: NDArray[np.float32], *, model_id: str, k: int, filters: Filters
    ) -> list[pa.Table]:
        """Return per query vector the ``k`` nearest rows: row id and score (cosine)."""
        ...

    def match(self, table: str, text: str, *, k: int, filters: Filters) -> pa.Table:
        """Return the ``k`` best rows by BM25 over identifier-split words: row id and score."""
        ...

    def equal(
        self,
        table: str,
        column: str,
        values: Sequence[str],
        *,
        k: int,
        filters: Filters,
        columns: Sequence[str] = (),
    ) -> pa.Table:
        """Return at most ``k`` rows whose ``column`` is one of ``values``, in key order.

        ``columns`` are what is read; none named means all but the vector.
        """
        ...

    def matches_pattern(self, table: str, pattern: str, *, k: int, filters: Filters) -> pa.Table:
        """Return at most ``k`` whole rows whose text or body matches a regular expression."""
        ...

    def rows(self, table: str, ids: Sequence[str], *, columns: Sequence[str] = ()) -> pa.Table:
        """Return the rows with these ids, in their order; unknown ids are left out.

        ``columns`` are what is read; none named means all but the vector.
        """
        ...

    def vectors(self, table: str, ids: Sequence[str], *, model_id: str) -> NDArray[np.float32]:
        """Return the vectors of these rows, in their order; zeros where there is none yet."""
        ...

    def coverage(self, table: str) -> dict[str, int]:
        """Return the number of rows by the model of their vector; ``""`` counts those without."""
        ...
