"""The packages that are trained on, fetched by their registries' own clients.

``sources.csv`` has a line a package: registry, name, version, file, licence, SHA-256, and whether
it is held out; ``excluded.txt`` names what must not be in it. ``pypi`` is fetched with pip, ``npm``
with npm, ``debian`` (a package) and ``debian-source`` (its upstream archive) with apt-get from the
Debian release that holds them.
"""

import csv
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codelake.errors import CodelakeError

LIST: Final = Path(__file__).with_name("sources.csv")
_EXCLUDED: Final = LIST.with_name("excluded.txt")
_AROUND: Final = re.compile(r"^(librust-|rust-|ruby-|php-|lib|python3?-)|(-dev|-java)$")
_SECONDS: Final = 600  # for one package
# The wheels of one platform, so that everybody fetches the same files.
_WHEELS: Final = (
    *("--no-deps", "--only-binary=:all:", "--python-version=3.11"),
    *("--platform=any", "--platform=manylinux2014_x86_64", "--platform=manylinux_2_28_x86_64"),
)


class FetchError(CodelakeError):
    """A package could not be fetched, or is not the one that was listed."""


@dataclass(frozen=True, slots=True)
class PackageSource:
    """One package: where it comes from, and how its file is known again."""

    registry: str
    name: str
    version: str
    file: str
    licence: str
    sha256: str
    is_held_out: bool


def listed(path: Path = LIST) -> list[PackageSource]:
    """Return the packages of the list, in its order.

    Raises:
        FetchError: the list has a package that tables are measured on.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    excluded = set(_EXCLUDED.read_text("utf-8").split())
    for row in rows:
        if _plain_name(row["name"]) in excluded:
            message = f"{row['name']} is one of {_EXCLUDED.name}: take it out of {path.name}"
            raise FetchError(message)
    return [
        PackageSource(
            row["registry"],
            row["name"],
            row["version"],
            row["file"],
            row["licence"],
            row["sha256"],
            row["use"] == "held out",
        )
        for row in rows
    ]


def _plain_name(name: str) -> str:
    """Return the name of the project that a package is of."""
    return _AROUND.sub("", name.rpartition("/")[2].lower())


def fetch(sources: Iterable[PackageSource], folder: Path) -> dict[str, Path]:
    """Fetch what is not there yet, and return where each package's file is.

    Raises:
        FetchError: a client is missing or fails, or a file is another one than was listed.
    """
    found = {}
    for source in sources:
        path = folder / source.registry / source.file
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            _run(_command(source), path.parent, source)
        if not path.is_file():
            message = f"{source.name} {source.version}: no {source.file} came, expected that file"
            raise FetchError(message)
        _check(source, path)
        found[source.name] = path
    return found


def _command(source: PackageSource) -> list[str]:
    name, version = source.name, source.version
    commands = {
        "pypi": [sys.executable, "-m", "pip", "download", "-q", *_WHEELS, f"{name}=={version}"],
        "npm": ["npm", "pack", "--silent", f"{name}@{version}"],
        "debian": ["apt-get", "download", "-qq", f"{name}={version}"],
        "debian-source": [
            *("apt-get", "source", "-qq", "--download-only", "--only-source"),
            f"{name}={version}",
        ],
    }
    return commands[source.registry]


def _run(command: Sequence[str], folder: Path, source: PackageSource) -> None:
    what = f"{source.registry} package {source.name} {source.version}"
    if shutil.which(command[0]) is None:
        message = f"{what} is fetched with {command[0]}, which is not installed"
        raise FetchError(message)
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if result.returncode:
        reason = (result.stderr or result.stdout).strip().splitlines()[-1:]
        message = f"{what} could not be fetched: {' '.join(reason) or 'no reason given'}"
        raise FetchError(message)


def _check(source: PackageSource, path: Path) -> None:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != source.sha256:
        message = (
            f"{path} has SHA-256 {digest}, expected {source.sha256}: "
            f"remove it and try again, or correct {LIST.name} if it is to be another version"
        )
        raise FetchError(message)
