"""The store: LanceDB tables in one folder, written by one process at a time.

>>> from pathlib import Path
>>> from tempfile import mkdtemp
>>> store = LanceStore(Path(mkdtemp()))
>>> with store.writing():
...     pass
>>> store.summary()["chunks"]
0
"""

from resources.store.reading import StoreReader
from resources.store.rows import Replaced
from resources.store.search_tables import LanceTables
from resources.store.specs import SEARCHED, STORED, given_spec
from resources.store.verifying import Problem
from resources.store.versions import Version
from resources.store.writing import LanceStore

__all__ = [
    "SEARCHED",
    "STORED",
    "LanceStore",
    "LanceTables",
    "Problem",
    "Replaced",
    "StoreReader",
    "Version",
    "given_spec",
]
