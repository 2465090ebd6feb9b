"""What to look at in a table: all of it, or what changed since a state that was found sound."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from resources.store.predicates import is_one_of
from resources.store.rows import find_rows, joined_key

_ADDRESS: Final = "_rowaddr"
_BATCH_ROWS: Final = 8192


@dataclass(frozen=True, slots=True)
class Scope:
    """A table, and which part of it is to be looked at.

    Args:
        dataset: the table as it is now.
        written: fragments that came since or got other columns; ``None`` for all.
        repositories: those with rows that came or went since; ``None`` for all.
    """

    dataset: lance.LanceDataset
    written: list[lance.LanceFragment] | None = None
    repositories: frozenset[str] | None = None

    @classmethod
    def since(cls, was: lance.LanceDataset, now: lance.LanceDataset) -> "Scope":
        """Compare a table with what it was, at the cost of the fragments that differ."""
        if was.version == now.version:
            return cls(now, [], frozenset())
        written, before = _differing(now, was), _differing(was, now)
        if "repository" not in now.schema.names:
            return cls(now, written, frozenset())
        after, past = _addressed(now, written), _addressed(was, before)
        names = pa.chunked_array(
            [c for t in (_lone(after, past), _lone(past, after)) for c in t["repository"].chunks],
            pa.string(),
        )
        return cls(now, written, frozenset(pc.unique(names).to_pylist()))

    def among(self, repositories: Iterable[str]) -> "Scope":
        """Return the scope with the rows of ``repositories`` too, unless it is the whole table."""
        if self.repositories is None:
            return self
        return Scope(self.dataset, self.written, self.repositories.union(repositories))

    def rows(self, columns: Sequence[str]) -> pa.Table:
        """Return the rows of the repositories in question."""
        names = self.repositories
        if names is not None and not names:
            return self.dataset.to_table(columns=list(columns), limit=0)
        predicate = None if names is None else is_one_of("repository", sorted(names))
        return self.dataset.to_table(columns=list(columns), filter=predicate)

    def batches(self, columns: list[str], predicate: str | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the fragments in question."""
        if self.written is None or self.written:
            yield from self.dataset.scanner(
                columns=columns,
                filter=predicate,
                fragments=self.written,
                batch_size=_BATCH_ROWS,
            ).to_batches()

    def repeated(self, identity: Sequence[str]) -> pa.Array:
        """Return the keys that stand twice."""
        if self.repositories is None or "repository" in self.dataset.schema.names:
            keys = joined_key(self.rows(identity), identity)
        else:
            given = [joined_key(b, identity) for b in self.batches(list(identity))]
            fresh = pc.unique(pa.chunked_array(given, pa.string()))
            found = find_rows(self.dataset, identity, fresh)
            if len(found) == len(fresh):
                return pa.array([], pa.string())
            keys = joined_key(self.dataset.to_table(columns=list(identity)), identity)
        counts = pc.value_counts(keys)
        return counts.field("values").filter(pc.greater(counts.field("counts"), 1))


def _differing(one: lance.LanceDataset, other: lance.LanceDataset) -> list[lance.LanceFragment]:
    """Return the fragments of ``one`` that ``other`` has not, or has with other files."""
    theirs = {f.fragment_id: f.metadata.to_json() for f in other.get_fragments()}
    return [f for f in one.get_fragments() if theirs.get(f.fragment_id) != f.metadata.to_json()]


def _addressed(dataset: lance.LanceDataset, fragments: list[lance.LanceFragment]) -> pa.Table:
    if not fragments:
        return pa.table([[], []], pa.schema([("repository", pa.string()), (_ADDRESS, pa.uint64())]))
    rows = dataset.scanner(columns=["repository"], fragments=fragments, with_row_address=True)
    return rows.to_table()


def _lone(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Return the rows that are not among ``others``."""
    here, there = rows[_ADDRESS].to_numpy(), others[_ADDRESS].to_numpy()
    return rows.filter(pa.array(~np.isin(here, there)))
