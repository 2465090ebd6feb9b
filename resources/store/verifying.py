"""Whether the tables keep their promises: each broken one is named, with what it touches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import lance
import pyarrow as pa
import pyarrow.compute as pc

from codelake.errors import StoreError
from resources.store.folder import StoreFolder
from resources.store.following import Scope
from resources.store.manifest import Published
from resources.store.predicates import HAS_TEXT, equals
from resources.store.rows import joined_key
from resources.store.specs import IDENTITY, MODEL_COLUMN, SEARCHED, vector_column, vector_models
from resources.store.vectors import bad_vectors

_NAMED: Final = 3  # examples in a message

MISSING_VECTOR: Final = "missing-vector"


@dataclass(frozen=True, slots=True)
class Problem:
    """A promise that is not kept.

    Args:
        table: name of the table.
        kind: missing-file, unreadable, duplicate-id, bad-vector, missing-vector, stale-rows,
            missing-rows or unknown-repository.
        count: rows, or files of the table, that are concerned.
        detail: a sentence that names some of them.
    """

    table: str
    kind: str
    count: int
    detail: str

    def __str__(self) -> str:
        """Return the problem as one line."""
        return f"{self.table}: {self.kind} ({self.count}): {self.detail}"


DAMAGE: Final = frozenset({"missing-file", "unreadable"})
"""The kinds of problem that only a rebuild ends; the next run ends the others."""


def find_problems(folder: StoreFolder) -> list[Problem]:
    """Look at every table of the store; an empty list means that all is well.

    Raises:
        StoreError: there is no store.
    """
    return list(_problems(folder, None))


def find_new_problems(folder: StoreFolder) -> list[Problem]:
    """Look at what changed since the state published last, at the cost of that.

    A state is published only if it is sound, so what did not change since need not be looked at.
    A vector that is still missing is none of these problems.

    Raises:
        StoreError: there is no store.
    """
    states = folder.manifest().published
    found = _problems(folder, states[-1] if states else None)
    return [problem for problem in found if problem.kind != MISSING_VECTOR]


def _problems(folder: StoreFolder, state: Published | None) -> Iterator[Problem]:
    model_id = folder.manifest().model_id if state is None else ""
    scopes: dict[str, Scope] = {}
    for table in folder.specs:
        try:
            dataset = folder.dataset(table)
            missing = list(_missing_files(folder, table, dataset))
            yield from missing
            if not missing:
                scope = _scope(folder, table, dataset, state)
                yield from _duplicates(table, scope)
                scopes[table] = scope
        except (StoreError, OSError, ValueError, RuntimeError, pa.ArrowException) as error:
            yield Problem(table, "unreadable", 1, " ".join(str(error).split()))
    for table in (name for name in SEARCHED if name in scopes):
        yield from _vector_problems(table, scopes[table], model_id)
    if "embeddings" in scopes:
        yield from _embedding_problems(scopes["embeddings"])
    if scopes.keys() >= {"files", "repositories"}:
        yield from _ledger_problems(scopes)


def _scope(
    folder: StoreFolder, table: str, dataset: lance.LanceDataset, state: Published | None
) -> Scope:
    if state is None:
        return Scope(dataset)
    return Scope.since(folder.dataset(table, state.tables[table]), dataset)


def _missing_files(
    folder: StoreFolder, table: str, dataset: lance.LanceDataset
) -> Iterator[Problem]:
    tracked = dataset.tracked_files(min_version=dataset.version).read_all()
    gone = folder.place.missing(table, tracked["path"].to_pylist())
    if gone:
        detail = f"files of the table are gone: {_some(gone)}"
        yield Problem(table, "missing-file", len(gone), detail)


def _duplicates(table: str, scope: Scope) -> Iterator[Problem]:
    twice = _shown(scope.repeated(IDENTITY[table]))
    if twice:
        yield Problem(table, "duplicate-id", len(twice), f"ids that stand twice: {_some(twice)}")


def _vector_problems(table: str, scope: Scope, model_id: str) -> Iterator[Problem]:
    dataset = scope.dataset
    for model, dimension in vector_models(dataset.schema).items():
        column = vector_column(model)
        bad: list[str] = []
        for batch in scope.batches([SEARCHED[table], column], equals(MODEL_COLUMN, model)):
            is_bad = bad_vectors(batch.column(column), dimension)
            bad += batch.column(SEARCHED[table]).filter(pa.array(is_bad)).to_pylist()
        if bad:
            detail = f"rows said to have a vector of {model} that have no good one: {_some(bad)}"
            yield Problem(table, "bad-vector", len(bad), detail)
    if model_id in vector_models(dataset.schema):
        without = dataset.count_rows(f"{vector_column(model_id)} IS NULL AND {HAS_TEXT}")
        if without:
            detail = f"rows without a vector of {model_id}: the next `codelake index` embeds them"
            yield Problem(table, MISSING_VECTOR, without, detail)


def _embedding_problems(scope: Scope) -> Iterator[Problem]:
    bad: list[str] = []
    for batch in scope.batches(["text_hash", "vector"]):
        is_bad = bad_vectors(batch.column("vector"), None)
        bad += batch.column("text_hash").filter(pa.array(is_bad)).to_pylist()
    if bad:
        yield Problem("embeddings", "bad-vector", len(bad), f"texts: {_some(bad)}")


def _ledger_problems(scopes: dict[str, Scope]) -> Iterator[Problem]:
    """Compare the rows with the files ledger, and that with the repositories."""
    where = ["repository", "path"]
    touched = frozenset[str]().union(*(scope.repositories or () for scope in scopes.values()))
    ledger = scopes["files"].among(touched).rows([*where, "skip_reason"])
    repositories = scopes["repositories"].among(touched).rows(["repository"])["repository"]
    strange = pc.unique(_without(ledger["repository"], repositories)).to_pylist()
    if strange:
        detail = f"files of repositories the store does not list: {_some(strange)}"
        yield Problem("files", "unknown-repository", len(strange), detail)
    indexed = joined_key(ledger.filter(pc.equal(ledger["skip_reason"], "")), where)
    for table in (name for name in SEARCHED if name in scopes):
        present = pc.unique(joined_key(scopes[table].among(touched).rows(where), where))
        stale = _shown(_without(present, indexed))
        if stale:
            detail = f"rows of files that are not indexed: {_some(stale)}"
            yield Problem(table, "stale-rows", len(stale), detail)
        lost = _shown(_without(indexed, present)) if table == "chunks" else []
        if lost:
            detail = f"indexed files without a row: {_some(lost)}"
            yield Problem(table, "missing-rows", len(lost), detail)


def _without(values: pa.Array | pa.ChunkedArray, others: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.filter(pc.invert(pc.is_in(values, value_set=others)))


def _shown(keys: pa.Array | pa.ChunkedArray) -> list[str]:
    return [key.replace("\0", ":") for key in keys.to_pylist()]


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
