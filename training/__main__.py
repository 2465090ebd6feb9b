"""Train the table from the packages of ``sources.csv``: ``python -m training WORK --sets DIR``.

What is fetched, read and said by MiniLM is kept in WORK; what is there already is not done again.
docs/static-table.md tells what each step does and what it costs.
"""

import argparse
import itertools
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from resources.embedders.static import TABLE, VOCABULARY
from resources.embedders.wording import WordPieces
from resources.models import model_file
from training.copies import set_files
from training.learning import Recipe, Training
from training.lessons import Lesson, load_lessons, read_lessons, write_lessons
from training.material import count_lessons, like_words
from training.packages import known_code
from training.sources import fetch, listed
from training.starting import is_word, starting_table, word_vectors
from training.table import Array, Table
from training.tuning import Exam, describe, examine, make_exam
from training.vocabulary import choose_words
from training.writing import revision, write_table

_SEED: Final = 1
_LAST_SHARE: Final = 0.05  # of the rates that is left at the end
_LOG: Final = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> None:
    """Fetch, read, train, and write the table and its vocabulary."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("work", type=Path, help="folder for packages and steps that are kept")
    parser.add_argument("--sets", type=Path, required=True, help="folder of the retrieval sets")
    parser.add_argument("--output", type=Path, default=model_file(""), help="folder of the table")
    options = parser.parse_args(arguments)
    lessons = _lessons(options.work, options.sets)
    lessons = [lesson for lesson in lessons if lesson.pairs]
    learned = [lesson for lesson in lessons if not lesson.is_held_out]
    words = choose_words(lesson.words for lesson in learned)
    table = train(options.work, learned, words, [make_exam(x) for x in lessons if x.is_held_out])
    write_table(options.output / TABLE, options.output / VOCABULARY, table, words)
    _LOG.info("%s", revision(options.output / TABLE, options.output / VOCABULARY))


def _lessons(work: Path, sets: Path) -> list[Lesson]:
    kept = work / "lessons.jsonl"
    if not kept.is_file():
        sources = listed()
        files = fetch(sources, work / "packages")
        known = known_code(set_files(sets))
        write_lessons(kept, read_lessons(sources, files, known))
    return load_lessons(kept)


def train(
    work: Path, lessons: Sequence[Lesson], words: Sequence[str], exams: Sequence[Exam]
) -> Table:
    """Return the table that ``lessons`` teach, and tell after each epoch what it knows."""
    vectors = _kept_vectors(work / "words.npz", words)
    table = starting_table(vectors, words)
    like = like_words(table.vectors, np.array([is_word(word) for word in words]))
    pieces = WordPieces(words)
    material = count_lessons(lessons, pieces, like)
    recipe = Recipe()
    training = Training(table, material, recipe, np.random.default_rng(_SEED))
    _LOG.info("before: %s", describe(examine(exams, table, pieces)))
    shares = np.linspace(1, _LAST_SHARE, recipe.epochs + 1)
    for epoch, (first, last) in enumerate(itertools.pairwise(shares), 1):
        loss = training.epoch(float(first), float(last))
        _LOG.info("epoch %d: loss %.3f, %s", epoch, loss, describe(examine(exams, table, pieces)))
    return table


def _kept_vectors(path: Path, words: Sequence[str]) -> Array:
    if path.is_file():
        kept = np.load(path)
        if kept["words"].tolist() == list(words):
            vectors: Array = kept["vectors"]
            return vectors
    vectors = word_vectors(words)
    np.savez(path, vectors=vectors, words=np.array(words))
    return vectors


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main(sys.argv[1:])
