"""``python -m bench``: print what codelake costs, as figures measured in this run."""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Final

from bench.figures import Figure, draw
from bench.trees import Source, collect

PARTS: Final[dict[str, str]] = {
    "chunking": "Cutting against raw Tree-sitter parsing, one thread",
    "pipeline": "The whole pipeline with a stub embedder",
    "embedding": "The shipped embedders",
    "service": "Our way to an embeddings service against its own client",
    "store": "The store alone, with random vectors",
    "vectors": "The vector index against exact search, alone",
    "search": "Questions over the pipeline's tables",
    "nightly": "A history replayed night by night",
    "organisation": "Thousands of small repositories, night by night",
    "ray": "The heavy stages on a Ray cluster against one local worker",
    "capacity": "What a billion lines take, from what the parts cost",
    "watching": "A repository that is watched while it changes",
}


def main() -> None:
    """Measure the parts that are named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--megabytes", type=float, default=37.5, help="size of the tree")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    sources = collect(options.megabytes)
    told = {}
    for part in options.parts or PARTS:
        measure: Callable[[list[Source]], list[Figure]] = import_module(f"bench.{part}").measure
        figures = measure(sources)
        print(draw(PARTS[part], figures), flush=True)
        told[part] = [asdict(figure) for figure in figures]
    if options.json:
        options.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
