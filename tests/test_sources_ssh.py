"""Over ssh: repositories by git and plain folders by tar, from a real server on this machine."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from forge import Forge
from nights import commit, git
from ssh_server import SshServer, serving, why_not

from codelake.repositories import Repository
from codelake.schemas import FILES
from codelake.settings import Settings, build_settings
from resources.files import read_files
from resources.repositories import discover

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with serving(tmp_path / "ssh", port) as started:
        monkeypatch.setenv("GIT_SSH_COMMAND", started.command)
        yield started


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return build_settings({"store": str(tmp_path / "store"), "files": {"max_bytes": 1000}})


def _only(source: str, settings: Settings) -> Repository:
    (repository,) = discover([source], settings)
    return repository


def _rows(repository: Repository, settings: Settings) -> dict[str, dict[str, object]]:
    nothing = FILES.table().drop_columns(["content"])
    batches = read_files(repository, nothing, settings, fingerprint="f")
    return {row["path"]: row for batch in batches for row in batch.to_pylist()}


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_repository_is_mirrored_by_either_form_of_address(
    server: SshServer, settings: Settings, tmp_path: Path
) -> None:
    commit(tmp_path / "team" / "app", {"a.py": "x = 1\n"})
    place = tmp_path / "team" / "app"
    client = server.folder / "client"
    client.write_text(f"{client.read_text()}  Port {server.port}\n")
    for source in (f"ssh://{server.host}{place}", f"127.0.0.1:{place}"):
        found = _only(source, settings)
        assert (found.status, found.reason, found.branch) == ("", "", "main")
        assert found.commit == git(place, "rev-parse", "HEAD").strip()
        assert list(_rows(found, settings)) == ["a.py"]


def test_what_an_api_lists_can_be_fetched_over_ssh(server: SshServer, tmp_path: Path) -> None:
    with Forge(tmp_path / "served") as forge:
        bare = forge.add("acme/a", ssh_url=f"ssh://{server.host}{tmp_path}/served/acme/a.git")
        forge.add("acme/b", ssh_url=f"ext::sh -c 'touch {tmp_path}/tricked'")
        forge.add("acme/c", ssh_url="https://elsewhere.invalid/c.git")
        for mirror in ("shallow", "blobless"):
            chosen = build_settings(
                {
                    "store": str(tmp_path / mirror),
                    "sources": forge.sources(protocol="ssh", mirror=mirror),
                }
            )
            found = discover([f"github://{forge.host}/acme"], chosen)
            assert [(r.name, r.status) for r in found] == [
                ("acme/a", ""),
                ("acme/b", "failed"),
                ("acme/c", "failed"),
            ]
            assert all("no ssh address" in r.reason for r in found[1:])
            assert found[0].source == f"http://{forge.host}/acme/a.git"
            assert found[0].commit == git(bare, "rev-parse", "HEAD").strip()
            assert list(_rows(found[0], chosen)) == ["a.py"]
    assert not (tmp_path / "tricked").exists()


@pytest.mark.parametrize("scheme", ["ssh", "tar+ssh"])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("unknown", "Host key verification failed.; connect once by hand"),
        ("changed", "REMOTE HOST IDENTIFICATION HAS CHANGED!; find out why"),
        ("key", "(publickey).; let the ssh agent have a key"),
        ("down", "Connection refused"),
        ("gone", "nowhere"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_asked(
    server: SshServer, settings: Settings, scheme: str, fault: str, reason: str
) -> None:
    source = f"{scheme}://{server.host}/nowhere"
    if fault == "unknown":
        (server.folder / "known_hosts").unlink()
    elif fault == "changed":
        server.trust("other")
    elif fault == "key":
        (server.folder / "other").replace(server.folder / "user")
    elif fault == "down":
        source = source.replace(str(server.port), "1")
    # our own options are what keeps ssh from asking, so none stand in the test's
    os.environ["GIT_SSH_COMMAND"] += " -oStrictHostKeyChecking=yes"
    found = _only(source, settings)
    assert found.status == "failed"
    assert reason in found.reason
    assert found.source == source


def test_a_folder_elsewhere_is_one_commit_the_same_while_nothing_changes(
    server: SshServer, settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "other machine" / "it's $HOME"
    _write(
        folder,
        {
            "a.py": "x = 1\n",
            "deep/er/b.py": "y = 2\n",
            "odd \n'\"name.py": "z = 3\n",
            "-dash.py": "z = 4\n",
            f"{'long/' * 60}c.py": "z = 5\n",
            ".gitignore": "*.log\n/build/\n",
            "a.log": "noise\n",
            "build/made.py": "noise = 1\n",
            "deep/.gitignore": "!kept.log\n",
            "deep/kept.log": "kept\n",
            ".env": "PASSWORD=must-not-be-kept\n",
            "big.py": "x = 'must-not-be-kept'\n" * 100,
            "inner/.git/config": "[core]\n",
            "inner/c.py": "no = 1\n",
            "empty.py": "",
        },
    )
    (folder / "link.py").symlink_to("/etc/passwd")
    os.link(folder / "a.py", folder / "twin.py")
    os.mkfifo(folder / "pipe.py")
    (folder / os.fsdecode(b"caf\xe9.py")).write_text("w = 6\n")
    source = f"tar+ssh://{server.host}{folder}".replace(" ", "%20").replace("$", "%24")
    found = _only(source, settings)
    assert (found.status, found.reason) == ("", "")
    rows = _rows(found, settings)
    assert {path: row["skip_reason"] for path, row in rows.items() if row["skip_reason"]} == {
        ".env": "secret-file",
        "big.py": "too-large",
        "empty.py": "empty",
        "inner": "submodule",
        "link.py": "symlink",
    }
    assert rows["twin.py"]["content"] == rows["a.py"]["content"] == b"x = 1\n"
    assert {path for path, row in rows.items() if not row["skip_reason"]} == {
        "a.py",
        "deep/er/b.py",
        "odd \n'\"name.py",
        "-dash.py",
        f"{'long/' * 60}c.py",
        ".gitignore",
        "deep/.gitignore",
        "deep/kept.log",
        "twin.py",
        f"caf{chr(0x10FF00 + 0xE9)}.py",
    }
    plain = build_settings({**settings.model_dump(), "sources": {"folders": True}})
    first = {path: (row["skip_reason"], row["blob_id"]) for path, row in rows.items()}
    del first["inner"]  # here it would be the one repository of the folder
    (folder / "inner").rename(tmp_path / "inner")
    here = _rows(_only(str(folder), plain), plain)
    assert first == {
        path: (row["skip_reason"], row["blob_id"])
        for path, row in here.items()
        if path != "pipe.py"
    }
    (tmp_path / "inner").rename(folder / "inner")
    assert _only(source, settings) == found
    kept = [path.read_bytes() for path in Path(found.git_directory).rglob("*") if path.is_file()]
    assert len(kept) > 10
    listing = ["cat-file", "--batch-all-objects", "--batch", "--unordered"]
    objects = subprocess.run(
        ["git", f"--git-dir={found.git_directory}", *listing], capture_output=True, check=True
    )
    assert b"must-not-be-kept" not in objects.stdout


def test_a_folder_that_changes_leaves_nothing_behind(
    server: SshServer, settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    _write(folder, {"a.py": "x = 1\n", "b/c.py": "y = 2\n"})
    source = f"tar+ssh://{server.host}{folder}"
    first = _only(source, settings)
    place = Path(first.git_directory)
    count = sum(path.is_file() for path in (place / "objects").rglob("*"))
    for turn in range(3):
        _write(folder, {"a.py": f"x = {turn + 2}\n"})
        assert _only(source, settings).commit != first.commit
    assert sum(path.is_file() for path in (place / "objects").rglob("*")) == count
    _write(folder, {"a.py": "x = 1\n"})
    assert _only(source, settings) == first
    (folder / "a.py").unlink()
    (folder / "b" / "c.py").rename(folder / "a.py")
    (folder / "b").rmdir()
    assert list(_rows(_only(source, settings), settings)) == ["a.py"]
    (folder / "a.py").unlink()
    empty = _only(source, settings)
    assert (empty.status, _rows(empty, settings)) == ("", {})


def test_a_file_that_cannot_be_read_there_is_told(
    server: SshServer, settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    _write(folder, {"a.py": "x = 1\n", "b.py": "y = 2\n"})
    # as for a file that may not be read; root may read them all
    server.force(f"tar -C {folder} --exclude=b.py -cf - .; echo './b.py: no' >&2; exit 2")
    found = _only(f"tar+ssh://{server.host}{folder}", settings)
    assert (found.status, found.reason) == ("", "not all of it could be read there: ./b.py: no")
    assert list(_rows(found, settings)) == ["a.py"]


def test_a_folder_larger_than_allowed_is_refused(
    server: SshServer, settings: Settings, tmp_path: Path
) -> None:
    _write(tmp_path / "folder", {f"{n}.py": "x = 1\n" * 100 for n in range(50)})
    few = build_settings({**settings.model_dump(), "sources": {"archive_bytes": 20_000}})
    found = _only(f"tar+ssh://{server.host}{tmp_path / 'folder'}", few)
    assert (found.status, "more than 20,000 bytes" in found.reason) == ("failed", True)


@pytest.mark.parametrize(
    "source",
    [
        "tar+ssh://host",
        "tar+ssh://host/",
        "tar+ssh:///path",
        "tar+ssh://-oProxyCommand=x/path",
        "tar+ssh://-l@host/path",
        "tar+ssh://user:s3cr3t@host/path",
        "tar+ssh://ho st/path",
        "tar+ssh://host/%00",
        "tar+ssh://host:x/path",
    ],
)
def test_another_form_is_explained(source: str, settings: Settings) -> None:
    found = _only(source, settings)
    assert found.status == "failed"
    assert "give tar+ssh://HOST/FOLDER" in found.reason
    assert "s3cr3t" not in str(found)


def test_a_server_that_sends_nothing_is_left(
    server: SshServer, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.force("cat /dev/tty; sleep 1000")
    monkeypatch.setattr("resources.sources.remote_folders._SECONDS", 0.5)
    found = _only(f"tar+ssh://{server.host}{tmp_path}", settings)
    assert (found.status, "no end within" in found.reason) == ("failed", True)


def test_a_server_that_complains_without_end_is_cut_short(
    server: SshServer, settings: Settings, tmp_path: Path
) -> None:
    _write(tmp_path / "folder", {"a.py": "x = 1\n"})
    noise = "head -c 20000000 /dev/zero >&2"
    server.force(f"tar -C {tmp_path / 'folder'} -cf - .; {noise}; exit 1")
    found = _only(f"tar+ssh://{server.host}{tmp_path / 'folder'}", settings)
    assert found.status == ""
    assert len(found.reason) < 1500
    assert list(_rows(found, settings)) == ["a.py"]


def test_a_broken_stream_keeps_the_last_state(
    server: SshServer, settings: Settings, tmp_path: Path
) -> None:
    _write(tmp_path / "folder", {"a.py": "x = 1\n", "b.py": "y = 2\n"})
    source = f"tar+ssh://{server.host}{tmp_path / 'folder'}"
    first = _only(source, settings)
    (tmp_path / "folder" / "b.py").write_text("y = 3\n")
    server.force(f"tar -C {tmp_path / 'folder'} -cf - . | head -c 2000")
    assert "breaks off" in _only(source, settings).reason
    server.force(f"head -c 100000 /dev/urandom; tar -C {tmp_path / 'folder'} -cf - .")
    broken = _only(source, settings)
    assert (broken.status, broken.source) == ("failed", source)
    assert _rows(first, settings)["b.py"]["content"] == b"y = 2\n"
