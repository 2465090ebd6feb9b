"""Replace rows of a table in one commit: a reader sees the old rows or the new ones."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.fragment import FragmentMetadata, write_fragments
from numpy.typing import NDArray

from codelake.errors import SchemaError
from codelake.schemas import TableSpec
from resources.store.predicates import groups_of, is_one_of

# Rows of a fragment. Filling in vectors rewrites one column of a touched fragment: 25 MB at 384
# dimensions, three times that in memory, while a million rows stay 31 fragments.
FRAGMENT_ROWS: Final = 32_768

# Reading every id is faster than looking up more than this part of them.
SCAN_FACTOR: Final = 8

SEPARATOR: Final = "\0"  # in no repository name and no path

Prepare = Callable[[pa.RecordBatch], pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a write did.

    Args:
        written: rows now in the table that were given.
        deleted: rows no longer in the table, those that were written anew included.
    """

    written: int
    deleted: int


class CheckedRows:
    """Rows on their way into a table: checked batch by batch, their keys remembered.

    Args:
        spec: the shape the rows must have.
        identity: the columns that tell one row from another.
        prepare: adds what the store adds to a batch.
    """

    def __init__(self, spec: TableSpec, identity: Sequence[str], prepare: Prepare) -> None:
        """Start with no rows."""
        self._spec = spec
        self._identity = identity
        self._prepare = prepare
        self._keys: list[pa.Array] = []
        self.problem: BaseException | None = None

    def pass_on(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches, prepared; a fault is kept in ``problem``, for the way through Lance.

        Raises:
            SchemaError: rows do not fit the table.
        """
        try:
            for batch in batches:
                self._spec.check(batch)
                # "take" copies; a slice would keep the whole batch in memory
                every = pa.array(np.arange(batch.num_rows))
                self._keys.append(joined_key(batch, self._identity).take(every))
                yield self._prepare(batch)
        except GeneratorExit:
            raise  # no fault: whoever reads has had enough
        except BaseException as error:
            self.problem = error  # an interrupt, too, would be lost on the way
            raise

    def keys(self) -> pa.Array:
        """Return the keys of the rows that passed.

        Raises:
            SchemaError: a key came twice.
        """
        keys = pa.chunked_array(self._keys, pa.string()).combine_chunks()
        repeated = len(keys) - pc.count_distinct(keys).as_py()
        if repeated:
            counts = pc.value_counts(keys)
            twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
            message = (
                f"table {self._spec.name!r} was given {repeated} rows whose "
                f"{', '.join(self._identity)} came before, e.g. {twice[0].as_py()!r}"
            )
            raise SchemaError(message)
        return keys


def joined_key(rows: pa.RecordBatch | pa.Table, identity: Sequence[str]) -> pa.Array:
    """Return one string a row that stands for the columns ``identity``."""
    columns = [rows.column(name) for name in identity]
    if len(columns) == 1:
        return columns[0]
    return pc.binary_join_element_wise(*columns, SEPARATOR)


def write_rows(
    dataset: lance.LanceDataset, batches: Iterator[pa.RecordBatch], checked: CheckedRows
) -> list[FragmentMetadata]:
    """Write rows as fragments that no reader sees before they are committed."""
    prepared = checked.pass_on(batches)
    first = next(prepared, None)
    if first is None:
        return []
    reader = pa.RecordBatchReader.from_batches(dataset.schema, _chain(first, prepared))
    try:
        return write_fragments(reader, dataset, max_rows_per_file=FRAGMENT_ROWS)
    except Exception:
        if checked.problem is not None:
            raise checked.problem from None
        raise


def find_rows(
    dataset: lance.LanceDataset, identity: Sequence[str], keys: pa.Array
) -> NDArray[np.uint64]:
    """Return the addresses of the rows with these keys, as :func:`joined_key` makes them."""
    stored = dataset.count_rows()
    if not len(keys) or not stored:
        return np.empty(0, np.uint64)
    if len(keys) * SCAN_FACTOR > stored:
        predicates: Iterable[str | None] = [None]
    elif len(identity) == 1:
        predicates = groups_of(identity[0], keys.to_pylist())
    else:
        firsts = pc.list_element(pc.split_pattern(keys, SEPARATOR), 0)
        predicates = groups_of(identity[0], pc.unique(firsts).to_pylist())
    found = [np.empty(0, np.uint64)]
    for predicate in predicates:
        for near in dataset.to_batches(
            columns=list(identity), filter=predicate, with_row_address=True
        ):
            wanted = pc.is_in(joined_key(near, identity), value_set=keys)
            found.append(near.column("_rowaddr").filter(wanted).to_numpy())
    return np.concatenate(found)


def find_repositories(
    dataset: lance.LanceDataset, repositories: Sequence[str]
) -> NDArray[np.uint64]:
    """Return the addresses of all rows of ``repositories``."""
    predicate = is_one_of("repository", repositories)
    found = dataset.to_table(columns=[], filter=predicate, with_row_address=True)
    addresses: NDArray[np.uint64] = found["_rowaddr"].to_numpy()
    return addresses


def commit_replacement(
    dataset: lance.LanceDataset, gone: NDArray[np.uint64], new: list[FragmentMetadata]
) -> int:
    """Delete the rows at addresses ``gone`` and add ``new`` fragments as one version.

    Returns:
        The number of rows deleted.
    """
    gone = np.unique(gone)
    if not len(gone) and not new:
        return 0
    emptied, touched = [], []
    for fragment_id, offsets in _by_fragment(gone):
        fragment = lance.LanceFragment(dataset, fragment_id)
        rest = fragment.delete_rows(offsets.tolist())
        if rest is None:
            emptied.append(fragment_id)
        else:
            touched.append(rest)
    operation = lance.LanceOperation.Update(
        removed_fragment_ids=emptied, updated_fragments=touched, new_fragments=new
    )
    lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)
    return len(gone)


def _by_fragment(addresses: NDArray[np.uint64]) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Split sorted addresses: the upper half is the fragment, the lower the row in it."""
    fragments = (addresses >> np.uint64(32)).astype(np.int64)
    for fragment_id in np.unique(fragments):
        yield int(fragment_id), addresses[fragments == fragment_id] & np.uint64(0xFFFFFFFF)


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
