"""What is compared: a chunker with its size, and the chunks it makes of a corpus."""

import functools
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from codelake.chunking import Chunk, Options, Source, describe, lay_out
from codelake.errors import UsageError
from codelake.hashing import content_hash
from codelake.measure import running_counts
from codelake.parsing import Parsed, parse_text
from evaluation.corpus import Corpus, SourceText
from evaluation.metrics import Ints, Pieces
from evaluation.variants import VARIANTS

HEADERS: Final = ("none", "scope", "path")
_UNSIZED: Final = ("ast", "symbol")
_SPECIFICATION: Final = re.compile(r"(?P<name>[a-z-]+)(:(?P<size>\d+)(\+(?P<overlap>\d+))?)?$")
# Everything that decides where a chunk begins and ends.
_DECISIVE: Final = (
    "codelake/chunking",
    "codelake/definitions",
    "codelake/languages",
    "codelake/embedded.py",
    "codelake/notebooks.py",
    "codelake/parsing.py",
    "codelake/measure.py",
    "evaluation/variants.py",
)


@dataclass(frozen=True, slots=True)
class Arm:
    """A chunker as it is compared.

    Args:
        chunker: a name of :data:`evaluation.variants.VARIANTS`.
        size: nws of a cAST chunk, characters of a fixed one, lines of a line block; 0: no limit.
        overlap: characters (or lines) that a fixed chunk repeats.
        header: context line in front of the embedded body: none, scope or path.
    """

    chunker: str
    size: int = 0
    overlap: int = 0
    header: str = "none"

    @property
    def label(self) -> str:
        """Return the name tables and plots use; :func:`parse_arms` reads it back."""
        size = f":{self.size}" if self.size else ""
        overlap = f"+{self.overlap}" if self.overlap else ""
        return f"{self.chunker}{size}{overlap}"


@dataclass(frozen=True, slots=True)
class Cut:
    """The chunks of a corpus.

    Args:
        corpus: what was cut.
        pieces: where they are, in global coordinates.
        chunks: the chunks themselves.
        texts: what an embedder and BM25 are given.
        text_hashes: of the texts.
    """

    corpus: Corpus
    pieces: Pieces
    chunks: list[Chunk]
    texts: list[str]
    text_hashes: list[str]


@dataclass(frozen=True, slots=True)
class _FileCut:
    """The chunks of one text in its own coordinates: columns as in ``Pieces``."""

    columns: Ints
    chunks: list[Chunk]
    texts: list[str]
    text_hashes: list[str]


def parse_arms(
    chunkers: Iterable[str], budgets: Sequence[int], headers: Sequence[str] = ("none",)
) -> list[Arm]:
    """Return the arms of ``cast``, ``lines:50`` or ``fixed:1500+200`` times budgets and headers.

    A chunker without a size of its own is taken at each budget, unless it knows no limit.

    Raises:
        UsageError: an unknown chunker or header, none at all, a specification that cannot be read,
            or a size that leaves no room.
    """
    arms = []
    for specification in chunkers:
        match = _SPECIFICATION.match(specification)
        if match is None or match["name"] not in VARIANTS:
            names = ", ".join(VARIANTS)
            message = f"unknown chunker {specification!r}; choose from {names}, as in cast:1200"
            raise UsageError(message)
        arms += [
            Arm(match["name"], value, int(match["overlap"] or 0), header)
            for value in _sizes(match, budgets)
            for header in headers
        ]
    wrong = [header for header in headers if header not in HEADERS]
    if wrong:
        message = f"unknown header {wrong[0]!r}; choose from {', '.join(HEADERS)}"
        raise UsageError(message)
    if not arms:
        message = f"no {'chunker' if headers else 'header'} is named; name one or more"
        raise UsageError(message)
    return list(dict.fromkeys(arms))


def _sizes(match: re.Match[str], budgets: Sequence[int]) -> list[int]:
    if not match["size"] and match["name"] in _UNSIZED:
        return [0]
    sizes = [int(match["size"])] if match["size"] else list(budgets)
    overlap = int(match["overlap"] or 0)
    if min(sizes, default=0) <= overlap:
        message = f"chunker {match[0]!r} needs a size above {overlap}, as in cast:1200"
        raise UsageError(message)
    return sizes


class Cutter:
    """Cuts corpora into the chunks of several arms.

    Equal texts, of several snapshots say, are parsed and cut once; one parse serves every arm.
    """

    def __init__(self, arms: Sequence[Arm]) -> None:
        """Prepare to cut for ``arms``."""
        self._arms = arms
        self._known: dict[str, dict[Arm, _FileCut]] = {}
        self._by_path = any(arm.header == "path" for arm in arms)

    def cut(self, corpus: Corpus) -> dict[Arm, Cut]:
        """Return the chunks of ``corpus`` for each arm, file by file in their order."""
        files = [self._file(text) for text in corpus.texts]
        return {arm: _join(corpus, [file[arm] for file in files]) for arm in self._arms}

    def _file(self, text: SourceText) -> dict[Arm, _FileCut]:
        key = f"{text.text_id}{text.path}" if self._by_path else text.text_id
        if key not in self._known:
            self._known[key] = self._fresh(text)
        return self._known[key]

    def _fresh(self, text: SourceText) -> dict[Arm, _FileCut]:
        parsed = parse_text(text.text, text.language)
        counts = running_counts(text.text)
        found: dict[tuple[str, int, int], list[Chunk]] = {}
        cuts = {}
        for arm in self._arms:
            # Arms that differ in the header only have the same chunks.
            same = (arm.chunker, arm.size, arm.overlap)
            if same not in found:
                found[same] = cut_parsed(text.text, text.language, parsed, arm)
            cuts[arm] = _columns(found[same], counts, text.path, arm.header)
        return cuts


def cut_parsed(text: bytes, language: str, parsed: Parsed, arm: Arm) -> list[Chunk]:
    """Return the chunks of one parsed text."""
    source = Source(text, language, parsed.tree, parsed.definitions)
    options = Options(arm.size, arm.overlap)
    layout = lay_out(source, parsed, VARIANTS[arm.chunker], options)
    return describe(text, language, layout, parsed.definitions)


def _columns(chunks: list[Chunk], counts: Ints, path: str, header: str) -> _FileCut:
    rows = [
        (counts[c.start_byte], counts[c.end_byte], c.start_line - 1, c.end_line - 1, 0)
        for c in chunks
    ]
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    texts = [embedded_text(chunk, path, header) for chunk in chunks]
    return _FileCut(columns, chunks, texts, [content_hash(text) for text in texts])


def _join(corpus: Corpus, files: Sequence[_FileCut]) -> Cut:
    columns = [np.empty((5, 0), np.int64)]
    for index, found in enumerate(files):
        moved = found.columns.copy()
        moved[:2] += corpus.first_nws[index]
        moved[2:4] += corpus.first_line[index]
        moved[4] = index
        columns.append(moved)
    pieces = Pieces(*np.concatenate(columns, axis=1))
    chunks = [chunk for found in files for chunk in found.chunks]
    texts = [text for found in files for text in found.texts]
    hashes = [key for found in files for key in found.text_hashes]
    return Cut(corpus, pieces, chunks, texts, hashes)


def embedded_text(chunk: Chunk, path: str, header: str) -> str:
    """Return the body with its context line, as the product embeds it."""
    named = chunk.scope if header == "scope" else ""
    if header == "path":
        named = f"{path}: {chunk.scope}" if chunk.scope else path
    return f"# {named}\n{chunk.text}" if named else chunk.text


def chunker_version() -> str:
    """Return eight digits over the code and data that decide the chunks."""
    return code_version(*_DECISIVE)


@functools.cache
def code_version(*places: str) -> str:
    """Return eight digits over files and folders of code and data, named from the checkout.

    Raises:
        FileNotFoundError: one of them is not there.
    """
    digest = hashlib.blake2b(digest_size=4)
    for name in places:
        place = Path(__file__).parents[1] / name
        if not place.exists():
            raise FileNotFoundError(place)
        files = [place] if place.is_file() else place.rglob("*")
        for path in sorted(p for p in files if p.suffix in {".py", ".toml", ".scm"}):
            digest.update(path.read_bytes())
    return digest.hexdigest()
