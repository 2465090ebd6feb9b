"""Nights over a store in a bucket: the real job, from sources to searches and back."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bucket_server import BUCKET, KEYS, bucket_server, keys
from nights import commit, configured, git, night, rows

from pipelines.command_line import main
from resources.store import LanceStore

pytestmark = pytest.mark.usefixtures("keys")
__all__ = ["keys"]

_CODE = {"a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return 2\n"}
_MORE = _CODE["a.py"] + "\n\ndef gamma():\n    return 3\n"

Run = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with bucket_server() as address:
        yield address


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``codelake`` and return how it ended and the document it printed."""

    def call(*words: str) -> tuple[int, Any]:
        monkeypatch.setattr(sys, "argv", ["codelake", *words, "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), json.loads(capsys.readouterr().out)

    return call


def test_nights_in_a_bucket_leave_what_nights_in_a_folder_leave(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    shop, work, store = tmp_path / "shop", tmp_path / "work", f"s3://{BUCKET}/nights"
    reach = {"s3__endpoint": service, "s3__allow_http": True, "s3__folder": str(work)}
    commit(shop, _CODE)
    first = night(store, shop, **reach)
    assert (first.failed, first.chunks["added"], first.store) == ([], 2, store)
    commit(shop, {"a.py": _MORE})
    git(shop, "mv", "b.py", "c.py")
    commit(shop)
    assert night(store, shop, **reach).failed == []
    night(tmp_path / "folder", shop)
    opened = configured(store, shop, **reach).open_store()
    for table in ("chunks", "symbols", "files"):
        assert rows(opened.place, table) == rows(tmp_path / "folder", table)

    (tmp_path / "codelake.toml").write_text(
        f"store = '{store}'\n[s3]\nendpoint = '{service}'\nallow_http = true\nfolder = '{work}'\n"
    )
    monkeypatch.chdir(tmp_path)
    _, found = run("search", "gamma", "--mode", "text")
    assert [hit["path"] for hit in found["hits"]] == ["a.py"]
    with LanceStore(opened.place).writing():
        code, summary = run("index", str(shop), "--embedder", "hash")
    assert code == 1
    assert "is being written by process" in summary["failed"][0]["reason"]
    assert run("store", "verify") == (0, {"problems": []})
    opened.rollback(opened.models().published[0].name)
    _, answer = run("sql", "select distinct path from files order by 1")
    assert answer == [{"path": "a.py"}, {"path": "b.py"}]
    assert not (tmp_path / ".codelake").exists()
    kept = [path.read_bytes() for path in work.rglob("*") if path.is_file()]
    assert kept
    assert not [key for key in KEYS.values() if any(key.encode() in data for data in kept)]
