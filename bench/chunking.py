"""What cutting costs: the library's chunkers and the stages against raw Tree-sitter parsing.

Files go through all arms in the groups in which the product parses them, one arm after the other
and each first in its turn, so that whatever else the machine does falls on all of them alike. The
ratios are of CPU seconds in one thread, the median of a few rounds.
"""

import functools
import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Final

import pyarrow as pa
import tree_sitter

from bench.figures import Figure
from bench.measure import timed
from bench.trees import Source
from codelake.chunking import DEFAULT_BUDGET, chunk
from codelake.chunking import Source as Parsed
from codelake.chunking.batches import chunk_batch
from codelake.chunking.cast import cut_cast
from codelake.chunking.spans import Options
from codelake.definitions import Definition, find_definitions
from codelake.encodings import decode
from codelake.languages import grammar
from codelake.parsing import Tree
from codelake.schemas import FILES
from codelake.settings import Settings
from codelake.symbols import described_columns, symbol_columns, symbols_batch
from codelake.syntax import groups, syntax_batch

_ROUNDS: Final = 3

Spent = dict[str, float]


def measure(sources: list[Source]) -> list[Figure]:
    """Compare parsing, cutting and the stages over ``sources``."""
    # What the parser is given in the product is decoded, for its own text and for ours.
    sources = [replace(source, content=_decoded(source)) for source in sources]
    for source in sources[::20]:  # grammars and queries load once, not in the measured part
        chunk(source.content, source.language)
    parts = [sources[group] for group in groups([len(source.content) for source in sources])]
    gc.disable()  # as the processes do that parse
    rounds = [_run_round(parts, number, _memories()) for number in range(_ROUNDS)]
    gc.enable()
    return [*_speed(sources, rounds), *_quality(sources)]


def _decoded(source: Source) -> bytes:
    return decode(source.content, source.language).text.encode()


def _memories() -> "list[functools._lru_cache_wrapper[object]]":
    """Return the bounded caches: what a round has left in them would be free in the next."""
    found = [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]  # noqa: SLF001 # the only name of the type
    return [each for each in found if each.cache_info().maxsize]


def _run_round(
    parts: list[list[Source]],
    first: int,
    memories: "list[functools._lru_cache_wrapper[object]]",
) -> Spent:
    spent: Spent = {}
    for memory in memories:
        memory.cache_clear()
    for number, part in enumerate(parts, start=first):
        turn = number % len(_ARMS)
        for name, arm in (*_ARMS[turn:], *_ARMS[:turn]):
            with timed(spent, name):
                arm(part)
        _run_stages(_rows(part), spent)
        gc.collect()
    return spent


def _parse_all(sources: list[Source]) -> list[tree_sitter.Node]:
    return [parse(source) for source in sources]


def _cut_all(sources: list[Source]) -> None:
    for source, root in zip(sources, _parse_all(sources), strict=True):
        _cut(source, root)


def _describe_all(sources: list[Source]) -> None:
    """Parse once, cut, find the definitions and describe each; spans have no ids either."""
    for source, found in zip(sources, _define_all(sources), strict=True):
        described_columns(source.content, found)


def _identify_all(sources: list[Source]) -> None:
    """Do the same and make the ids, hashes and embedded texts of the table."""
    for source, found in zip(sources, _define_all(sources), strict=True):
        symbol_columns(source.content, found, repository=source.origin, path=source.path)


def _define_all(sources: list[Source]) -> list[list[Definition]]:
    roots = _parse_all(sources)
    for source, root in zip(sources, roots, strict=True):
        _cut(source, root)
    return [
        find_definitions(root, source.content, source.language)
        for source, root in zip(sources, roots, strict=True)
    ]


def _chunk_all(sources: list[Source]) -> None:
    for source in sources:
        chunk(source.content, source.language)


_ARMS: Final[list[tuple[str, Callable[[list[Source]], object]]]] = [
    ("parse", _parse_all),
    ("cast", _cut_all),
    ("cast + symbols", _describe_all),
    ("cast + symbol rows", _identify_all),
    ("chunk", _chunk_all),
]


@functools.cache
def _parser(language: str) -> tree_sitter.Parser:
    found = grammar(language)
    assert found is not None  # noqa: S101 # the trees hold languages with a grammar
    return tree_sitter.Parser(found)


def parse(source: Source) -> tree_sitter.Node:
    """Return the root of the tree of one file."""
    return _parser(source.language).parse(source.content).root_node


def cut_plainly(source: Source) -> list[bytes]:
    """Cut as the paper does: spans and their text, without names, scopes and symbols."""
    root = parse(source)
    return _cut(source, root)


def _cut(source: Source, root: tree_sitter.Node) -> list[bytes]:
    text, language = source.content, source.language
    spans = cut_cast(Parsed(text, language, Tree(root, language)), Options(DEFAULT_BUDGET))
    return [text[span.start : span.end] for span in spans]


def _run_stages(rows: pa.RecordBatch, spent: Spent) -> None:
    settings = Settings()
    with timed(spent, "syntax"):
        syntax = syntax_batch(rows, settings)
    with timed(spent, "chunks"):
        chunk_batch(syntax, settings)
    with timed(spent, "symbols"):
        symbols_batch(syntax, settings)


def _rows(sources: list[Source]) -> pa.RecordBatch:
    rows = [
        {
            "repository": source.origin,
            "path": source.path,
            "blob_id": f"{number:040x}",
            "size": len(source.content),
            "language": source.language,
            "is_test": False,
            "is_generated": False,
            "is_vendored": False,
            "is_documentation": False,
            "skip_reason": "",
            "fingerprint": "",
            "status": "added",
            "content": source.content,
        }
        for number, source in enumerate(sources)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=FILES.schema)


def _speed(sources: list[Source], rounds: list[Spent]) -> list[Figure]:
    size = sum(len(source.content) for source in sources) / 1e6

    def against(*names: str) -> float:
        return median(sum(spent[name] for name in names) / spent["parse"] for spent in rounds)

    return [
        Figure("files", len(sources)),
        Figure("languages", len({source.language for source in sources})),
        Figure("size", size, "MB"),
        Figure("raw parsing", median(spent["parse"] for spent in rounds), "CPU s"),
        Figure("raw parsing / cast", 1 / against("cast"), goal=">= 0.85"),
        Figure("raw parsing / cast + symbols", 1 / against("cast + symbols"), goal=">= 0.70"),
        Figure("  with their ids, hashes and embedded texts", 1 / against("cast + symbol rows")),
        Figure("raw parsing / chunks with names, scopes, lines", 1 / against("chunk")),
        Figure(
            "raw parsing / stages to chunk and symbol rows",
            1 / against("syntax", "chunks", "symbols"),
        ),
        Figure("  of that syntax", against("syntax"), "x raw"),
        Figure("  of that chunks", against("chunks"), "x raw"),
        Figure("  of that symbols", against("symbols"), "x raw"),
    ]


def _quality(sources: list[Source]) -> list[Figure]:
    budget = Settings().chunking.budget
    lines = covered = text = kept = over = count = 0
    for source in sources:
        chunks = chunk(source.content, source.language)
        wanted = set(_code_lines(source.content))
        found = {n for part in chunks for n in range(part.start_line, part.end_line + 1)}
        lines += len(wanted)
        covered += len(wanted & found)
        text += sum(len(word) for word in source.content.decode("utf-8", "replace").split())
        kept += sum(part.nws for part in chunks)
        over += sum(part.nws > budget for part in chunks)
        count += len(chunks)
    return [
        Figure("chunks", count),
        Figure("lines with code covered", 100 * covered / lines, "%", "100"),
        Figure("characters in chunks / in files, white space aside", kept / text, goal="1.000"),
        Figure("chunks over the budget", over, goal="0"),
    ]


def _code_lines(content: bytes) -> Iterator[int]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield number
