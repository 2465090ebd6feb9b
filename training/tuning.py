"""How well a table answers questions about packages that it has not learned from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from resources.embedders.wording import WordPieces
from training.lessons import Lesson
from training.material import counts_of
from training.table import Array, Table, add_up

_QUESTIONS: Final = 16  # of a kind and package
_TEXTS: Final = 110  # definitions of a package that are searched
_RANKED: Final = 10

Embed = Callable[[Sequence[str]], Array]


@dataclass(frozen=True, slots=True)
class Exam:
    """Questions about one package: for each kind the texts, the questions and their answers."""

    texts: list[str]
    questions: dict[str, list[str]]
    answers: dict[str, list[int]]


def make_exam(lesson: Lesson) -> Exam:
    """Return questions of all kinds about a package."""
    texts: dict[str, int] = {}
    asked: set[tuple[str, str]] = set()
    questions: dict[str, list[str]] = {}
    answers: dict[str, list[int]] = {}
    for pair in lesson.pairs:
        mine = questions.setdefault(pair.kind, [])
        is_new = (pair.path, pair.name) not in asked
        if is_new and len(mine) < _QUESTIONS:
            asked.add((pair.path, pair.name))
            mine.append(pair.question)
            answers.setdefault(pair.kind, []).append(texts.setdefault(pair.code, len(texts)))
    for pair in lesson.pairs:
        if len(texts) < _TEXTS and (pair.path, pair.name) not in asked:
            asked.add((pair.path, pair.name))
            texts.setdefault(pair.code, len(texts))
    return Exam(list(texts), questions, answers)


def examine(exams: Sequence[Exam], table: Table, pieces: WordPieces) -> dict[str, Array]:
    """Return the reciprocal ranks that a table gets, by kind."""

    def embed(logs: Array) -> Embed:
        return lambda texts: add_up(table, counts_of(texts, pieces, len(logs)), logs).units

    return ask(exams, embed(table.query_log), embed(table.document_log))


def ask(exams: Sequence[Exam], questions: Embed, documents: Embed) -> dict[str, Array]:
    """Return the reciprocal ranks by kind, 0 beyond ten."""
    found: dict[str, list[Array]] = {}
    for exam in exams:
        texts = documents(exam.texts)
        for kind, right in exam.answers.items():
            scores = questions(exam.questions[kind]) @ texts.T
            places = (scores > scores[np.arange(len(right)), right][:, None]).sum(axis=1)
            reciprocal = np.where(places < _RANKED, 1 / (places + 1), 0).astype(np.float32)
            found.setdefault(kind, []).append(reciprocal)
    return {kind: np.concatenate(parts) for kind, parts in sorted(found.items())}


def describe(ranks: Mapping[str, Array]) -> str:
    """Return the mean of each kind in words."""
    return ", ".join(f"{kind} {row.mean():.3f} of {len(row)}" for kind, row in ranks.items())
