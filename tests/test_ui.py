"""Dagster's web interface over a store, looked at in a browser.

The pictures lie in ``artefacts/``, which git ignores, to be looked at after `make test`.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nights import commit, night

pytest.importorskip("dagster_webserver", reason="the extra codelake[ui] is not installed")
pytest.importorskip("websockets", reason="the web interface brings it")

from browser import CHROMIUM, browsing

_ROOT = Path(__file__).parents[1]
_PICTURES = _ROOT / "artefacts"
_ONE = "def one():\n    return 1\n"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium or google-chrome on PATH")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store after a night on which all was well, and one on which ``gate`` was broken."""
    for name in ("gate", "shop"):
        commit(tmp_path / "organisation" / name, {"a.py": _ONE, "yarn.lock": "a\n"})
    night(tmp_path / "store", tmp_path / "organisation")
    (tmp_path / "organisation" / "gate" / ".git" / "HEAD").write_text("no head\n")
    commit(tmp_path / "organisation" / "shop", {"b.py": "def two():\n    return 2\n"})
    night(tmp_path / "store", tmp_path / "organisation")
    return tmp_path / "store"


@pytest.fixture
def address(store: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {
        "CODELAKE_CONFIG": os.devnull,
        "CODELAKE_STORE": str(store),
        "DAGSTER_HOME": str(store / "dagster"),
        "PYTHONPATH": str(_ROOT),
    }
    words = ["-m", "dagster_webserver", "-w", "workspace.yaml", "-h", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(
        [sys.executable, *words], cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any("Serving dagster-webserver" in line for line in process.stdout)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def test_a_person_sees_what_the_nights_did(address: str, tmp_path: Path) -> None:
    """Graph, plots, metadata, a failed check, partitions: one server, one browser for all."""
    with browsing(tmp_path / "profile") as browser:
        browser.resize(2400, 1300, 0.5)  # large enough for what stands in the boxes
        page = f"{address}/locations/codelake/asset-groups/store"
        browser.open(page, "chunk_table", "nights", "Materialized")
        browser.picture(_PICTURES / "graph.webp")
        browser.resize(1280, 800)

        browser.open(f"{address}/assets/nights", "repositories failed", "seconds syntax")
        browser.click("Plots")
        browser.wait("repositories failed", "dollars")
        browser.picture(_PICTURES / "nights.webp")

        browser.open(f"{address}/assets/embeddings", "embedded", "cost_usd", "tokens")
        browser.picture(_PICTURES / "metadata.webp")

        page = f"{address}/assets/repository_table?view=checks"
        browser.open(page, "every_repository_was_read", "Failed", "Show JSON")
        browser.picture(_PICTURES / "check.webp")

        page = f"{address}/assets/indexed_repository?view=partitions"
        browser.open(page, "gate", "shop", "Failed (1)", "Materialized (1)")
        browser.picture(_PICTURES / "partitions.webp")
