"""What the packages teach: pairs and words of each, read once and kept."""

import itertools
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from training.copies import KnownCode
from training.packages import read_files
from training.pairs import Pair, package_pairs
from training.sources import PackageSource
from training.vocabulary import count_words

# What is kept of a package, so that none decides what the table learns.
_PAIRS: Final = 400
_NAMES: Final = 80  # of the pairs are questions made of names
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one package teaches.

    Args:
        package: its name.
        is_held_out: whether it is asked about and not learned from.
        pairs: questions and the code that answers them, the kinds by turns.
        words: how often its code and prose have each word.
    """

    package: str
    is_held_out: bool
    pairs: list[Pair]
    words: Mapping[str, int]


def read_lessons(
    sources: Iterable[PackageSource], files: Mapping[str, Path], known: KnownCode
) -> Iterator[Lesson]:
    """Yield what each package teaches, without what is ``known``."""
    for source in sources:
        package, copies = read_files(source.name, files[source.name], known)
        if copies:
            _LOG.info("%s: %d files left out, the retrieval sets have them", source.name, copies)
        draw = np.random.default_rng(5)
        texts = [file.text.decode("utf-8", "replace") for file in package.files]
        yield Lesson(
            source.name,
            source.is_held_out,
            _by_turns(package_pairs(package, known), draw)[:_PAIRS],
            count_words([*texts, *package.prose]),
        )


def _by_turns(pairs: list[Pair], draw: np.random.Generator) -> list[Pair]:
    """Return pairs so that the rare kinds are not cut off, by chance within each kind."""
    kinds: dict[str, list[Pair]] = {"doc": [], "comment": [], "prose": [], "name": []}
    for i in draw.permutation(len(pairs)):
        kinds[pairs[i].kind].append(pairs[i])
    del kinds["name"][_NAMES:]
    turns = itertools.zip_longest(*kinds.values())
    return [pair for turn in turns for pair in turn if pair is not None]


def write_lessons(path: Path, lessons: Iterable[Lesson]) -> None:
    """Keep lessons as one JSON line each; a run that is stopped leaves none."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        for lesson in lessons:
            row = (lesson.package, lesson.is_held_out, lesson.pairs, lesson.words)
            file.write(json.dumps(row) + "\n")
    part.replace(path)


def load_lessons(path: Path) -> list[Lesson]:
    """Return lessons that were kept."""
    lessons = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            package, is_held_out, pairs, words = json.loads(line)
            read = [Pair._make(pair) for pair in pairs]
            lessons.append(Lesson(package, is_held_out, read, Counter(words)))
    return lessons
