"""Turn lessons into counts of tokens, which is all that the training sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from resources.embedders.wording import WordPieces
from training.lessons import Lesson
from training.table import Array, Ids, count_matrix

_LIKE: Final = 4  # words that may stand for one
_LIKE_COSINE: Final = 0.55
_COMMON: Final = 12_000  # words that are replaced and that replace
_BLOCK: Final = 1000


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that is learned from, as counts of tokens.

    Args:
        questions: one row a pair, those of one package together.
        codes: the code of each pair.
        heads: path and name of each pair.
        packages: which package each pair is from, ascending.
        definitions: which definition the code of each pair is.
        like: for each token those that may stand in its place, -1 where there are fewer.
    """

    questions: sparse.csr_array
    codes: sparse.csr_array
    heads: sparse.csr_array
    packages: Ids
    definitions: Ids
    like: NDArray[np.int32]


def count_lessons(
    lessons: Sequence[Lesson], pieces: WordPieces, like: NDArray[np.int32]
) -> Material:
    """Return the pairs of all lessons as counts of tokens."""
    pairs = [pair for lesson in lessons for pair in lesson.pairs]
    names = [(i, pair.path, pair.name) for i, lesson in enumerate(lessons) for pair in lesson.pairs]
    numbers: dict[tuple[int, str, str], int] = {}
    return Material(
        questions=counts_of([pair.question for pair in pairs], pieces, len(like)),
        codes=counts_of([pair.code for pair in pairs], pieces, len(like)),
        heads=counts_of([f"{pair.path} {pair.name}" for pair in pairs], pieces, len(like)),
        packages=np.array([name[0] for name in names]),
        definitions=np.array([numbers.setdefault(name, len(numbers)) for name in names]),
        like=like,
    )


def counts_of(texts: Sequence[str], pieces: WordPieces, size: int) -> sparse.csr_array:
    """Return how often each text has each of ``size`` tokens."""
    return count_matrix([pieces.ids(text) for text in texts], size)


def like_words(vectors: Array, is_word: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return for each token its nearest words, -1 where there are fewer."""
    like = np.full((len(vectors), _LIKE), -1, dtype=np.int32)
    common = np.flatnonzero(is_word)[:_COMMON]
    units = vectors[common] / np.linalg.norm(vectors[common], axis=1, keepdims=True)
    for start in range(0, len(common), _BLOCK):
        cosines = units[start : start + _BLOCK] @ units.T
        own = np.arange(len(cosines))
        cosines[own, start + own] = -1
        nearest = np.argpartition(-cosines, _LIKE, axis=1)[:, :_LIKE]
        near = np.take_along_axis(cosines, nearest, axis=1) >= _LIKE_COSINE
        like[common[start : start + _BLOCK]] = np.where(near, common[nearest], -1)
    return like
