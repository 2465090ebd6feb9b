"""The files inside a package: wheels, npm archives, Debian packages and upstream tarballs."""

import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

# A larger file is data or generated more often than code somebody wrote.
_FILE_BYTES: Final = 200_000
_MEMBER: Final = 60  # bytes of the line that stands in front of each member of a .deb


class PackedFile(NamedTuple):
    """One file of a package; the path is as the package has it."""

    path: str
    content: bytes


def read_package(path: Path) -> Iterator[PackedFile]:
    """Yield the files of a package that may be code or prose, in the order of the archive."""
    if path.suffix == ".whl":
        yield from _unzip(path)
    elif path.suffix == ".deb":
        yield from _untar(io.BytesIO(_debian_data(path.read_bytes())))
    else:
        with path.open("rb") as file:
            yield from _untar(file)


def _unzip(path: Path) -> Iterator[PackedFile]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if not entry.is_dir() and entry.file_size <= _FILE_BYTES:
                yield PackedFile(entry.filename, archive.read(entry))


def _untar(file: io.BytesIO | io.BufferedReader) -> Iterator[PackedFile]:
    with tarfile.open(fileobj=file, mode="r:*", errors="surrogateescape") as archive:
        for member in archive:
            content = None
            if member.isreg() and member.size <= _FILE_BYTES:
                content = archive.extractfile(member)
            if content is not None:
                yield PackedFile(member.name.removeprefix("./"), content.read())


def _debian_data(data: bytes) -> bytes:
    """Return the archive of files inside a .deb, which is an ``ar`` archive of three members."""
    start = len(b"!<arch>\n")
    while start < len(data):
        name = data[start : start + 16].decode().strip().rstrip("/")
        size = int(data[start + 48 : start + 58])
        start += _MEMBER
        if name.startswith("data.tar"):
            return data[start : start + size]
        start += size + size % 2
    return b""
