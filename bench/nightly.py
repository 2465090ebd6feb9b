"""A real history, night by night: what is embedded, what a night costs, what stands at the end.

Every tenth commit of the replays beside the checkout is one night of ``codelake index``, run in
this process so that Dagster's start is paid once; ``CODELAKE_BENCH_NIGHTS=1`` takes every commit,
a thousand CPU seconds of them. Without the replays nothing is measured.
"""

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa

from bench.figures import Figure
from bench.measure import cpu_seconds, folder_megabytes
from bench.trees import SHARED, Source
from pipelines.running import run_index
from pipelines.summary import Summary
from resources.configuration import Configuration
from resources.store import LanceStore


def measure(sources: list[Source]) -> list[Figure]:
    """Replay every bundle; ``sources`` is not used."""
    del sources
    figures = []
    for bundle in sorted((SHARED / "nightly_replay").glob("*.bundle")):
        with tempfile.TemporaryDirectory(prefix="codelake-nightly-") as name:
            figures += _replay(bundle, Path(name))
    return figures or [Figure("replays found", 0)]


def _replay(bundle: Path, folder: Path) -> list[Figure]:
    name = bundle.name.partition("__")[2].removesuffix(".bundle")
    clone = folder / "clones" / name
    _git("clone", "-q", "--no-checkout", str(bundle), str(clone))
    tags = sorted(_git("-C", str(clone), "tag").split())
    every = int(os.environ.get("CODELAKE_BENCH_NIGHTS", "10"))
    nights, embedded, texts = [], 0, set[str]()
    for tag in tags[::every]:
        _git("-C", str(clone), "update-ref", "--no-deref", "HEAD", f"{tag}^{{commit}}")
        start = cpu_seconds()
        summary = _index(clone, folder / "store")
        nights.append(cpu_seconds() - start)
        embedded += summary.texts["embedded"]
        texts |= _texts(folder / "store")
    idle_start = cpu_seconds()
    _index(clone, folder / "store")
    idle = cpu_seconds() - idle_start
    _index(clone, folder / "fresh")
    return [
        Figure(f"{name}: nights", len(nights)),
        Figure(f"{name}: first night", nights[0], "CPU s"),
        Figure(f"{name}: median of the other nights", statistics.median(nights[1:]), "CPU s"),
        Figure(f"{name}: a night with nothing changed", idle, "CPU s"),
        Figure(f"{name}: distinct texts there ever were", len(texts)),
        Figure(f"{name}: texts embedded", embedded, "", f"{len(texts):,}"),
        Figure(f"{name}: rows that differ from a fresh run", _difference(folder), "", "0"),
        Figure(f"{name}: size of the store", folder_megabytes(folder / "store"), "MB"),
        Figure(f"{name}: size of a fresh store", folder_megabytes(folder / "fresh"), "MB"),
    ]


def _index(clone: Path, store: Path) -> Summary:
    changes = {"sources.paths": [str(clone)], "embedding.embedder": "hash"}
    return run_index(Configuration(config_file="", store=str(store), changes=json.dumps(changes)))


def _texts(store: Path) -> set[str]:
    opened = LanceStore(store)
    return {
        text_hash
        for table in ("chunks", "symbols")
        for text_hash in opened.read(table, columns=["text_hash"])["text_hash"].to_pylist()
    }


def _difference(folder: Path) -> int:
    """Return the number of rows that one store has and the other has not."""
    different = 0
    for table in ("files", "chunks", "symbols"):
        grown, fresh = (_rows(LanceStore(folder / name).read(table)) for name in ("store", "fresh"))
        different += len(grown ^ fresh)
    return different


def _rows(table: pa.Table) -> set[str]:
    return {json.dumps(row, sort_keys=True, default=str) for row in table.to_pylist()}


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout
