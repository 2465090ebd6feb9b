"""What ``codelake index`` costs over a tree: first run, second run, size of the store."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.chunking import parse
from bench.figures import Figure
from bench.measure import Cost, folder_megabytes, run_measured, timed
from bench.trees import Source, commit_all, write_repositories

_CODELAKE: Final = (sys.executable, "-c", "from pipelines.command_line import main; main()")

_ROUNDS: Final = 2  # of raw parsing, of which the faster counts

_HASHING: Final = "[embedding]\nembedder = 'hash'\ndimensions = 384\n"


def measure(sources: list[Source]) -> list[Figure]:
    """Index ``sources`` with the hashing embedder, then with one behind HTTP."""
    with tempfile.TemporaryDirectory(prefix="codelake-bench-") as name:
        folder = Path(name)
        write_repositories(sources, folder / "tree")
        start, raw = _start_cost(folder), _parsing_cost(sources)
        figures = [
            Figure("files", len(sources)),
            Figure("size", sum(len(source.content) for source in sources) / 1e6, "MB"),
            Figure("start of the command and of Dagster", start, "CPU s"),
            Figure("raw parsing, one thread", raw, "CPU s"),
        ]
        figures += _index(folder, start, raw, "in process", _HASHING)
        with stub_server() as port:
            figures += _index(folder, start, raw, "over HTTP", http_settings(port))
    return figures


def index(tree: Path, store: Path, config: Path) -> tuple[Cost, dict[str, object]]:
    """Run ``codelake index`` and return what it cost and what it said."""
    words = ["index", str(tree), "--store", str(store), "--config", str(config), "--json"]
    cost = run_measured([*_CODELAKE, *words])
    if cost.code:
        message = f"codelake index failed with exit code {cost.code}: {cost.output}"
        raise RuntimeError(message)
    return cost, json.loads(cost.output)


def http_settings(port: int) -> str:
    """Return settings that embed through the stub server."""
    return (
        "[embedding]\nembedder = 'openai-compatible'\nmodel = 'stub'\n"
        f"base_url = 'http://127.0.0.1:{port}/v1'\n"
    )


@contextmanager
def stub_server() -> Iterator[int]:
    """Serve embeddings from a process of their own and yield the port."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.stub_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None  # noqa: S101 # asked for above
        assert process.stdout is not None  # noqa: S101 # asked for above
        yield int(process.stdout.readline())
        process.stdin.close()


def _start_cost(folder: Path) -> float:
    """Return the CPU seconds of a run that finds one repository with one line of code."""
    empty = folder / "empty"
    empty.mkdir()
    (empty / "a.py").write_text("a = 1\n", encoding="utf-8")
    commit_all(empty)
    config = folder / "start.toml"
    config.write_text(_HASHING, encoding="utf-8")
    return index(empty, folder / "start", config)[0].cpu_seconds


def _parsing_cost(sources: list[Source]) -> float:
    """Return the CPU seconds of parsing alone: what the machine is worth."""
    rounds: dict[str, float] = {}
    for number in range(_ROUNDS):
        with timed(rounds, str(number)):
            for source in sources:
                parse(source)
    return min(rounds.values())


def _index(folder: Path, start: float, raw: float, name: str, settings: str) -> list[Figure]:
    store = folder / f"store {name}"
    config = folder / f"{name}.toml"
    config.write_text(settings, encoding="utf-8")
    first, summary = index(folder / "tree", store, config)
    size = folder_megabytes(store)
    again, _ = index(folder / "tree", store, config)
    figures = [
        Figure(f"{name}: first run over the start", first.cpu_seconds - start, "CPU s", "<= 45"),
        Figure(f"{name}: the same / raw parsing", (first.cpu_seconds - start) / raw, "", "<= 11"),
        Figure(f"{name}: peak memory", first.peak_megabytes, "MB", "<= 650"),
        Figure(f"{name}: second run over the start", again.cpu_seconds - start, "CPU s", "<= 2"),
        Figure(f"{name}: size of the store", size, "MB"),
    ]
    stages = summary["seconds"]
    if isinstance(stages, dict):
        figures += [Figure(f"{name}:   {k}", v, "s of wall time") for k, v in stages.items()]
    return figures
