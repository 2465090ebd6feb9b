"""Submodules of mirrors: entered on request, at their commit, and never on another server."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from forge import Forge

from codelake.errors import SourceError
from codelake.repositories import Repository
from codelake.schemas import FILES
from codelake.settings import Settings, build_settings
from resources.addresses import Address
from resources.files import read_files
from resources.repositories import discover
from resources.submodules import _resolve


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge(tmp_path / "served") as started:
        yield started


def _settings(tmp_path: Path, **sources: object) -> Settings:
    return build_settings(
        {"store": str(tmp_path / "store"), "sources": {"nested": True, **sources}}
    )


def _link(forge: Forge, name: str, modules: str, links: dict[str, str]) -> None:
    """Commit a ``.gitmodules`` file and links to commits."""
    bare = forge.folder / f"{name}.git"
    lines = [f"M 100644 inline .gitmodules\ndata {len(modules.encode())}\n{modules}\n"]
    lines += [f"M 160000 {commit} {path}\n" for path, commit in links.items()]
    head = "commit refs/heads/main\ncommitter a <a@example.invalid> 0 +0000\ndata 0\n"
    text = f"{head}from refs/heads/main^0\n" + "".join(lines)
    command = ["git", "-C", str(bare), "fast-import", "--quiet", "--force"]
    subprocess.run(command, input=text.encode(), check=True)


def _module(path: str, url: str) -> str:
    return f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n'


def _paths(repository: Repository, settings: Settings) -> list[str]:
    nothing = FILES.table().drop_columns(["content"])
    batches = read_files(repository, nothing, settings, fingerprint="f")
    return [path for batch in batches for path in batch.column("path").to_pylist()]


def test_rules_hold_for_submodules_by_name(forge: Forge, tmp_path: Path) -> None:
    forge.add("acme/app")
    forge.add("acme/lib")
    commit = forge.push("acme/lib", {"a.py": "x = 1\n"})
    modules = "".join(_module(path, "../lib.git") for path in ("libs/kept", "libs/third-party"))
    _link(forge, "acme/app", modules, {"libs/kept": commit, "libs/third-party": commit})
    settings = _settings(tmp_path, rules={"exclude": ["*/third-party"]})
    found = {r.name: r for r in discover([f"http://{forge.host}/acme/app.git"], settings)}
    assert {name: r.status for name, r in found.items()} == {
        "acme/app": "",
        "acme/app/libs/kept": "",
        "acme/app/libs/third-party": "skipped",
    }
    reason = found["acme/app/libs/third-party"].reason
    assert reason == "left out by sources.rules: the name is in exclude"


@pytest.mark.parametrize("mirror", ["shallow", "blobless"])
def test_a_submodule_is_read_at_the_commit_its_parent_names(
    forge: Forge, tmp_path: Path, mirror: str
) -> None:
    forge.add("acme/app")
    forge.add("acme/lib", files={})
    pinned = forge.push("acme/lib", {"old.py": "x = 1\n"})
    forge.push("acme/lib", {"new.py": "x = 2\n"})
    forge.add("acme/deep")
    deep = forge.push("acme/deep", {"deep.py": "x = 3\n"})
    _link(forge, "acme/lib", _module("d", "../deep.git"), {"d": deep})
    both = _module("libs/one", "../lib.git") + _module("two", f"http://{forge.host}/acme/lib.git")
    head = (forge.folder / "acme/lib.git/refs/heads/main").read_text().strip()
    _link(forge, "acme/app", both, {"libs/one": pinned, "two": head, "bare": pinned})
    settings = _settings(tmp_path, mirror=mirror)
    found = {r.name: r for r in discover([f"http://{forge.host}/acme/app.git"], settings)}
    assert {name: r.status for name, r in found.items()} == {
        "acme/app": "",
        "acme/app/bare": "skipped",
        "acme/app/libs/one": "",
        "acme/app/two": "",
        "acme/app/two/d": "",
    }
    assert "tells no URL" in found["acme/app/bare"].reason
    assert found["acme/app/libs/one"].commit == pinned
    assert _paths(found["acme/app/libs/one"], settings) == ["old.py"]
    assert _paths(found["acme/app/two"], settings) == [".gitmodules", "d", "new.py"]
    assert _paths(found["acme/app/two/d"], settings) == ["deep.py"]
    again = discover([f"http://{forge.host}/acme/app.git"], settings)
    assert again == [found[name] for name in sorted(found)]
    plain = _settings(tmp_path, nested=False)
    names = [r.name for r in discover([f"http://{forge.host}/acme/app.git"], plain)]
    assert names == ["acme/app"]


def test_a_circle_of_submodules_has_an_end(forge: Forge, tmp_path: Path) -> None:
    forge.add("acme/app")
    head = (forge.folder / "acme/app.git/refs/heads/main").read_text().strip()
    for _ in range(8):  # each names the one before, which names the one before that
        _link(forge, "acme/app", _module("me", "../app.git"), {"me": head})
        head = (forge.folder / "acme/app.git/refs/heads/main").read_text().strip()
    found = discover([f"http://{forge.host}/acme/app.git"], _settings(tmp_path))
    assert [r.name.count("/me") for r in found] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.invalid/x.git",
        "ssh://git@elsewhere.invalid/x.git",
        "git@elsewhere.invalid:x.git",
        "https://host.elsewhere.invalid/x",
        "https://robot:secret@host/x.git",
        "file:///etc",
        "/etc",
        "ext::sh -c 'touch /tmp/x'",
        "--upload-pack=touch x",
        "https://[/x",
        "",
    ],
)
def test_a_submodule_leads_to_no_other_server(url: str) -> None:
    parent = Address("https://host/org/app.git", {"x": "secret"})
    with pytest.raises(SourceError, match=r"another server|tells no URL|cannot fetch"):
        _resolve(url.encode(), parent)


@pytest.mark.parametrize(
    ("parent", "url", "resolved"),
    [
        ("https://host/org/app.git", "../lib.git", "https://host/org/lib.git"),
        ("https://host/org/app", "../../other/lib/", "https://host/other/lib"),
        ("https://host/org/app", "../../../../lib", "https://host/lib"),
        ("https://host/org/app.git", "./inner", "https://host/org/app.git/inner"),
        ("git@host:org/app.git", "../lib.git", "git@host:org/lib.git"),
        ("git@host:org/app.git", "https://host/org/x", "https://host/org/x"),
        ("ssh://git@host:22/org/app", "../lib", "ssh://git@host:22/org/lib"),
    ],
)
def test_a_relative_address_is_one_beside_the_parent(parent: str, url: str, resolved: str) -> None:
    assert _resolve(url.encode(), Address(parent)) == resolved
