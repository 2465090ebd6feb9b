"""From the bytes of files to rows of the syntax table: decode, mask secrets, parse, cut.

:func:`parse_file` does one file and knows nothing of tables, so that a worker process need not
load Arrow; :func:`syntax_batch` does a batch in this process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codelake.chunking import Options, Source, chunker_named, lay_out
from codelake.chunking.layout import pack_layout
from codelake.definitions import definitions_to_json
from codelake.encodings import decode
from codelake.measure import is_blank
from codelake.parsing import lines_only, parse_text
from codelake.secrets import mask

if TYPE_CHECKING:  # a worker process starts without pydantic
    from codelake.settings import Settings

PARSE_REASONS: Final[dict[str, str]] = {
    "plain-text": "the language of the file is not known",
    "no-grammar": "there is no grammar for its language",
    "syntax-error": "the parser found errors; see first_error_line",
    "timeout": "the parser did not finish within chunking.parse_seconds",
    "crash": "the parser died",
    "memory": "the parser wanted more memory than a file may use",
    "grammar-stopped": "its grammar did not finish on another file of this run",
}


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The settings that decide what a parsed file looks like."""

    chunker: str
    budget: int
    overlap: int
    is_masking: bool


class ParsedFile(NamedTuple):
    """The columns of the syntax table that parsing fills, in their order."""

    language: str
    encoding: str = ""
    bom_bytes: int = 0
    skip_reason: str = ""
    parse_status: str = "lines"
    parse_reason: str = ""
    first_error_line: int = 0
    redactions: tuple[str, ...] = ()
    text: bytes = b""
    outline: bytes = b""
    definitions: bytes = b"[]"


def parse_options(settings: "Settings") -> ParseOptions:
    """Pick what parsing needs from the settings."""
    chunking = settings.chunking
    return ParseOptions(
        chunking.chunker, chunking.budget, chunking.overlap, settings.secrets.redact
    )


def parse_file(
    content: bytes, path: str, language: str, options: ParseOptions, *, without: str = ""
) -> ParsedFile:
    """Parse one file.

    Args:
        content: its bytes.
        path: its path, which tells the masker what kind of file it is.
        language: its language, empty for plain text.
        options: see :class:`ParseOptions`.
        without: why it is cut by lines instead of parsed, from PARSE_REASONS; empty to parse.
    """
    decoded = decode(content, language)
    if decoded.is_binary:
        return ParsedFile(language, skip_reason="binary")
    # A mask is as long as what it hides, in characters and bytes: no offset moves.
    text, redactions = mask(decoded.text, path) if options.is_masking else (decoded.text, [])
    data = text.encode()
    if is_blank(data):
        return ParsedFile(language, decoded.encoding, decoded.bom_bytes, "empty", "ok")
    parsed = lines_only(without) if without else parse_text(data, language)
    source = Source(data, language, parsed.tree, parsed.definitions)
    cut = Options(options.budget, options.overlap)
    layout = lay_out(source, parsed, chunker_named(options.chunker), cut)
    return ParsedFile(
        language,
        decoded.encoding,
        decoded.bom_bytes,
        "",
        parsed.status,
        parsed.reason,
        parsed.first_error_line,
        tuple(redactions),
        data,
        pack_layout(layout),
        definitions_to_json(parsed.definitions),
    )


def syntax_batch(files: Any, settings: "Settings") -> Any:  # noqa: ANN401 - Arrow has no stubs
    """Return the rows of the syntax table for the rows of ``files``, in this process.

    A grammar that never returns hangs it: use :mod:`resources.parser_pool` for unknown files.
    """
    options = parse_options(settings)
    names = ("content", "path", "language", "skip_reason")
    columns = (files.column(name).to_pylist() for name in names)
    parsed = [
        ParsedFile(language, skip_reason=skipped)
        if skipped
        else parse_file(content, path, language, options)
        for content, path, language, skipped in zip(*columns, strict=True)
    ]
    return assemble_syntax(files, parsed)


def assemble_syntax(files: Any, parsed: Sequence[ParsedFile]) -> Any:  # noqa: ANN401 - Arrow has no stubs
    """Put what parsing found beside the columns of ``files`` it left alone."""
    import pyarrow as pa  # noqa: PLC0415 - workers and researchers parse without Arrow

    from codelake.schemas import SYNTAX  # noqa: PLC0415 - the same

    found = dict(zip(ParsedFile._fields, zip(*parsed, strict=True), strict=True)) if parsed else {}
    columns = [
        pa.array(found.get(field.name, ()), type=field.type)
        if field.name in ParsedFile._fields
        else files.column(field.name)
        for field in SYNTAX.schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SYNTAX.schema)
