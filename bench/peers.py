"""``python -m bench.peers``: other tools cut the same files in the same run.

Each peer takes the files of the languages it knows; its ratio is the CPU time of raw
Tree-sitter parsing of those files over its own. Chunk sizes are as near to the budget as a
peer's own unit allows. Peers run in this thread: what they start elsewhere is counted too.
"""

import argparse
import logging
import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import tree_sitter
from astchunk import ASTChunkBuilder
from llama_index.core.node_parser import CodeSplitter
from semble.chunking.chunking import chunk_source

from bench.chunking import cut_plainly
from bench.figures import Figure, draw
from bench.measure import timed
from bench.trees import Source, collect
from codelake.chunking import chunk
from codelake.languages import grammar

_BUDGET: Final = 1200
_ASTCHUNK: Final = ("python", "java", "csharp", "typescript")

Cut = Callable[[Source, str], object]


def main() -> None:
    """Print the ratio of each peer, best first."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=12.0, help="size of the tree")
    logging.disable(logging.WARNING)
    figures = measure(collect(parser.parse_args().megabytes))
    print(draw("Raw Tree-sitter parsing / cutting, one process", figures))


def measure(sources: list[Source]) -> list[Figure]:
    """Let every arm cut ``sources``."""
    spent: dict[str, float] = {}
    parsing: dict[str, float] = {}
    faults: dict[str, int] = {}
    for is_measured in (False, True):
        for source in sources if is_measured else sources[::40]:
            _cut(source, spent, parsing, faults)
        if not is_measured:  # the first round loads grammars and models
            spent, parsing, faults = {}, {}, {}
    ratios = {name: parsing[name] / spent[name] for name in spent}
    ranked = sorted(ratios, key=lambda name: -ratios[name])
    failed = [Figure(f"{name}: files it failed on", faults[name]) for name in faults]
    return [*(Figure(name, ratios[name]) for name in ranked), *failed]


def _cut(
    source: Source, spent: dict[str, float], parsing: dict[str, float], faults: dict[str, int]
) -> None:
    text = source.content.decode("utf-8", "replace")
    raw: dict[str, float] = {}
    with timed(raw, "parse"):
        tree_sitter.Parser(grammar(source.language)).parse(source.content)
    for name, cut in _ARMS.items():
        if name == "astchunk" and source.language not in _ASTCHUNK:
            continue
        try:
            with timed(spent, name):
                cut(source, text)
        except Exception:  # noqa: BLE001 # a peer's fault is a figure, whatever it is
            faults[name] = faults.get(name, 0) + 1
        parsing[name] = parsing.get(name, 0.0) + raw["parse"]


@cache
def _splitter() -> Any:  # noqa: ANN401 # the peer has no types
    os.environ["COCOINDEX_DISABLE_USAGE_TRACKING"] = "1"  # read as it is imported: nothing is sent
    from cocoindex.ops.text import RecursiveSplitter  # noqa: PLC0415 # after the line above

    return RecursiveSplitter()


def _cocoindex(source: Source, text: str) -> object:
    return _splitter().split(text, 2 * _BUDGET, language=source.language)


def _llama_index(source: Source, text: str) -> object:
    parser = tree_sitter.Parser(grammar(source.language))
    return CodeSplitter(language=source.language, max_chars=2 * _BUDGET, parser=parser).split_text(
        text
    )


def _astchunk(source: Source, text: str) -> object:
    builder = ASTChunkBuilder(
        max_chunk_size=_BUDGET, language=source.language, metadata_template="none"
    )
    return builder.chunkify(text)


_ARMS: Final[Mapping[str, Cut]] = {
    "codelake, spans and text": lambda source, _: cut_plainly(source),
    "codelake, names and scopes too": lambda source, _: chunk(
        source.content, source.language, "cast", _BUDGET
    ),
    "semble": lambda source, text: chunk_source(text, source.path, source.language),
    "CocoIndex": _cocoindex,
    "LlamaIndex": _llama_index,
    "astchunk": _astchunk,
}


if __name__ == "__main__":
    main()
