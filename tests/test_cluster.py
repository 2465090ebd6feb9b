"""A real cluster on this machine: a head without processors and nodes that come and go."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import pytest

from pipelines.summary import Summary
from resources.cluster import embedding, engine
from resources.progress import reporting_to
from tests.nights import commit, night, rows

pytestmark = pytest.mark.skipif(not find_spec("dagster_ray"), reason="needs the group ray")

_MEMORY = 100 * 2**20  # of a node's object store; the least is 75 MB
_TABLES = ("chunks", "symbols", "files", "repositories", "embeddings")
_CODE = "def f{0}(values):\n    return [value + {0} for value in values]\n\n\n"
_FILES = {f"src/part{n}.py": _CODE.format(n) * (n % 5 + 1) for n in range(24)} | {
    "hangs.cob": "x",  # its grammar never returns
    "late.cob": "x",
    "secret.py": "TOKEN = 'ghp_0123456789abcdefghijABCDEFGHIJ456789'\n",
    "latin.py": "# caf\u00e9\n",
    "empty.js": "\n",
}
_CONNECT = "from resources.cluster import Connection; Connection().open()"


class _Cluster(Protocol):
    """Ray's own cluster for tests, and the nodes that are there."""

    address: str
    nodes: list[object]

    def add_node(self, **options: int) -> object: ...

    def remove_node(self, node: object, *, allow_graceful: bool) -> None: ...


class _Acting:
    """Calls a function once for a stage, when the first of its answers has come."""

    def __init__(self, **acts: Callable[[], object]) -> None:
        self.waiting, self._stage = acts, ""

    def stage(self, name: str, *, total: int | None = None, unit: str = "") -> None:
        del total, unit
        self._stage = name

    def advance(self, count: int, detail: str = "") -> None:
        del count, detail
        self.waiting.pop(self._stage, str)()


@pytest.fixture(scope="module")
def cluster() -> Iterator[_Cluster]:
    """Run a cluster with two nodes that work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")  # before Ray is imported, which reads it once
        patch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        from ray.cluster_utils import Cluster  # noqa: PLC0415

        head = {"num_cpus": 0, "object_store_memory": _MEMORY, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        patch.setenv("RAY_ADDRESS", cluster.address)
        cluster.nodes = [_node(cluster), _node(cluster)]
        yield cluster
        cluster.shutdown()


def _node(cluster: _Cluster) -> object:
    return cluster.add_node(num_cpus=1, object_store_memory=_MEMORY)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small tree make many pieces."""
    monkeypatch.setattr(engine, "_PIECE_FILES", 3)
    monkeypatch.setattr(embedding, "_PIECE_TEXTS", 5)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index a tree on this machine alone."""
    root = tmp_path_factory.mktemp("cluster")
    commit(root / "tree" / "one", _FILES)
    (root / "tree" / "one" / "latin.py").write_bytes("# caf\u00e9\n".encode("latin-1"))
    commit(root / "tree" / "one", {}, "another encoding")
    commit(root / "tree" / "two", {"a.cob": "x", "b.go": "package b\n\nfunc B() {}\n"})
    assert not _night(root, "local").failed
    return root


def _night(root: Path, store: str, **changes: object) -> Summary:
    settings = {"chunking__parse_seconds": 2.0, "embedding__embedder": "static"}
    return night(root / store, root / "tree", **(settings | changes))


def _assert_same(root: Path, store: str) -> None:
    for table in _TABLES:
        assert rows(root / store, table) == rows(root / "local", table)


@pytest.mark.usefixtures("cluster", "small_pieces")
def test_two_nodes_make_the_rows_of_one_machine(local: Path) -> None:
    summary = _night(local, "two", run__engine="ray")
    assert not summary.failed
    assert summary.texts["embedded"] == len(rows(local / "local", "embeddings"))
    _assert_same(local, "two")
    assert not _night(local, "two", run__engine="ray").chunks["added"]


@pytest.mark.usefixtures("small_pieces")
def test_nodes_that_are_killed_lose_nothing(cluster: _Cluster, local: Path) -> None:
    def kill() -> None:
        cluster.remove_node(cluster.nodes.pop(0), allow_graceful=False)

    def replace() -> None:
        kill()
        cluster.nodes.append(_node(cluster))

    acting = _Acting(syntax=replace, embeddings=kill)
    with reporting_to(acting):
        summary = _night(local, "killed", run__engine="ray")
    assert not summary.failed
    assert not acting.waiting
    _assert_same(local, "killed")


@pytest.mark.usefixtures("cluster")
def test_wrong_token_is_refused() -> None:
    result = subprocess.run(
        [sys.executable, "-c", _CONNECT],
        env=os.environ | {"RAY_AUTH_TOKEN": "f" * 64},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode
    assert "ClusterError" in result.stderr


@pytest.mark.usefixtures("cluster")
def test_node_with_other_code_is_told(local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "__version__", "0.0.0")
    summary = _night(local, "other", run__engine="ray")
    assert "install the same on all" in summary.failed[0]["reason"]
