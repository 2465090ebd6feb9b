"""Archives of unknown making: read as tar means them, and refused where they mean harm."""

import io
import shutil
import subprocess
import tarfile
import tracemalloc
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.errors import SourceError
from codelake.settings import FileSettings
from resources.git import run_git
from resources.sources.snapshots import Snapshot, read_sizes
from resources.sources.tar_reader import TarReader

_PLENTY = 1 << 40
_NAMES = st.binary(min_size=1, max_size=300).filter(lambda name: b"\0" not in name)


def _read(archive: bytes | IO[bytes], most: int = _PLENTY) -> list[tuple[bytes, str, bytes, bytes]]:
    stream = io.BytesIO(archive) if isinstance(archive, bytes) else archive
    reader = TarReader(stream, most)
    return [(m.name, m.kind, m.target, b"".join(reader.pieces())) for m in reader]


def _info(name: str, size: int = 0, **facts: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    for key, value in facts.items():
        setattr(info, key, value)
    return info


def _archive(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=form, errors="surrogateescape") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return output.getvalue()


def _header(size: bytes = b"0", kind: bytes = b"0", name: bytes = b"a.py") -> bytes:
    plain = name.ljust(100, b"\0") + b"0000644\0" * 3 + size.ljust(12, b"\0")[:12] + b"0" * 12
    plain += b" " * 8 + kind + b"\0" * 100 + b"ustar\x0000" + b"\0" * 247
    return plain[:148] + b"%06o\0 " % sum(plain) + plain[156:]


_END = bytes(1024)


@given(
    st.lists(st.tuples(_NAMES, st.binary(max_size=2000))),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_what_was_packed_is_read(files: list[tuple[bytes, bytes]], form: int) -> None:
    names = [(name.decode("utf-8", "surrogateescape"), content) for name, content in files]
    archive = _archive(
        *[(_info(name, len(content)), content) for name, content in names], form=form
    )
    with tarfile.open(fileobj=io.BytesIO(archive), errors="surrogateescape") as peer:
        expected = [
            (m.name.encode("utf-8", "surrogateescape"), file.read())
            for m in peer
            if m.isfile() and (file := peer.extractfile(m)) is not None
        ]
    found = [(name.rstrip(b"/"), content) for name, kind, _, content in _read(archive)]
    assert [content for _, content in found] == [content for _, content in files]
    if len(expected) == len(found):  # the other takes a name that ends in '/' for a folder
        assert [name for name, _ in found] == [name.rstrip(b"/") for name, _ in expected]


@given(st.data())
def test_a_damaged_archive_is_read_or_refused_and_never_more(data: st.DataObject) -> None:
    long = "long/" * 40
    archive = bytearray(
        _archive(
            (_info("a.py", 5), b"x = 1"),
            (_info(long, 3), b"abc"),
            (_info("link", type=tarfile.SYMTYPE, linkname="a" * 150), b""),
            form=data.draw(st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])),
        )
    )
    for place, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(archive) - 1), st.integers(0, 255)), max_size=4)
    ):
        archive[place] = byte
    cut = data.draw(st.integers(0, len(archive)))
    try:
        _read(bytes(archive[:cut]))
    except SourceError as refused:
        assert "archive cannot be read" in str(refused)  # noqa: PT017 # both outcomes are right


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (b"", "breaks off"),
        (b"not an archive", "breaks off"),
        (b"x" * 2048, "a number is none"),
        (_header(b"5") + b"x = 1", "breaks off"),
        (_header() + bytes(512), "breaks off"),
        (_header() + bytes(512) + b"x" * 512, "one empty block"),
        (_header()[:-1] + b"x" + _END, "a header is damaged"),
        (_header(b"\xff" * 12) + _END, "negative"),
        (_header(b"\x80" + b"\xff" * 11) + _END, "breaks off"),
        (_header(b"9") + _END, "a number is none"),
        (_header(b"-7") + _END, "a number is none"),
        (_header(b"77777777777", b"x") + _END, "a header of it has 8,589,934,591 bytes"),
        (_header(b"77777777777", b"L") + _END, "a header of it has 8,589,934,591 bytes"),
        (_header(b"77777777777", b"g") + _END, "a header of it has 8,589,934,591 bytes"),
        (_header(b"13", b"x") + b"999 path=abc".ljust(512, b"\0") + _END, "extended header"),
        (_header(b"13", b"x") + b"0 path=abc\n".ljust(512, b"\0") + _END, "extended header"),
        (_header(b"13", b"x") + b"-5 path=abc\n".ljust(512, b"\0") + _END, "a number is none"),
        (_header(b"16", b"x") + b"14 size=-1024\n".ljust(512, b"\0") + _header() + _END, "none"),
        (_header(b"0", b"S") + _END, "with holes"),
    ],
)
def test_what_means_harm_is_refused(archive: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match="archive cannot be read") as refused:
        _read(archive)
    assert reason in str(refused.value)


class _Endless(io.RawIOBase):
    """Gives the same bytes for ever."""

    def __init__(self, piece: bytes) -> None:
        self._piece = piece
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size:
            self._rest += self._piece * (1 + size // len(self._piece))
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


@pytest.mark.parametrize(
    "piece",
    [
        _header(),
        _header(b"0", b"x"),
        _header(b"7", b"L") + b"longer\0".ljust(512, b"\0"),
        _header(b"0", b"3"),
        _header(b"77777777777"),
    ],
    ids=["files", "headers", "names", "devices", "content"],
)
def test_an_archive_without_an_end_costs_no_memory(piece: bytes) -> None:
    tracemalloc.start()
    try:
        reader = TarReader(_Endless(piece), 5_000_000)  # type: ignore[arg-type]
        with pytest.raises(SourceError, match="more than 5,000,000 bytes"):
            for _ in reader:
                pass
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def _snapshot(place: Path, archive: bytes) -> dict[str, str]:
    """Return mode and blob id of what a snapshot of an archive holds."""
    snapshot = Snapshot(place / "snapshot.git", FileSettings(max_bytes=1000))
    reader = TarReader(io.BytesIO(archive), _PLENTY)
    for member in reader:
        snapshot.add(member, reader.pieces())
    where = [f"--git-dir={place / 'snapshot.git'}"]
    listing = run_git([*where, "ls-tree", "-r", "-z", snapshot.commit()]).split(b"\0")[:-1]
    found = {}
    for line in listing:
        facts, name = line.split(b"\t", 1)
        mode, _, blob_id = facts.decode().split()
        found[name.decode("utf-8", "surrogateescape")] = f"{mode} {blob_id}"
    return found


_EVIL = [
    "/etc/passwd", "../outside.py", "a/../../outside.py", "..", "/", "", ".", "./", "x" * 5000,
    "d/" * 300 + "deep.py",
]  # fmt: skip


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_nothing_lies_outside_the_folder_or_on_the_disk(tmp_path: Path, form: int) -> None:
    members = [(_info(name, 4), b"evil") for name in _EVIL]
    members += [
        (_info("pipe", type=tarfile.FIFOTYPE), b""),
        (_info("disk", type=tarfile.BLKTYPE, devmajor=8), b""),
        (_info("tty", type=tarfile.CHRTYPE, devmajor=5), b""),
        (_info("out", type=tarfile.SYMTYPE, linkname="/etc"), b""),
        (_info("out/passwd", 4), b"evil"),
        (_info("hard", type=tarfile.LNKTYPE, linkname="/etc/passwd"), b""),
        (_info("hard2", type=tarfile.LNKTYPE, linkname="../../etc/passwd"), b""),
        (_info("hard3", type=tarfile.LNKTYPE, linkname="later.py"), b""),
        (_info("good.py", 2, mode=0o4755, uid=0), b"ok"),
        (_info("twin.py", type=tarfile.LNKTYPE, linkname="./good.py"), b""),
        (_info("./later.py", 2), b"no"),
        (_info("later.py", 3), b"yes"),
    ]
    before = {path for path in tmp_path.parent.rglob("*") if tmp_path not in path.parents}
    found = _snapshot(tmp_path, _archive(*members, form=form))
    assert before == {path for path in tmp_path.parent.rglob("*") if tmp_path not in path.parents}
    modes = {name: entry.split()[0] for name, entry in found.items()}
    assert modes == {
        "good.py": "100755",
        "later.py": "100644",
        "out/passwd": "100644",  # the folder wins, and nothing was written through the link
        "twin.py": "100755",
    }
    where = [f"--git-dir={tmp_path / 'snapshot.git'}", "cat-file", "blob"]
    assert run_git([*where, found["later.py"].split()[1]]) == b"yes"


def test_a_repository_is_no_plain_folder(tmp_path: Path) -> None:
    members = [(_info(name, 2), b"no") for name in ("a/.git/config", "a/b.py", "c/d/.GIT", "e.py")]
    found = _snapshot(tmp_path, _archive(*members))
    assert {name: entry.split()[0] for name, entry in found.items()} == {
        "a": "160000",
        "c/d": "160000",
        "e.py": "100644",
    }
    with pytest.raises(SourceError, match="it is a git repository; give ssh://"):
        _snapshot(tmp_path, _archive((_info("./.git/config", 2), b"no")))


def test_what_is_not_kept_is_known_by_its_size(tmp_path: Path) -> None:
    found = _snapshot(tmp_path, _archive((_info("big.py", 2000), b"x" * 2000), (_info("e"), b"")))
    sizes = read_sizes(tmp_path / "snapshot.git")
    assert [sizes[entry.split()[1]] for entry in found.values()] == [2000, 0]


def test_names_alone_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.sources.snapshots._MOST_NAMES", 1000)
    with pytest.raises(SourceError, match="names have more than 1,000 bytes"):
        _snapshot(tmp_path, _archive(*[(_info(f"{n:0100}"), b"") for n in range(11)]))


@pytest.mark.parametrize("program", ["tar", "bsdtar", "busybox"])
def test_other_programs_are_understood(tmp_path: Path, program: str) -> None:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"no {program} here")
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / f"{'n' * 200}.py").write_text("x = 1\n")
    (folder / "plain.py").write_text("y = 2\n")
    (folder / "link").symlink_to("t" * 180)
    command = [path, "tar"] if program == "busybox" else [path]
    made = subprocess.run(
        [*command, "-C", str(folder), "-cf", "-", "."],
        check=True,
        capture_output=True,
    ).stdout
    found = {(name, kind, target, content) for name, kind, target, content in _read(made)}
    assert (f"./deep/{'n' * 200}.py".encode(), "file", b"", b"x = 1\n") in found
    assert (b"./plain.py", "file", b"", b"y = 2\n") in found
    assert (b"./link", "link", b"t" * 180, b"") in found
