"""A snapshot laid out for measuring: its texts, one after the other, in lines and in nws."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from codelake.classify import content_skip_reason, path_skip_reason, size_skip_reason
from codelake.encodings import decode
from codelake.hashing import content_hash
from codelake.languages import detect_language
from codelake.measure import running_counts
from codelake.settings import FileSettings
from evaluation.metrics import Answer, Ints
from evaluation.retrieval_sets import Question
from evaluation.snapshots import Snapshot, SourceFile


@dataclass(frozen=True, slots=True)
class SourceText:
    """One file that is searched.

    Args:
        path: path in the repository.
        language: what it is parsed as; empty for plain text.
        text: UTF-8.
        text_id: hash of language and text; equal ones are cut once.
    """

    path: str
    language: str
    text: bytes
    text_id: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """The files of a snapshot in global coordinates.

    Args:
        texts: the files, by path.
        first_line: global line of each file's first line.
        lines_of_file: number of lines of each file.
        line_nws: nws before each global line, the total at the end.
        first_nws: nws before each file.
    """

    texts: tuple[SourceText, ...]
    first_line: Ints
    lines_of_file: Ints
    line_nws: Ints
    first_nws: Ints

    @property
    def solid_lines(self) -> Ints:
        """Return the global lines that have a non-whitespace character."""
        return np.flatnonzero(np.diff(self.line_nws))

    def answer(self, question: Question) -> Answer:
        """Return the gold of a question; what lies in no searched file is left out."""
        places = {text.path: index for index, text in enumerate(self.texts)}
        spans: set[tuple[int, int]] = set()
        files: set[int] = set()
        for span in question.gold:
            file = places.get(span.path)
            if file is not None:
                last = min(span.end_line, int(self.lines_of_file[file]))
                base = int(self.first_line[file]) - 1
                files.add(file)
                if span.start_line <= last:
                    spans.add((base + span.start_line, base + last))
        sizes = np.diff(self.line_nws)
        lines = {line for first, last in spans for line in range(first, last + 1)}
        solid = [line for line in sorted(lines) if sizes[line]]
        return Answer(
            np.array(solid, np.int64),
            np.array(sorted(files), np.int64),
            np.array(sorted(spans), np.int64).reshape(-1, 2),
        )


def build_corpus(snapshot: Snapshot) -> Corpus:
    """Read and lay out every file of ``snapshot`` that the product would index."""
    found = (read_text(file) for file in snapshot.files)
    return lay_out([text for text in found if text is not None])


def lay_out(texts: Sequence[SourceText]) -> Corpus:
    """Count the lines and non-whitespace characters of ``texts`` one after the other."""
    counted = [_count(text.text) for text in texts]
    sizes = np.array([counts[-1] for counts in counted], np.int64)
    lines = np.array([len(counts) - 1 for counts in counted], np.int64)
    first_nws = np.cumsum(sizes) - sizes
    pieces = [counts[:-1] + base for counts, base in zip(counted, first_nws, strict=True)]
    return Corpus(
        texts=tuple(texts),
        first_line=np.cumsum(lines) - lines,
        lines_of_file=lines,
        line_nws=np.concatenate([*pieces, np.array([sizes.sum()], np.int64)]),
        first_nws=first_nws,
    )


def languages_of(texts: Iterable[SourceText]) -> dict[str, int]:
    """Return the bytes of each language."""
    found: dict[str, int] = {}
    for text in texts:
        found[text.language] = found.get(text.language, 0) + len(text.text)
    return found


def _count(text: bytes) -> Ints:
    """Return the nws before each line of ``text`` and the total."""
    before = running_counts(text)
    newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    starts = np.r_[0, newlines + 1]
    if len(starts) > 1 and starts[-1] == len(text):
        starts = starts[:-1]
    counts: Ints = np.r_[before[starts], before[-1]]
    return counts


def read_text(file: SourceFile) -> SourceText | None:
    """Return the text of a file, or nothing where the product would skip it."""
    if (
        path_skip_reason(file.path)
        or size_skip_reason(file.path, len(file.content), FileSettings().max_bytes)
        or content_skip_reason(file.path, file.content)
    ):
        return None
    language = detect_language(file.path, file.content)
    decoded = decode(file.content, language)
    if decoded.is_binary:
        return None
    text_id = content_hash(f"{language}\n{decoded.text}")
    return SourceText(file.path, language, decoded.text.encode(), text_id)
