"""The Dagster assets: one file, one asset, one table."""

from assets.changes import changes
from assets.checks import CHECKS
from assets.chunk_table import chunk_table
from assets.chunks import chunks
from assets.embeddings import embeddings
from assets.file_table import file_table
from assets.files import files
from assets.indexed_repository import indexed_repository
from assets.indexes import indexes
from assets.nights import nights
from assets.outcomes import outcomes
from assets.repositories import repositories
from assets.repository_table import repository_table
from assets.symbol_table import symbol_table
from assets.symbols import symbols
from assets.syntax import syntax
from assets.vectors import vectors
from assets.word_indexes import word_indexes

STAGES = [
    repositories,
    files,
    syntax,
    chunks,
    symbols,
    changes,
    chunk_table,
    symbol_table,
    file_table,
    repository_table,
    word_indexes,
    embeddings,
    vectors,
    indexes,
]

ASSETS = [*STAGES, outcomes, indexed_repository]

__all__ = ["ASSETS", "CHECKS", "STAGES", "indexed_repository", "nights", "outcomes"]
