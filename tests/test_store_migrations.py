"""A store of an older shape is brought up to date by the next write.

``golden/stored_shapes.json`` keeps every shape that a stored table ever had, from the first one on.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from codelake.errors import StoreError
from codelake.schemas import SYMBOLS, column
from codelake.search.tables import Filters
from resources.store import SEARCHED, STORED, LanceStore
from resources.store.folder import StoreFolder
from resources.store.manifest import read_manifest, write_manifest
from resources.store.place import FolderPlace
from resources.store.specs import MODEL_COLUMN, stored_schema
from resources.store.words import add_words
from tests.stored_rows import batches, chunk, embed_all, stored, symbol, whole

_SHAPES = Path(__file__).parent / "golden" / "stored_shapes.json"
_TYPES = {str(f.type): f.type for spec in STORED.values() for f in stored_schema(spec)}
_BLANK = {"string": "", "int64": 0, "bool": False}

Shape = dict[str, str]


def _kept() -> dict[str, dict[str, Shape]]:
    shapes: dict[str, dict[str, Shape]] = json.loads(_SHAPES.read_text("utf-8"))
    return shapes


def _shape(schema: pa.Schema) -> Shape:
    return {f.name: f"{f.type}{'' if f.nullable else ' not null'}" for f in schema}


def _schema(shape: Shape) -> pa.Schema:
    fields = ((name, text.partition(" not null")) for name, text in shape.items())
    return pa.schema(
        [pa.field(name, _TYPES[t], nullable=not mark) for name, (t, mark, _) in fields]
    )


def _older() -> Iterator[tuple[str, int]]:
    for table, versions in _kept().items():
        yield from ((table, int(v)) for v in versions if int(v) < STORED[table].version)


@pytest.mark.parametrize("table", list(STORED))
def test_every_shape_of_a_table_is_kept(table: str, *, is_rewriting: bool) -> None:
    spec, shapes = STORED[table], _kept()
    known = shapes.setdefault(table, {})
    if is_rewriting:  # one that is kept is never written anew: stores have it
        known.setdefault(str(spec.version), _shape(stored_schema(spec)))
        _SHAPES.write_text(json.dumps(shapes, indent=1) + "\n", "utf-8")
    assert list(known) == [str(number + 1) for number in range(spec.version)]
    assert known[str(spec.version)] == _shape(stored_schema(spec)), (
        "the shape of the table changed: raise its version, add a step to MIGRATIONS, make golden"
    )


@pytest.mark.parametrize(("table", "version"), [*_older()])
def test_a_table_of_every_older_shape_becomes_the_present_one(
    tmp_path: Path, table: str, version: int
) -> None:
    fresh, place = _filled(tmp_path / "fresh"), FolderPlace(tmp_path / "older")
    rows = _filled(place.folder).read(table).to_pylist()
    shape = _kept()[table][str(version)]
    older = [{name: kept.get(name, _BLANK.get(shape[name])) for name in shape} for kept in rows]
    without_vectors = pa.Table.from_pylist([o | {MODEL_COLUMN: ""} for o in older], _schema(shape))
    lance.write_dataset(without_vectors, place.table(table), mode="overwrite")
    manifest = read_manifest(place)
    write_manifest(place, replace(manifest, tables={**manifest.tables, table: version}))
    store = LanceStore(place)
    assert embed_all(store) == 0
    store.optimize()
    assert _present(store, table) == _present(fresh, table)
    assert store.read(table).to_pylist() == rows
    assert store.models().tables == fresh.models().tables
    assert store.verify() == []


def _filled(folder: Path) -> LanceStore:
    store = whole(folder, "a.py")
    store.replace_rows("symbols", batches=batches(SYMBOLS, [symbol("retry")]))
    embed_all(store)
    store.optimize()
    return store


def _present(store: LanceStore, table: str) -> tuple[Shape, dict[str, int]]:
    dataset = store._folder.dataset(table)
    indexes = {index.name: index.num_rows_indexed for index in dataset.describe_indices()}
    return _shape(dataset.schema), indexes


def test_an_older_table_is_brought_up_to_date_by_the_next_write(tmp_path: Path) -> None:
    stored(tmp_path, chunk("a.py", "1"))
    owner = column("owner", pa.string(), "who owns the file")
    newer = replace(STORED["chunks"], version=3, columns=(*STORED["chunks"].columns, owner))

    def add_owner(dataset: lance.LanceDataset) -> None:
        dataset.add_columns({"owner": "'nobody'"})

    specs = {**STORED, "chunks": newer}
    with pytest.raises(StoreError, match="written by an older codelake: run `codelake index`"):
        StoreFolder(FolderPlace(tmp_path), specs).manifest()
    with pytest.raises(StoreError, match="has version 2 and cannot be brought to version 3"):
        StoreFolder(FolderPlace(tmp_path), specs).create()
    folder = StoreFolder(FolderPlace(tmp_path), specs, {("chunks", 2): add_owner})
    folder.create()
    folder.create()
    assert folder.manifest().tables["chunks"] == 3
    assert folder.dataset("chunks").to_table(columns=["owner"])["owner"].to_pylist() == ["nobody"]


def test_a_store_without_the_words_column_gets_it(tmp_path: Path) -> None:
    store = stored(tmp_path, chunk("a.py", "1"), chunk("b/retry.py", "2"))
    store.publish("old")
    for table in SEARCHED:
        dataset = lance.dataset(str(tmp_path / f"{table}.lance"))
        dataset.drop_index("words_words")
        dataset.drop_columns(["words"])
    manifest = read_manifest(FolderPlace(tmp_path))
    older = dict.fromkeys(SEARCHED, 1)
    write_manifest(FolderPlace(tmp_path), replace(manifest, tables={**manifest.tables, **older}))
    with pytest.raises(StoreError, match="run `codelake index` once to bring them up to date"):
        LanceStore(tmp_path).search_tables()
    add_words("chunks", lance.dataset(str(tmp_path / "chunks.lance")))  # and then it was killed
    store = LanceStore(tmp_path)
    store.index_new_rows()
    assert store.models().published == ()
    tables = store.search_tables()
    found = tables.match("chunks", "retry", k=5, filters=Filters())["chunk_id"].to_pylist()
    assert tables.rows("chunks", found)["path"].to_pylist() == ["b/retry.py"]
