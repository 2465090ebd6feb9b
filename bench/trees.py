"""Source trees to measure on, made from what a machine has.

The retrieval sets beside the checkout come first where they are there, then the interpreter's
library, installed packages, node modules and system headers. Same machine, same tree.
"""

import hashlib
import os
import site
import subprocess
import sysconfig
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codelake.languages import detect_language

SHARED: Final = Path(__file__).parents[2] / "shared" / "data" / "eval"

# Larger files are data more often than code, and few of them would decide the figures.
_FILE_BYTES: Final = 400_000

# No language takes more than this share of a tree, so that one grammar does not decide it.
_LANGUAGE_SHARE: Final = 0.35

_COMPILED: Final = ("c", "cpp", "csharp", "go", "java", "rust", "swift", "tsx", "typescript")
_SCRIPTED: Final = ("bash", "javascript", "lua", "perl", "php", "python", "ruby")
_CODE: Final = frozenset((*_COMPILED, *_SCRIPTED))


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a tree."""

    origin: str
    path: str
    language: str
    content: bytes


def collect(megabytes: float) -> list[Source]:
    """Gather distinct code files until they are ``megabytes`` large; fewer if there are no more."""
    wanted = int(megabytes * 1_000_000)
    sizes: dict[str, int] = {}
    seen: set[bytes] = set()
    found: list[Source] = []
    for source in _candidates():
        digest = hashlib.blake2b(source.content, digest_size=16).digest()
        size = sizes.get(source.language, 0) + len(source.content)
        if digest in seen or size > wanted * _LANGUAGE_SHARE:
            continue
        if sum(sizes.values()) >= wanted:
            break
        seen.add(digest)
        sizes[source.language] = size
        found.append(source)
    return found


def write_repositories(sources: list[Source], folder: Path) -> None:
    """Write ``sources`` below ``folder``, one committed git repository an origin."""
    for source in sources:
        path = folder / source.origin / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.content)
    for origin in sorted({source.origin for source in sources}):
        commit_all(folder / origin)


def commit_all(repository: Path) -> None:
    """Make ``repository`` a git repository if it is none, and commit all that is there."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    for words in (
        ("init", "-q"),
        ("add", "-A", "-f"),
        (*identity, "commit", "-qm", "state", "--allow-empty"),
    ):
        subprocess.run(
            ["git", "-c", "core.autocrlf=false", "-c", "gc.auto=0", *words],
            cwd=repository,
            check=True,
            capture_output=True,
        )


def _candidates() -> Iterator[Source]:
    for archive in sorted(SHARED.glob("*/repos/*.tar.xz")):
        yield from _from_archive(archive)
    folders = {
        "interpreter": Path(sysconfig.get_path("stdlib")),
        "packages": Path(site.getsitepackages()[0]),
        "node": Path("/usr/lib/node_modules"),
        "nodejs": Path("/usr/share/nodejs"),
        "headers": Path("/usr/include"),
        "perl": Path("/usr/share/perl"),
    }
    for origin, folder in folders.items():
        yield from _from_folder(origin, folder)


def _from_archive(archive: Path) -> Iterator[Source]:
    origin = f"{archive.parent.parent.name}-{archive.name.removesuffix('.tar.xz')}"
    with tarfile.open(archive) as tar:
        for member in tar:
            if not member.isfile() or member.size > _FILE_BYTES:
                continue
            file = tar.extractfile(member)
            if file is not None:
                yield from _as_source(origin, member.name.partition("/")[2], file.read())


def _from_folder(origin: str, folder: Path) -> Iterator[Source]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__", "site-packages", ".git"})
        for name in sorted(files):
            path = Path(place) / name
            if path.is_symlink() or not path.is_file() or path.stat().st_size > _FILE_BYTES:
                continue
            yield from _as_source(origin, path.relative_to(folder).as_posix(), path.read_bytes())


def _as_source(origin: str, path: str, content: bytes) -> Iterator[Source]:
    language = detect_language(path, content[:4096])
    if language in _CODE and b"\0" not in content and content.strip():
        yield Source(origin, path, language, content)
