"""What cutting costs: the library's chunkers and the stages against raw Tree-sitter parsing.

Every file goes through all arms one after the other, so that whatever else the machine does
falls on all of them alike; the ratios are of CPU seconds in one process.
"""

import gc
from collections.abc import Iterator

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
from codelake.languages import grammar
from codelake.parsing import Tree
from codelake.schemas import FILES
from codelake.settings import Settings
from codelake.symbols import symbols_batch
from codelake.syntax import syntax_batch

_BATCH_FILES = 64


def measure(sources: list[Source]) -> list[Figure]:
    """Compare parsing, cutting and the stages over ``sources``."""
    spent: dict[str, float] = {}
    for source in sources[::20]:  # grammars and queries load once, not in the measured part
        chunk(source.content, source.language)
    gc.disable()
    for start in range(0, len(sources), _BATCH_FILES):
        batch = sources[start : start + _BATCH_FILES]
        with timed(spent, "parse"):
            for source in batch:
                _parse(source)
        with timed(spent, "cast"):
            for source in batch:
                cut_plainly(source)
        with timed(spent, "cast + symbols"):
            for source in batch:
                _cast_and_symbols(source)
        with timed(spent, "chunk"):
            for source in batch:
                chunk(source.content, source.language)
        _run_stages(_rows(batch), spent)
        gc.collect()
    gc.enable()
    return [*_speed(sources, spent), *_quality(sources)]


def _parse(source: Source) -> tree_sitter.Node:
    language = grammar(source.language)
    assert language is not None  # noqa: S101 # the trees hold languages with a grammar
    return tree_sitter.Parser(language).parse(source.content).root_node


def cut_plainly(source: Source) -> list[bytes]:
    """Cut as the paper does: spans and their text, without names, scopes and symbols."""
    root = _parse(source)
    return _cut(source, root)


def _cast_and_symbols(source: Source) -> tuple[list[bytes], list[Definition]]:
    """Cut, and find the definitions with all that is known of them."""
    root = _parse(source)
    return _cut(source, root), find_definitions(root, source.content, source.language)


def _cut(source: Source, root: tree_sitter.Node) -> list[bytes]:
    text, language = source.content, source.language
    spans = cut_cast(Parsed(text, language, Tree(root, language)), Options(DEFAULT_BUDGET))
    return [text[span.start : span.end] for span in spans]


def _run_stages(rows: pa.RecordBatch, spent: dict[str, float]) -> None:
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


def _speed(sources: list[Source], spent: dict[str, float]) -> list[Figure]:
    size = sum(len(source.content) for source in sources) / 1e6
    stages = spent["syntax"] + spent["chunks"] + spent["symbols"]
    return [
        Figure("files", len(sources)),
        Figure("languages", len({source.language for source in sources})),
        Figure("size", size, "MB"),
        Figure("raw parsing", spent["parse"], "CPU s"),
        Figure("raw parsing / cast", spent["parse"] / spent["cast"], goal=">= 0.85"),
        Figure(
            "raw parsing / cast + symbols", spent["parse"] / spent["cast + symbols"], goal=">= 0.70"
        ),
        Figure("raw parsing / chunks with names, scopes, lines", spent["parse"] / spent["chunk"]),
        Figure("raw parsing / stages to chunk and symbol rows", spent["parse"] / stages),
        Figure("  of that syntax", spent["syntax"] / spent["parse"], "x raw"),
        Figure("  of that chunks", spent["chunks"] / spent["parse"], "x raw"),
        Figure("  of that symbols", spent["symbols"] / spent["parse"], "x raw"),
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
