"""Mirrors: URLs are fetched from real servers, cheaply, without leaking what opens the door."""

import base64
import functools
import http.server
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from codelake.errors import SourceError
from codelake.repositories import Repository
from codelake.schemas import FILES
from codelake.settings import Settings, build_settings
from resources.addresses import is_url, parse_address
from resources.files import read_files
from resources.git import without_credentials
from resources.repositories import discover


def _git(place: Path, *arguments: str) -> str:
    command = ["git", "-C", str(place), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True)
class _Server:
    """A server's address and the folder it serves."""

    url: str
    folder: Path

    def make(self, name: str) -> Path:
        """Make a bare repository and a checkout that pushes to it; return the checkout."""
        bare, work = self.folder / name, self.folder.parent / "work" / name
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
        (bare / "hooks" / "post-update").write_text("#!/bin/sh\nexec git update-server-info\n")
        (bare / "hooks" / "post-update").chmod(0o755)
        subprocess.run(["git", "init", "-q", "-b", "main", work], check=True)
        _git(work, "remote", "add", "origin", str(bare))
        self.push(work, "a.py", "x = 1\n")
        return work

    def push(self, work: Path, name: str, text: str) -> str:
        (work / name).write_text(text)
        _git(work, "add", "-A")
        _git(work, "commit", "-qm", name)
        _git(work, "push", "-qf", "origin", "HEAD")
        return _git(work, "rev-parse", "HEAD")


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[_Server]:
    folder, port = tmp_path / "served" / "org", _free_port()
    folder.mkdir(parents=True)
    where = [f"--base-path={folder.parent}", "--export-all", "--listen=127.0.0.1"]
    command = ["git", "daemon", "--verbose", f"--port={port}", *where, str(folder.parent)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, process_group=0) as process:
        try:
            assert process.stderr is not None
            assert b"Ready to rumble" in process.stderr.readline()
            yield _Server(f"git://127.0.0.1:{port}/org", folder)
        finally:  # git is two processes here, and the inner one may ignore a polite word
            os.killpg(process.pid, signal.SIGKILL)


class _Guarded(http.server.SimpleHTTPRequestHandler):
    """Serves files, below /private only to those who know the password."""

    def do_GET(self) -> None:
        wanted = "Basic " + base64.b64encode(b"robot:s3cr3t").decode()
        if self.path.startswith("/private") and self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[_Server]:
    folder = tmp_path / "web" / "private"
    folder.mkdir(parents=True)
    handler = functools.partial(_Guarded, directory=folder.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield _Server(f"127.0.0.1:{server.server_port}", folder)
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return build_settings({"store": str(tmp_path / "store")})


def _only(url: str, settings: Settings) -> Repository:
    (repository,) = discover([url], settings)
    return repository


def _contents(repository: Repository, settings: Settings) -> dict[str, bytes]:
    nothing = FILES.table().drop_columns(["content"])
    batches = read_files(repository, nothing, settings, fingerprint="f")
    return {row["path"]: row["content"] for batch in batches for row in batch.to_pylist()}


def test_a_url_is_mirrored_and_follows_the_server(daemon: _Server, settings: Settings) -> None:
    work = daemon.make("app.git")
    first = _only(f"{daemon.url}/app.git", settings)
    assert (first.name, first.branch, first.reason) == ("org/app", "main", "")
    assert first.source == f"{daemon.url}/app.git"
    assert _contents(first, settings) == {"a.py": b"x = 1\n"}
    commit = daemon.push(work, "b.py", "y = 2\n")
    second = _only(f"{daemon.url}/app.git", settings)
    assert (second.commit, second.git_directory) == (commit, first.git_directory)
    assert sorted(_contents(second, settings)) == ["a.py", "b.py"]


def test_a_forced_push_and_a_new_default_branch_are_followed(
    daemon: _Server, settings: Settings
) -> None:
    work = daemon.make("app.git")
    _only(f"{daemon.url}/app.git", settings)
    _git(work, "checkout", "-q", "--orphan", "other")
    _git(work, "rm", "-qrf", ".")
    commit = daemon.push(work, "c.py", "z = 3\n")
    _git(daemon.folder / "app.git", "symbolic-ref", "HEAD", "refs/heads/other")
    found = _only(f"{daemon.url}/app.git", settings)
    assert (found.commit, found.branch) == (commit, "other")
    assert _contents(found, settings) == {"c.py": b"z = 3\n"}


def test_history_is_not_fetched(daemon: _Server, settings: Settings) -> None:
    work = daemon.make("app.git")
    daemon.push(work, "b.py", "y = 2\n")
    found = _only(f"{daemon.url}/app.git", settings)
    assert _git(Path(found.git_directory), "rev-list", "--count", found.commit) == "1"


def test_an_unmoved_server_is_asked_once(daemon: _Server, settings: Settings) -> None:
    daemon.make("app.git")
    first = _only(f"{daemon.url}/app.git", settings)
    packs = sorted(Path(first.git_directory, "objects", "pack").iterdir())
    assert _only(f"{daemon.url}/app.git", settings) == first
    assert sorted(Path(first.git_directory, "objects", "pack").iterdir()) == packs


def test_what_a_killed_run_left_does_not_stop_the_next(daemon: _Server, settings: Settings) -> None:
    work = daemon.make("app.git")
    first = _only(f"{daemon.url}/app.git", settings)
    (Path(first.git_directory) / "shallow.lock").touch()
    commit = daemon.push(work, "b.py", "y = 2\n")
    assert _only(f"{daemon.url}/app.git", settings).commit == commit
    for pack in Path(first.git_directory, "objects", "pack").iterdir():
        pack.chmod(0o644)
        pack.write_bytes(b"damaged")
    found = _only(f"{daemon.url}/app.git", settings)
    assert sorted(_contents(found, settings)) == ["a.py", "b.py"]


def test_what_killed_fetches_left_does_not_pile_up(daemon: _Server, settings: Settings) -> None:
    daemon.make("app.git")
    mirrors = Path(settings.store) / "mirrors"
    old, young = mirrors / ".fetching-old", mirrors / ".fetching-young"
    for folder in (old, young):
        (folder / "app.git").mkdir(parents=True)
    os.utime(old, (0, 0))
    assert _only(f"{daemon.url}/app.git", settings).status == ""
    assert (old.exists(), young.exists()) == (False, True)


def _with(settings: Settings, **sources: object) -> Settings:
    return build_settings({**settings.model_dump(), "sources": sources})


def _objects(repository: Repository) -> set[str]:
    listing = ["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]
    return set(_git(Path(repository.git_directory), *listing).split())


def test_the_kind_of_a_mirror_is_a_setting(
    daemon: _Server, settings: Settings, tmp_path: Path
) -> None:
    work = daemon.make("app.git")
    _git(tmp_path, "-C", str(daemon.folder / "app.git"), "config", "uploadpack.allowFilter", "true")
    daemon.push(work, "b.py", "y = 2\n")
    url = f"{daemon.url}/app.git"
    counts = {}
    for kind in ("shallow", "full", "blobless", "shallow"):
        chosen = _with(settings, mirror=kind)
        found = _only(url, chosen)
        place = Path(found.git_directory)
        kinds = _git(place, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
        counts[kind] = kinds.split().count("commit"), kinds.split().count("blob")
        assert sorted(_contents(found, chosen)) == ["a.py", "b.py"]
    assert counts == {"shallow": (1, 2), "full": (2, 2), "blobless": (2, 0)}


def test_a_blobless_mirror_fetches_what_is_read_and_no_more(
    daemon: _Server, settings: Settings
) -> None:
    work = daemon.make("app.git")
    _git(daemon.folder / "app.git", "config", "uploadpack.allowFilter", "true")
    (work / ".codelakeignore").write_text("left.py\n")
    for name in ("b.py", "left.py", "id_rsa"):
        daemon.push(work, name, f"{name} = 1\n")
    chosen = build_settings({**settings.model_dump(), "sources": {"mirror": "blobless"}})
    found = _only(f"{daemon.url}/app.git", chosen)
    assert _objects(found) == {"commit", "tree"}
    contents = _contents(found, chosen)
    assert contents["b.py"] == b"b.py = 1\n"
    listing = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]
    here = _git(Path(found.git_directory), *listing).split()
    wanted = {name: _git(work, "rev-parse", f"HEAD:{name}") for name in contents}
    assert {name for name, blob in wanted.items() if blob not in here} == {"left.py", "id_rsa"}


def test_a_blobless_mirror_without_its_server_says_so(daemon: _Server, settings: Settings) -> None:
    daemon.make("app.git")
    bare = daemon.folder / "app.git"
    _git(bare, "config", "uploadpack.allowFilter", "true")
    chosen = build_settings({**settings.model_dump(), "sources": {"mirror": "blobless"}})
    found = _only(f"{daemon.url}/app.git", chosen)
    bare.rename(bare.with_name("gone.git"))
    with pytest.raises(SourceError, match=r"not exported|access denied"):
        _contents(found, chosen)
    bare.with_name("gone.git").rename(bare)
    assert _contents(found, chosen) == {"a.py": b"x = 1\n"}


def test_a_branch_can_be_chosen_by_name(daemon: _Server, settings: Settings) -> None:
    work = daemon.make("app.git")
    _git(work, "checkout", "-qb", "develop")
    commit = daemon.push(work, "b.py", "y = 2\n")
    branches = {"org/a*": "develop"}
    found = _only(f"{daemon.url}/app.git", _with(settings, branches=branches))
    assert (found.commit, found.branch) == (commit, "develop")
    found = _only(f"{daemon.url}/app.git", settings)
    assert (found.branch, found.commit == commit) == ("main", False)
    found = _only(f"{daemon.url}/app.git", _with(settings, branches={"*": "gone"}))
    assert (found.status, "no branch 'gone'; mend sources.branches" in found.reason) == (
        "failed",
        True,
    )


def test_an_empty_remote_is_no_failure(daemon: _Server, settings: Settings) -> None:
    subprocess.run(["git", "init", "-q", "--bare", daemon.folder / "empty.git"], check=True)
    found = _only(f"{daemon.url}/empty.git", settings)
    assert (found.status, found.reason) == ("", "no commits")
    assert _contents(found, settings) == {}
    rules = {"rules": {"empty": False}}
    found = _only(f"{daemon.url}/empty.git", _with(settings, **rules))
    assert (found.status, "empty = false" in found.reason) == ("skipped", True)


def test_a_password_opens_the_door_and_is_written_nowhere(
    web: _Server, settings: Settings, tmp_path: Path
) -> None:
    web.make("app.git")
    found = _only(f"http://robot:s3cr3t@{web.url}/private/app.git", settings)
    assert (found.status, found.source) == ("", f"http://{web.url}/private/app.git")
    assert _contents(found, settings) == {"a.py": b"x = 1\n"}
    kept = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"s3cr3t" in path.read_bytes()]


def test_a_wrong_password_is_not_in_the_message(web: _Server, settings: Settings) -> None:
    web.make("app.git")
    found = _only(f"http://robot:wr0ng@{web.url}/private/app.git", settings)
    assert found.status == "failed"
    assert "wr0ng" not in str(found)
    assert "your access" in found.reason


def test_a_server_that_is_not_there_is_a_failed_repository(settings: Settings) -> None:
    url = f"git://127.0.0.1:{_free_port()}/org/app.git"
    found = _only(url, settings)
    assert (found.name, found.status) == ("org/app", "failed")
    assert url in found.reason


@pytest.mark.parametrize("url", ["ext::sh -c 'touch {}'", "fd::17", "ftp://h/x", "http:///x"])
def test_only_known_protocols_are_spoken(url: str, settings: Settings, tmp_path: Path) -> None:
    mark = tmp_path / "tricked"
    found = _only(url.format(mark), settings)
    assert found.status == "failed"
    assert "give an http" in found.reason
    assert not mark.exists()


@pytest.mark.parametrize(
    ("url", "shown", "name"),
    [
        ("https://u:p@host/org/app.git", "https://host/org/app.git", "org/app"),
        ("https://token@host/org/app", "https://host/org/app", "org/app"),
        ("https://host:8443/group/sub/app/", "https://host:8443/group/sub/app/", "group/sub/app"),
        ("ssh://git:p@host:22/org/app.git", "ssh://git@host:22/org/app.git", "org/app"),
        ("git@host:org/app.git", "git@host:org/app.git", "org/app"),
        ("host:app.git", "host:app.git", "app"),
        ("https://u:p@ss@host/app", "https://host/app", "app"),
    ],
)
def test_an_address_shows_no_secret(url: str, shown: str, name: str) -> None:
    assert is_url(url)
    address = parse_address(url)
    assert (address.shown, address.name) == (shown, name)
    assert without_credentials(url) == shown


def test_a_host_that_looks_like_an_option_is_refused(settings: Settings, tmp_path: Path) -> None:
    mark = tmp_path / "tricked"
    for url in (f"ssh://-oProxyCommand=touch {mark}/x", f"-oProxyCommand=touch {mark}:x"):
        assert _only(url, settings).status == "failed"
    assert not mark.exists()


def test_a_local_path_is_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd:name").mkdir()
    assert not is_url("odd:name")
    assert not is_url(f"file://{tmp_path}")
    assert not is_url("some/folder")
    with pytest.raises(SourceError):
        parse_address("ext::x")
