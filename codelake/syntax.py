"""From the bytes of files to rows of the syntax table: decode, mask secrets, parse, cut.

:func:`parse_files` knows nothing of tables, so that a worker process need not load Arrow;
:func:`syntax_batch` does a batch of rows in this process.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from codelake.chunking import Options, Source, chunker_named, lay_out
from codelake.chunking.layout import pack_layout
from codelake.definitions import definitions_to_json
from codelake.encodings import Decoded, decode
from codelake.measure import is_blank
from codelake.parsing import Parsed, examine, lines_only, parse_tree
from codelake.secrets import find_suspects, mask

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

_GROUP_FILES: Final = 32
_GROUP_BYTES: Final = 300_000  # their trees are some 20 MB; bigger groups gain nothing


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The settings that decide what a parsed file looks like."""

    chunker: str
    budget: int
    overlap: int
    is_masking: bool


class File(NamedTuple):
    """One file to parse.

    ``without`` is empty, or why it is cut by lines instead of parsed (a key of PARSE_REASONS), or
    why it is not read at all (any other word, its skip reason). ``is_suspect`` is false where
    :func:`codelake.secrets.find_suspects` has ruled out that it holds a secret.
    """

    content: bytes
    path: str
    language: str
    without: str = ""
    is_suspect: bool = True


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


class _Text(NamedTuple):
    """A file that was decoded."""

    file: File
    decoded: Decoded
    data: bytes
    redactions: tuple[str, ...]


def parse_file(file: File, options: ParseOptions) -> ParsedFile:
    """Parse one file."""
    return parse_files([file], options)[0]


def parse_files(
    files: Sequence[File], options: ParseOptions, mark: Callable[[int], None] | None = None
) -> list[ParsedFile]:
    """Parse files, in groups that go through each step together.

    A step leaves its code and tables in the processor's caches for the next file, which the parser
    would drive out: 30 % less time than file by file.

    Args:
        files: what to parse.
        options: see :class:`ParseOptions`.
        mark: is called with a file's number before each step of it.
    """
    parsed: list[ParsedFile] = []
    for group in groups([len(file.content) for file in files]):
        parsed += _parse_group(files[group], options, _shifted(mark, group.start))
    return parsed


def groups(sizes: Sequence[int]) -> Iterator[slice]:
    """Yield which of the files of these sizes go through each step together."""
    start = 0
    while start < len(sizes):
        end, size = start, 0
        while end < len(sizes) and end - start < _GROUP_FILES and size < _GROUP_BYTES:
            size += sizes[end]
            end += 1
        yield slice(start, end)
        start = end


def _shifted(mark: Callable[[int], None] | None, start: int) -> Callable[[int], None]:
    return (lambda number: mark(start + number)) if mark else (lambda _: None)


def _parse_group(
    files: Sequence[File], options: ParseOptions, mark: Callable[[int], None]
) -> list[ParsedFile]:
    done: dict[int, ParsedFile] = {}
    texts: dict[int, _Text] = {}
    for number, file in enumerate(files):
        mark(number)
        read = _read(file, options)
        if isinstance(read, _Text):
            texts[number] = read
        else:
            done[number] = read
    roots = {}
    for number, text in texts.items():
        mark(number)
        roots[number] = None if text.file.without else parse_tree(text.data, text.file.language)
    parses = {}
    for number, text in texts.items():
        mark(number)
        without, language = text.file.without, text.file.language
        parses[number] = (
            lines_only(without) if without else examine(roots[number], text.data, language)
        )
    for number, text in texts.items():
        mark(number)
        done[number] = _cut(text, parses[number], options)
    return [done[number] for number in range(len(files))]


def _read(file: File, options: ParseOptions) -> _Text | ParsedFile:
    """Decode a file and mask its secrets."""
    if file.without and file.without not in PARSE_REASONS:
        return ParsedFile(file.language, skip_reason=file.without)
    decoded = decode(file.content, file.language)
    if decoded.is_binary:
        return ParsedFile(file.language, skip_reason="binary")
    text, redactions = decoded.text, list[str]()
    if options.is_masking and file.is_suspect:
        # A mask is as long as what it hides, in characters and bytes: no offset moves.
        text, redactions = mask(text, file.path)
    data = text.encode()
    if is_blank(data):
        return ParsedFile(file.language, decoded.encoding, decoded.bom_bytes, "empty", "ok")
    return _Text(file, decoded, data, tuple(redactions))


def _cut(text: _Text, parsed: Parsed, options: ParseOptions) -> ParsedFile:
    language = text.file.language
    source = Source(text.data, language, parsed.tree, parsed.definitions)
    cut = chunker_named(options.chunker)
    layout = lay_out(source, parsed, cut, Options(options.budget, options.overlap))
    return ParsedFile(
        language,
        text.decoded.encoding,
        text.decoded.bom_bytes,
        "",
        parsed.status,
        parsed.reason,
        parsed.first_error_line,
        text.redactions,
        text.data,
        pack_layout(layout),
        definitions_to_json(parsed.definitions),
    )


def syntax_batch(files: Any, settings: "Settings") -> Any:  # noqa: ANN401 - Arrow has no stubs
    """Return the rows of the syntax table for the rows of ``files``, in this process.

    A grammar that never returns hangs it: use :mod:`resources.parser_pool` for unknown files.
    """
    options = parse_options(settings)
    names = ("content", "path", "language", "skip_reason")
    suspects = find_suspects(files.column("content"), files.column("path"))
    rows = zip(*(files.column(name).to_pylist() for name in names), suspects, strict=True)
    parsed = parse_files([File(*row) for row in rows], options)
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
