"""Keep the code of retrieval sets out of what is trained on: copies and near-copies.

A file is left out if it is nearly one that a set has (minhash over its lines), a definition if a
set has it word for word. White space does not count.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.snapshots import read_archive
from resources.git import run_git

# Share of the lines, of those that say something. A licence header can be as much of a short file:
# better without some of those than with a copy.
NEAR: Final = 0.3
_HASHES: Final = 96  # numbers a file is told by; the estimate of .3 is good to .05
_BAND: Final = 2  # numbers that must agree before two files are compared: .3 is found in 99 %
_PRIME: Final = np.uint64(2**31 - 1)
_LINE_CHARACTERS: Final = 12  # shorter ones (braces, else, return) stand everywhere
_FEW_LINES: Final = 6  # a file of fewer is told by its definitions alone
_DEFINITION_CHARACTERS: Final = 120  # without white space; shorter ones are written twice by chance
_BLANK: Final = re.compile(r"\s+")

Signature = NDArray[np.uint64]


class KnownCode:
    """Code that is not to be trained on."""

    def __init__(self) -> None:
        """Start with none."""
        draw = np.random.default_rng(7)
        self._factors = draw.integers(1, int(_PRIME), (2, _HASHES, 1), dtype=np.uint64)
        self._files: list[Signature] = []
        self._bands: dict[tuple[int, ...], list[int]] = {}
        self._definitions: set[bytes] = set()

    def add_file(self, text: str) -> None:
        """Remember a file."""
        signature = self._signature(text)
        if signature is not None:
            for key in _band_keys(signature):
                self._bands.setdefault(key, []).append(len(self._files))
            self._files.append(signature)

    def add_definition(self, body: str) -> None:
        """Remember a definition."""
        if digest := _digest(body):
            self._definitions.add(digest)

    def has_file(self, text: str) -> bool:
        """Tell whether a file is nearly one that is known."""
        signature = self._signature(text)
        if signature is None:
            return False
        others = {i for key in _band_keys(signature) for i in self._bands.get(key, ())}
        return any((self._files[i] == signature).mean() >= NEAR for i in others)

    def has_definition(self, body: str) -> bool:
        """Tell whether a definition is known; white space does not count."""
        return _digest(body) in self._definitions

    def _signature(self, text: str) -> Signature | None:
        lines = {_BLANK.sub("", line) for line in text.splitlines()}
        kept = [line.encode() for line in lines if len(line) >= _LINE_CHARACTERS]
        if len(kept) < _FEW_LINES:
            return None
        digests = [hashlib.blake2b(line, digest_size=4).digest() for line in kept]
        numbers = np.frombuffer(b"".join(digests), dtype="<u4").astype(np.uint64) % _PRIME
        factor, offset = self._factors
        smallest: Signature = ((numbers * factor + offset) % _PRIME).min(axis=1)
        return smallest


def _band_keys(signature: Signature) -> Iterator[tuple[int, ...]]:
    for start in range(0, _HASHES, _BAND):
        yield (start, *signature[start : start + _BAND].tolist())


def _digest(body: str) -> bytes:
    text = _BLANK.sub("", body)
    if len(text) < _DEFINITION_CHARACTERS:
        return b""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()


def set_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file that the archives and bundles below ``folder`` hold, in any state.

    Files of bundles have no path.
    """
    for path in sorted(folder.rglob("*.tar.xz")):
        yield from ((file.path, file.content) for file in read_archive(path))
    for path in sorted(folder.rglob("*.bundle")):
        yield from (("", content) for content in _blobs(path))


def _blobs(bundle: Path) -> Iterable[bytes]:
    with tempfile.TemporaryDirectory(prefix="codelake-copies-") as folder:
        git = f"--git-dir={folder}"
        run_git(["init", "--quiet", "--bare", folder])
        run_git([git, "bundle", "unbundle", str(bundle.absolute())])
        data = run_git([git, "cat-file", "--batch-all-objects", "--batch"])
    start = 0
    while start < len(data):
        end = data.index(b"\n", start)
        _, kind, size = data[start:end].split()
        start = end + 1 + int(size) + 1
        if kind == b"blob":
            yield data[end + 1 : start - 1]
