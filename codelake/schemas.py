"""The tables between the stages and in the store: columns with their meaning, key and version.

A stage that writes a table builds it with ``SPEC.schema``; the IO manager and the store check
every write with :meth:`TableSpec.check`. Lines start at 1 and are inclusive, bytes start at 0 and
end exclusive, both count in the file as stored in git (not in its UTF-8 form).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from codelake.errors import SchemaError

_DOC: Final = b"doc"


def column(name: str, type_: pa.DataType, doc: str, *, is_nullable: bool = False) -> pa.Field:
    """Describe one column; ``doc`` says unit and meaning and lands in docs/tables.md."""
    return pa.field(name, type_, nullable=is_nullable, metadata={_DOC: doc.encode()})


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table: its name, columns, key and the version of its shape.

    ``key`` columns identify a row; rows are exported sorted by it.
    """

    name: str
    version: int
    key: tuple[str, ...]
    columns: tuple[pa.Field, ...]

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema, with name and version in its metadata."""
        return pa.schema(self.columns, metadata={"table": self.name, "version": str(self.version)})

    def doc(self, name: str) -> str:
        """Return the description of column ``name``."""
        return bytes(self.schema.field(name).metadata[_DOC]).decode()

    def check(self, table: pa.Table | pa.RecordBatch) -> None:
        """Raise :class:`SchemaError` unless ``table`` has exactly these columns and no nulls."""
        found = table.schema.remove_metadata()
        wanted = pa.schema([field.remove_metadata() for field in self.columns])
        if not pa.schema([f.remove_metadata() for f in found]).equals(wanted):
            message = f"table {self.name!r} wants columns\n{wanted}\nbut was given\n{found}"
            raise SchemaError(message)
        bad = [f.name for f in wanted if not f.nullable and table.column(f.name).null_count]
        if bad:
            message = f"table {self.name!r} has empty values in {', '.join(bad)}"
            raise SchemaError(message)

    def table(self, rows: Iterable[dict[str, object]] = ()) -> pa.Table:
        """Build a table of this shape from row dictionaries."""
        return pa.Table.from_pylist(list(rows), schema=self.schema)


_S = pa.string()
_I = pa.int64()
_LS = pa.list_(pa.string())
_B = pa.bool_()

_WHERE: Final = (
    column("repository", _S, "name of the repository, unique in the store"),
    column("path", _S, "path in the repository, '/' between parts; see codelake.paths"),
)
_SPAN: Final = (
    column("start_line", _I, "first line, 1-based"),
    column("end_line", _I, "line of the last non-whitespace character, 1-based, inclusive"),
    column("start_byte", _I, "first byte in the file, 0-based"),
    column("end_byte", _I, "byte after the last one, 0-based, exclusive"),
)
_FLAGS: Final = (
    column("is_test", _B, "the path or content looks like a test"),
    column("is_generated", _B, "written by a program: banner, lock file, minified bundle"),
    column("is_vendored", _B, "a copy of someone else's code"),
    column("is_documentation", _B, "documentation rather than code"),
)

REPOSITORIES: Final = TableSpec(
    "repositories",
    1,
    ("repository",),
    (
        column("repository", _S, "name of the repository, unique in the store"),
        column("source", _S, "folder or URL it is read from, without credentials"),
        column("git_directory", _S, "absolute path of the git directory that is read"),
        column("commit", _S, "commit that is indexed; empty if there is none"),
        column("branch", _S, "branch the commit was taken from; empty if detached"),
        column("fingerprint", _S, "hash of every setting that decides the rows"),
        column("status", _S, "changed, unchanged, removed, skipped or failed; indexed once stored"),
        column("reason", _S, "why it failed or was skipped; empty otherwise"),
    ),
)

FILES: Final = TableSpec(
    "files",
    1,
    ("repository", "path"),
    (
        *_WHERE,
        column("blob_id", _S, "git blob id of the content; hash of the bytes outside git"),
        column("size", _I, "bytes"),
        column("language", _S, "language name of codelake.languages; empty for unknown text"),
        *_FLAGS,
        column("skip_reason", _S, "why no chunk is made, from SKIP_REASONS; empty if indexed"),
        column("fingerprint", _S, "hash of the settings that decide this file's rows"),
        column("status", _S, "unchanged, added, modified or deleted since the stored state"),
        column("content", pa.large_binary(), "raw bytes; empty if unchanged, deleted or skipped"),
    ),
)

SYNTAX: Final = TableSpec(
    "syntax",
    1,
    ("repository", "path"),
    (
        *_WHERE,
        column("blob_id", _S, "git blob id of the content"),
        column("language", _S, "language the file was parsed as; empty for plain lines"),
        *_FLAGS,
        column("encoding", _S, "encoding the bytes were decoded with, Python's name"),
        column("bom_bytes", _I, "bytes of a byte order mark in front of the text"),
        column("skip_reason", _S, "why no chunk is made, from SKIP_REASONS; empty if indexed"),
        column("parse_status", _S, "ok, partial (syntax errors), or lines (no tree was made)"),
        column("parse_reason", _S, "why the status is not ok; empty otherwise"),
        column("first_error_line", _I, "line of the first syntax error, 0 if none"),
        column("redactions", _LS, "kind of each secret that was masked in the text"),
        column("text", pa.large_binary(), "the text as UTF-8, secrets masked, without the mark"),
        column("outline", pa.large_binary(), "how it is cut, packed; see codelake.chunking.layout"),
        column("definitions", pa.large_binary(), "definitions as JSON, see codelake.definitions"),
    ),
)

CHUNKS: Final = TableSpec(
    "chunks",
    1,
    ("repository", "path", "start_byte", "chunk_id"),
    (
        column("chunk_id", _S, "hash of repository, path, body and its occurrence in the file"),
        *_WHERE,
        column("language", _S, "language of the chunk; the inner one in embedded code"),
        *_FLAGS,
        *_SPAN,
        column("nws", _I, "non-whitespace characters of the body"),
        column("kind", _S, "class, method, imports, module, ... see docs/chunking.md"),
        column("name", _S, "name of the one definition the chunk is, else empty"),
        column("scope", _S, "qualified name of what encloses or is the chunk"),
        column("symbols", _LS, "qualified names of the definitions wholly inside"),
        column("partial_symbols", _LS, "qualified names of the definitions partly inside"),
        column("has_error", _B, "the parser found a syntax error inside"),
        column("text", _S, "the body, secrets masked"),
        column("content_hash", _S, "hash of the body"),
        column("embedded_text", _S, "what an embedder is given: context header and body"),
        column("text_hash", _S, "hash of embedded_text"),
    ),
)

SYMBOLS: Final = TableSpec(
    "symbols",
    1,
    ("repository", "path", "start_byte", "symbol_id"),
    (
        column("symbol_id", _S, "hash of repository, path, qualified name, content, occurrence"),
        *_WHERE,
        column("language", _S, "language of the definition"),
        *_FLAGS,
        *_SPAN,
        column("name_line", _I, "line of the name, 1-based"),
        column("kind", _S, "function, method, class, ... see docs/symbols.md"),
        column("name", _S, "the name as written"),
        column("natural_name", _S, "the name as lower-case words"),
        column("qualified_name", _S, "outer names and the name joined with '.'"),
        column("hierarchy", _LS, "outer names from the outermost, then the name"),
        column("signature", _S, "the declaration without its body, white space folded"),
        column("doc", _S, "doc comment or docstring without comment marks"),
        column("decorators", _LS, "decorators, annotations or attributes as written"),
        column("parameters", _S, "JSON list of {name, type, default, kind}"),
        column("returns", _S, "return type as written"),
        column("modifiers", _LS, "async, generator, static, abstract, exported, private, ..."),
        column("receiver", _S, "receiver type of a method declared outside its type"),
        column("body", _S, "source, capped at 30 lines and 1,500 characters"),
        column("content_hash", _S, "hash of the whole source of the definition"),
        column("embedded_text", _S, "'{project}: {name} {natural_name} {doc}'"),
        column("text_hash", _S, "hash of embedded_text"),
    ),
)

CHANGES: Final = TableSpec(
    "changes",
    1,
    ("table", "repository", "path", "row_id"),
    (
        column("table", _S, "chunks or symbols"),
        *_WHERE,
        column("row_id", _S, "chunk_id or symbol_id"),
        column("change", _S, "unchanged, moved, added, modified or deleted"),
        column(
            "replaces", _S, "id of the stored row a modified one takes the place of, else empty"
        ),
        column("text_hash", _S, "hash of the embedded text; empty if deleted"),
    ),
)

EMBEDDINGS: Final = TableSpec(
    "embeddings",
    1,
    ("model_id", "text_hash"),
    (
        column("model_id", _S, "model, revision and settings that made the vector"),
        column("text_hash", _S, "hash of the embedded text"),
        column("vector", pa.list_(pa.float16()), "unit vector"),
    ),
)

TABLES: Final[dict[str, TableSpec]] = {
    spec.name: spec for spec in (REPOSITORIES, FILES, SYNTAX, CHUNKS, SYMBOLS, CHANGES, EMBEDDINGS)
}

SKIP_REASONS: Final[dict[str, str]] = {
    "binary": "the content is not text",
    "too-large": "larger than files.max_bytes",
    "lfs-pointer": "a Git LFS pointer, the content is not in the repository",
    "symlink": "a symbolic link; links are not followed",
    "submodule": "another repository, listed and not entered",
    "secret-file": "a file that holds credentials by its nature",
    "excluded": "left out by files.exclude or .codelakeignore",
    "lock-file": "a dependency lock file",
    "minified": "a minified bundle",
    "generated": "written by a program, and left out by files.skip",
    "vendored": "a copy of someone else's code, and left out by files.skip",
    "documentation": "left out by files.skip",
    "test": "left out by files.skip",
    "unreadable": "the content cannot be read",
    "empty": "no non-whitespace character",
}
