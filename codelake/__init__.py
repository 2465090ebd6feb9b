"""Index all the code an organisation has: chunk, diff, embed and search it.

The library holds the pure stages: bytes or Arrow tables in, Arrow tables out. It imports no
Dagster, no LanceDB and no network client, so ``from codelake.chunking import chunk`` is cheap.
"""

__version__ = "0.1.0"
