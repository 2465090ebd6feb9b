"""A tar archive of unknown making, read from a stream and never unpacked.

Python's own reader takes the sizes of headers at their word, keeps every member, and in releases
that are still in use goes round for ever on a negative one. This one holds one header and one piece
at a time, knows what GNU, BSD and BusyBox tar write, and refuses the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final, NoReturn

from codelake.errors import SourceError

_BLOCK: Final = 512
_PIECE: Final = 1 << 16
_MOST_HEADER: Final = 1 << 16  # bytes of a long name or of extended facts; a path has 4,096
_MOST_MEMBERS: Final = 2_000_000
_SIGNED: Final = 0x80  # marks a number in base 256 instead of octal digits
_KINDS: Final = {
    b"0": "file", b"\0": "file", b"7": "file", b"1": "hard link", b"2": "link", b"5": "folder",
}  # fmt: skip
_LONG: Final = {b"L": "path", b"K": "linkpath"}  # GNU's way; the next header is cut short


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an archive; ``kind`` is file, link, hard link, folder or other."""

    name: bytes
    kind: str
    size: int
    target: bytes
    is_executable: bool


@dataclass(slots=True)
class TarReader:
    """Reads members one after another; content that nobody took is passed over.

    ``most_bytes`` of the stream are read, headers and padding included.
    """

    stream: IO[bytes]
    most_bytes: int
    _read_bytes: int = 0
    _left: int = 0  # of the present member's content
    _padding: int = 0
    _facts: dict[str, bytes] = field(default_factory=dict)  # of the next member

    def __iter__(self) -> Iterator[Member]:
        """Yield every member up to the mark that ends the archive.

        Raises:
            SourceError: the stream breaks off, is no archive, or is larger than allowed.
        """
        for _ in range(_MOST_MEMBERS):
            header = self._read(_BLOCK)
            if not any(header):
                if any(self._read(_BLOCK)):
                    _refuse("one empty block stands where two would end it")
                return
            member = self._member(header)
            if member is not None:
                yield member
                self._pass_over()
        _refuse(f"it has more than {_MOST_MEMBERS:,} members")

    def pieces(self) -> Iterator[bytes]:
        """Yield the content of the present member."""
        while self._left:
            piece = self._read(min(self._left, _PIECE))
            self._left -= len(piece)
            yield piece

    def _pass_over(self) -> None:
        for _ in self.pieces():
            pass
        self._read(self._padding)
        self._padding = 0

    def _read(self, size: int) -> bytes:
        self._read_bytes += size
        if self._read_bytes > self.most_bytes:
            _refuse(f"it has more than {self.most_bytes:,} bytes")
        piece = self.stream.read(size)
        if len(piece) != size:
            _refuse("it breaks off")
        return piece

    def _member(self, header: bytes) -> Member | None:
        """Return what a header announces, nothing if it only tells of the next one."""
        _check_sum(header)
        kind, size = header[156:157], _number(header[124:136])
        if kind in _LONG or kind in b"xgX":
            self._learn(kind, size)
            return None
        facts, self._facts = self._facts, {}
        if "size" in facts:
            size = _decimal(facts["size"])
        if "GNU.sparse.name" in facts or kind == b"S":
            _refuse("it holds a file with holes, which tar was not asked to leave out")
        name, target = facts.get("path", _name(header)), facts.get("linkpath", _text(header, 157))
        found = "folder" if kind == b"\0" and name.endswith(b"/") else _KINDS.get(kind, "other")
        self._left = 0 if found in {"link", "hard link", "folder"} else size
        self._padding = -self._left % _BLOCK
        mode = _number(header[100:108])
        return Member(name, found, self._left, target, bool(mode & 0o100))

    def _learn(self, kind: bytes, size: int) -> None:
        if size > _MOST_HEADER:
            _refuse(f"a header of it has {size:,} bytes")
        content = self._read(size)
        self._read(-size % _BLOCK)
        if kind in _LONG:
            self._facts[_LONG[kind]] = content.rstrip(b"\0")
        elif kind != b"g":  # of all members: a comment at most
            self._facts |= _extended(content)


def _extended(content: bytes) -> dict[str, bytes]:
    """Return the facts of an extended header, lines of ``LENGTH KEY=VALUE``."""
    facts: dict[str, bytes] = {}
    while content:
        digits, space, _ = content.partition(b" ")
        length = _decimal(digits)
        if not space or length < len(digits) + 3 or length > len(content):
            _refuse("an extended header is damaged")
        key, _, value = content[len(digits) + 1 : length].removesuffix(b"\n").partition(b"=")
        name = key.decode("utf-8", "replace")
        facts["GNU.sparse.name" if name.startswith("GNU.sparse.") else name] = value
        content = content[length:]
    return facts


def _check_sum(header: bytes) -> None:
    """Refuse a header whose sum, of unsigned or of signed bytes, is not what it says."""
    plain = header[:148] + b" " * 8 + header[156:]
    unsigned = sum(plain)
    signed = unsigned - 256 * sum(byte > 127 for byte in plain)  # noqa: PLR2004 # of a byte
    if _number(header[148:156]) not in {unsigned, signed}:
        _refuse("a header is damaged")


def _number(field_: bytes) -> int:
    if field_[0] & _SIGNED:
        if field_[0] != _SIGNED:
            _refuse("a number is negative")
        return int.from_bytes(field_[1:])
    digits = field_.split(b"\0", 1)[0].strip()
    if digits.strip(b"01234567"):
        _refuse("a number is none")
    return int(digits or b"0", 8)


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > 20:  # noqa: PLR2004 # digits of 64 bits
        _refuse("a number is none")
    return int(digits)


def _name(header: bytes) -> bytes:
    name, prefix = _text(header, 0), _text(header, 345, 155)
    is_posix = header[257:263] == b"ustar\0"  # GNU has times where POSIX has the prefix
    return prefix + b"/" + name if prefix and is_posix else name


def _text(header: bytes, start: int, length: int = 100) -> bytes:
    return header[start : start + length].split(b"\0", 1)[0]


def _refuse(reason: str) -> NoReturn:
    message = f"its archive cannot be read: {reason}"
    raise SourceError(message)
