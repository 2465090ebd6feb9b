"""What the nodes of a cluster parse apart from each other, put together as one process does it."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from codelake.errors import ClusterError, UsageError
from codelake.schemas import TABLES
from codelake.settings import Settings, build_settings
from resources.cluster import check_cluster, parsing
from resources.cluster.connecting import require_head
from resources.cluster.parsing import ParseFiles, ReadFiles, settle
from resources.cluster.pieces import Piece, cut
from resources.contents import to_parse
from resources.engines import LocalEngine
from resources.stages import Batches
from tests.nights import commit, night

_SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ456789"  # noqa: S105 - is to be found
_FILES = {
    "a.py": "def a():\n    return 1\n",
    "b.cob": "x",  # its grammar never returns
    "c.cob": "x",
    "d.py": f'TOKEN = "{_SECRET}"\n\ndef d():\n    return TOKEN\n',
    "e.cob": "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. SAMPLE.\n",
    "empty.py": "\n",
    "f.js": "function f() { return 2 }\n",
}


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the stage tables of a night over two repositories."""
    root = tmp_path_factory.mktemp("cluster")
    commit(root / "tree" / "one", _FILES)
    commit(root / "tree" / "two", {"a.cob": "x", "b.py": "b = 1\n"})
    night(root / "store", root / "tree", chunking__parse_seconds=1.0)
    yield root / "store" / "stages"
    while parsing._POOLS:  # of this process; those of a node end with it
        parsing._POOLS.popitem()[1].close()


def _inputs(stages: Path) -> tuple[pa.Table, Batches, Settings]:
    tables = [Batches(stages / f"{n}.arrow", TABLES[n]) for n in ("repositories", "files")]
    settings = build_settings({"chunking": {"parse_seconds": 1.0}, "run": {"workers": 1}})
    return tables[0].table(), tables[1], settings


def _pieces(files: Batches, rows: int) -> list[Piece]:
    sizes = (to_parse(batch).column("size").to_pylist() for batch in files)
    return list(cut(sizes, most_rows=rows, most_bytes=10_000_000))


def _apart(
    pieces: list[Piece], reader: ReadFiles, settings: Settings
) -> Iterator[tuple[Piece, list[pa.RecordBatch]]]:
    """Parse the last piece first, each by someone who knows nothing of the others."""
    answers = {}
    for piece in reversed(pieces):
        answers[piece] = ParseFiles(settings, f"run {piece.number}")(reader(piece))
    return iter(sorted(answers.items()))


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_rows_are_those_of_one_process_however_they_are_spread(stages: Path, rows: int) -> None:
    repositories, files, settings = _inputs(stages)
    expected = list(LocalEngine(settings).parse(repositories, files))
    reader = ReadFiles(repositories, files, settings, f"reader {rows}")
    pieces = _pieces(files, rows)
    found = list(settle(_apart(pieces, reader, settings), reader))
    assert pa.Table.from_batches(found).equals(pa.Table.from_batches(expected))
    reasons = pa.Table.from_batches(found)["parse_reason"].to_pylist()
    assert reasons.count("timeout") == 1
    assert reasons.count("grammar-stopped") == 3
    assert all(len(set(batch.column("repository").to_pylist())) == 1 for batch in found)


def test_file_with_a_secret_is_parsed_before_it_travels(stages: Path) -> None:
    repositories, files, settings = _inputs(stages)
    reader = ReadFiles(repositories, files, settings, "secrets")
    travelling = [batch for piece in _pieces(files, 100) for batch in reader(piece)]
    assert _SECRET not in str([batch.to_pylist() for batch in travelling])
    masked = [b for b in travelling if "redactions" in b.schema.names]
    assert [b.column("path").to_pylist() for b in masked] == [["d.py"]]
    assert "content" in travelling[0].schema.names


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "RAY_ADDRESS is not set"),
        ({"RAY_ADDRESS": "ray://head:10001"}, "RAY_ADDRESS is 'ray://head:10001'"),
        ({"RAY_ADDRESS": "auto"}, "RAY_AUTH_MODE=token"),
        ({"RAY_ADDRESS": "auto", "RAY_AUTH_MODE": "token"}, "RAY_AUTH_TOKEN"),
    ],
    ids=["no address", "a client's address", "no authentication", "no token"],
)
def test_what_a_cluster_needs_is_told_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: str
) -> None:
    pytest.importorskip("dagster_ray")
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=told):
        check_cluster()


def test_head_that_does_not_answer_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        require_head(address)
        require_head("auto")
    with pytest.raises(ClusterError, match=f"nobody answers at RAY_ADDRESS={address}"):
        require_head(address)


def test_missing_package_is_told_with_what_to_install(tmp_path: Path) -> None:
    try:
        import ray  # noqa: F401, PLC0415 - the test is for where it is not installed
    except ImportError:
        with pytest.raises(UsageError, match=r"install codelake\[ray\]"):
            night(tmp_path / "store", tmp_path, run__engine="ray")
    else:
        pytest.skip("Ray is installed here")
