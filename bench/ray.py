"""The heavy stages on a Ray cluster of one and of two nodes, against one local worker.

A node has one processor, and the head none. The default model runs on one thread everywhere.
"""

import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bench.figures import Figure
from bench.pipeline import index
from bench.trees import Source, write_repositories

_MEGABYTES: Final = 6  # of code: a minute of the default model
_MEMORY: Final = 200 * 2**20  # bytes of a node's object store
_STAGES: Final = {
    "parse": ("syntax",),
    "cut": ("chunks", "symbols"),
    "embed": ("embeddings",),
}
_LOCAL: Final = "[run]\nworkers = 1\n[embedding]\nthreads = 1\n"
_CLUSTER: Final = _LOCAL.replace("workers = 1", 'engine = "ray"')


def measure(sources: list[Source]) -> list[Figure]:
    """Index some of ``sources`` locally, on one node and on two."""
    if not find_spec("dagster_ray"):
        return [Figure("Ray is not installed; see `make bench-ray`", 0)]
    with tempfile.TemporaryDirectory(prefix="codelake-ray-") as name:
        folder = Path(name)
        write_repositories(_some(sources), folder / "tree")
        local = _seconds(folder, "local", _LOCAL)
        with _cluster() as cluster:
            one = _seconds(folder, "one", _CLUSTER)
            _add_node(cluster)
            two = _seconds(folder, "two", _CLUSTER)
    figures = [Figure(f"local: {stage}", local[stage], "s of wall time") for stage in _STAGES]
    for stage in _STAGES:
        figures += [
            Figure(f"{stage}: one node over local, in time", one[stage] / local[stage]),
            Figure(f"{stage}: gain of two nodes over one", one[stage] / two[stage]),
        ]
    total = [sum(found.values()) for found in (local, one, two)]
    return [
        *figures,
        Figure("all three: one node over local, in time", total[1] / total[0]),
        Figure("all three: gain of two nodes over one", total[1] / total[2]),
        Figure("all three: gain of two nodes over local", total[0] / total[2]),
    ]


def _some(sources: list[Source]) -> list[Source]:
    """Return files from all of ``sources`` that are so many megabytes together."""
    size = sum(len(source.content) for source in sources)
    return sources[:: max(1, int(size / (_MEGABYTES * 1e6)))]


def _seconds(folder: Path, name: str, settings: str) -> dict[str, float]:
    config = folder / f"{name}.toml"
    config.write_text(settings, encoding="utf-8")
    _, summary = index(folder / "tree", folder / name, config)
    stages = summary["seconds"]
    assert isinstance(stages, dict)  # noqa: S101 - as docs/nights.md has it
    return {stage: sum(stages[part] for part in parts) for stage, parts in _STAGES.items()}


@contextmanager
def _cluster() -> Iterator[Any]:
    """Run a cluster with one node that works; what is started meanwhile finds it."""
    os.environ |= {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - reads the environment once

    head = {"num_cpus": 0, "object_store_memory": _MEMORY, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    os.environ["RAY_ADDRESS"] = cluster.address
    _add_node(cluster)
    yield cluster
    cluster.shutdown()


def _add_node(cluster: Any) -> None:  # noqa: ANN401 - of a package that may not be installed
    cluster.add_node(num_cpus=1, object_store_memory=_MEMORY)
