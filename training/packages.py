"""Read the packages that are trained on: which files of them, cut into definitions."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codelake.classify import content_skip_reason, path_flags, path_skip_reason
from codelake.definitions import Definition
from codelake.errors import CodelakeError
from codelake.languages import detect_language
from codelake.parsing import parse_text
from training.archives import PackedFile, read_package
from training.copies import KnownCode

# What of a package is read, so that no large one decides what the table learns.
_PACKAGE_BYTES: Final = 300_000
_LANGUAGES: Final = frozenset(
    (
        *("c", "cpp", "csharp", "go", "java", "javascript", "kotlin", "lua", "php", "python"),
        *("ruby", "rust", "swift", "tsx", "typescript"),
    )
)
_LEAST_BYTES: Final = 400
_PROSE: Final = re.compile(
    r"(?i)(^|/)(readme|changelog|changes|history|news|releases?)[^/]*$|\.dist-info/METADATA$"
)
_PROSE_BYTES: Final = 150_000
_FOREIGN: Final = re.compile(r"(?i)(^|/)(vendor|third_?party|node_modules|deps|external|bundled)/")


@dataclass(frozen=True, slots=True)
class CodeFile:
    """One file of code and its definitions; offsets count in ``text``."""

    path: str
    language: str
    text: bytes
    definitions: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Package:
    """What is read of one package."""

    name: str
    files: tuple[CodeFile, ...]
    prose: tuple[str, ...]


def read_files(name: str, archive: Path, known: KnownCode) -> tuple[Package, int]:
    """Return what is trained on of a package, and how many files were copies of ``known`` code."""
    prose, code = [], []
    for file in read_package(archive):
        if _PROSE.search(file.path):
            prose.append(file.content[:_PROSE_BYTES].decode("utf-8", "replace"))
        elif language := _language(file):
            code.append((language, file))
    chosen, copies = [], 0
    for language, file in _drawn(code):
        text = file.content.replace(b"\r\n", b"\n")
        if known.has_file(text.decode("utf-8", "replace")):
            copies += 1
            continue
        definitions = parse_text(text, language).definitions
        chosen.append(CodeFile(file.path, language, text, tuple(definitions)))
    return Package(name, tuple(chosen), tuple(prose)), copies


def _language(file: PackedFile) -> str:
    """Return the language of a file worth reading, empty for any other."""
    path, content = file
    if len(content) < _LEAST_BYTES or _FOREIGN.search(path) or path_skip_reason(path):
        return ""
    flags = path_flags(path)
    if flags.is_test or flags.is_generated or flags.is_documentation or flags.is_vendored:
        return ""
    language = detect_language(path, content[:16384])
    if language not in _LANGUAGES or content_skip_reason(path, content):
        return ""
    return language


def _drawn(code: Iterable[tuple[str, PackedFile]]) -> Iterator[tuple[str, PackedFile]]:
    """Yield files in an order that chance decides, and always the same, up to a size."""
    size, seen = 0, set()
    for language, file in sorted(code, key=lambda pair: _draw(pair[1].path)):
        digest = hashlib.blake2b(file.content).digest()
        if digest in seen or size + len(file.content) > _PACKAGE_BYTES:
            continue
        seen.add(digest)
        size += len(file.content)
        yield language, file


def _draw(path: str) -> bytes:
    return hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def known_code(files: Iterable[tuple[str, bytes]]) -> KnownCode:
    """Return the code of some files, and every definition of it."""
    known = KnownCode()
    seen: set[bytes] = set()
    for path, content in files:
        digest = hashlib.blake2b(content).digest()
        if digest in seen or b"\0" in content or len(content) > _PACKAGE_BYTES:
            continue
        seen.add(digest)
        known.add_file(content.decode("utf-8", "replace"))
        language = detect_language(path, content[:16384]) if path else ""
        if language in _LANGUAGES:
            _add_definitions(known, content, language)
    return known


def _add_definitions(known: KnownCode, content: bytes, language: str) -> None:
    try:
        definitions = parse_text(content, language).definitions
    except CodelakeError:
        return
    for definition in definitions:
        body = content[definition.start_byte : definition.end_byte]
        known.add_definition(body.decode("utf-8", "replace"))
