"""Questions in SQL over the tables, answered by DuckDB, which can only read."""

from itertools import count
from typing import Any, Final

import lance
import pyarrow as pa

from codelake.errors import UsageError
from resources.store.folder import StoreFolder
from resources.store.specs import WORDS

_ASKING: Final = frozenset({"SELECT", "EXPLAIN", "MULTI"})  # the last is what PIVOT becomes


def query(folder: StoreFolder, statement: str) -> pa.Table:
    """Answer ``statement`` over the tables of the store, vectors left out.

    DuckDB runs without access to files or network, over views of the tables.

    Raises:
        UsageError: DuckDB is not installed, does not understand the statement, or it is no single
            question.
    """
    try:
        import duckdb  # noqa: PLC0415 - an optional package, 0.2 s to load
    except ImportError as error:
        message = "codelake sql needs DuckDB: pip install 'codelake[sql]'"
        raise UsageError(message) from error
    connection = duckdb.connect(config={"enable_external_access": False})
    try:
        for table in folder.specs:
            connection.register(table, _Readable(folder.dataset(table), folder.place.options))
        kinds = [asked.type.name for asked in connection.extract_statements(statement)]
        if len(kinds) != 1 or kinds[0] not in _ASKING:
            told = ", ".join(kinds) or "nothing"
            message = f"the query cannot be answered: expected one SELECT, given {told}"
            raise UsageError(message)
        answer = connection.sql(statement).to_arrow_table()
        return answer.rename_columns(_told_apart(answer.schema.names))
    except duckdb.Error as error:
        message = f"the query cannot be answered: {error}"
        raise UsageError(message) from error
    finally:
        connection.close()


def _told_apart(names: list[str]) -> list[str]:
    """Return ``names`` with ``_1``, ``_2`` ... at repeated ones, as DuckDB writes them."""
    taken: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}_{number}" if number else name for number in count())
        taken[next(other for other in numbered if other not in taken)] = None
    return list(taken)


class _Readable(lance.LanceDataset):
    """A table without the store's own columns; DuckDB has no type for half floats."""

    def __init__(self, dataset: lance.LanceDataset, options: dict[str, str]) -> None:
        super().__init__(dataset.uri, version=dataset.version, storage_options=options)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([f for f in super().schema if f.name != WORDS and not _is_vector(f.type)])

    def scanner(  # type: ignore[override] # DuckDB names the columns it wants, or none for all
        self,
        columns: list[str] | None = None,
        **options: Any,  # noqa: ANN401 - Lance's own
    ) -> lance.LanceScanner:
        return super().scanner(columns=self.schema.names if columns is None else columns, **options)


def _is_vector(type_: pa.DataType) -> bool:
    is_list = pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_)
    return bool(is_list and type_.value_type == pa.float16())
