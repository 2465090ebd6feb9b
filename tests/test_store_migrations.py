"""A store of an older shape is brought up to date by the next write."""

from dataclasses import replace
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from codelake.errors import StoreError
from codelake.schemas import column
from codelake.search.tables import Filters
from resources.store import SEARCHED, STORED, LanceStore
from resources.store.folder import StoreFolder
from resources.store.manifest import read_manifest, write_manifest
from resources.store.place import FolderPlace
from resources.store.words import add_words
from tests.stored_rows import chunk, stored


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
