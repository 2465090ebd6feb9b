"""What an embedder's token limit costs in recall and saves in CPU seconds, on retrieval sets.

``python -m bench.embedder_recall SETS minilm:64 minilm:128 hash`` prints a row a set and embedder.
Files are cut into whole lines of at most 1,200 non-whitespace characters, the default budget. A
repository's corpus is the chunks of its gold and others at even distances, so that a run takes
minutes. Found is a question with a chunk that overlaps its gold among the first five.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from codelake.embedding import Embedder
from codelake.settings import EmbeddingSettings
from evaluation.retrieval_sets import Question, RetrievalSet, open_set
from evaluation.snapshots import Snapshot, read_snapshots
from resources.embedders import open_embedder

_BUDGET: Final = 1200  # non-whitespace characters, as settings.chunking.budget
_DEPTH: Final = 5  # chunks an answer is looked for in
_RANKED: Final = 10  # chunks that count for the reciprocal rank


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk of a file; lines are counted from 1, the end included."""

    path: str
    start_line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks of one repository and the questions that some of them answer."""

    pieces: list[Piece]
    questions: list[Question]


def main() -> None:
    """Print the table for the sets and embedders that are named."""
    parser = recall_parser("bench.embedder_recall", __doc__)
    parser.add_argument("embedders", nargs="+", metavar="NAME[:TOKENS]")
    options = parser.parse_args()
    print("| set | embedder | questions | chunks | found@5 | MRR@10 | CPU s | chunks/CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, corpora in asked_corpora(options):
        for embedder in options.embedders:
            print(_row(name, embedder, corpora), flush=True)


def recall_parser(module: str, about: str | None) -> argparse.ArgumentParser:
    """Return a parser of the words that say which sets are asked and how much of them."""
    parser = argparse.ArgumentParser(
        f"python -m {module}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sets", type=Path, help="folder of the retrieval sets")
    parser.add_argument("--set", action="append", dest="names", metavar="SET[@SAMPLE]")
    parser.add_argument("--pieces", type=int, default=170, help="chunks of a repository")
    return parser


def asked_corpora(options: argparse.Namespace) -> Iterator[tuple[str, list[Corpus]]]:
    """Yield the corpora of each set that the words of :func:`recall_parser` name."""
    for name in options.names or ["docstring_nl@20", "semble_nl@12"]:
        yield name, list(_corpora(open_set(options.sets, name), options.pieces))


def _row(set_name: str, name: str, corpora: list[Corpus]) -> str:
    backend, _, tokens = name.partition(":")
    embedder = open_embedder(EmbeddingSettings(embedder=backend, max_tokens=int(tokens or 0)))
    embedder.embed_documents(["load the model before anything is measured"])
    ranks: list[int] = []
    spent = 0.0
    for corpus in corpora:
        before = time.process_time()
        documents = embedder.embed_documents([piece.text for piece in corpus.pieces]).vectors
        spent += time.process_time() - before
        ranks += _ranks(corpus, documents, embedder)
    found = np.array(ranks)
    pieces = sum(len(corpus.pieces) for corpus in corpora)
    reciprocal = np.where(found < _RANKED, 1.0 / (found + 1.0), 0.0).mean()
    return (
        f"| {set_name} | {name} | {len(found)} | {pieces} | {(found < _DEPTH).mean():.3f} "
        f"| {reciprocal:.3f} | {spent:.1f} | {pieces / spent:.1f} |"
    )


def _ranks(
    corpus: Corpus,
    documents: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    embedder: Embedder,
) -> list[int]:
    """Return the place of the first gold chunk of each question, from 0."""
    queries = embedder.embed_queries([question.text for question in corpus.questions]).vectors
    order = np.argsort(-(queries @ documents.T), axis=1, kind="stable")
    ranks = []
    for question, row in zip(corpus.questions, order, strict=True):
        hits = [place for place, i in enumerate(row) if is_gold(corpus.pieces[i], [question])]
        ranks.append(hits[0])
    return ranks


def _corpora(retrieval_set: RetrievalSet, most: int) -> Iterator[Corpus]:
    """Yield a corpus of at most ``most`` chunks a repository, more if its gold alone is more."""
    asked = retrieval_set.snapshots
    for snapshot in read_snapshots(retrieval_set):
        questions = asked[snapshot.repository, snapshot.ref]
        pieces = [piece for piece in _pieces(snapshot) if piece.text.strip()]
        gold = [piece for piece in pieces if is_gold(piece, questions)]
        other = [piece for piece in pieces if not is_gold(piece, questions)]
        room = max(0, most - len(gold))
        spread = [other[i * len(other) // room] for i in range(min(room, len(other)))]
        reachable = [q for q in questions if any(is_gold(piece, [q]) for piece in gold)]
        yield Corpus(gold + spread, reachable)


def _pieces(snapshot: Snapshot) -> Iterator[Piece]:
    for file in snapshot.files:
        if b"\0" in file.content:
            continue
        lines = file.content.decode("utf-8", "replace").splitlines()
        start, size = 0, 0
        for number, line in enumerate(lines):
            nws = len("".join(line.split()))
            if size and size + nws > _BUDGET:
                yield Piece(file.path, start + 1, number, "\n".join(lines[start:number]))
                start, size = number, 0
            size += nws
        yield Piece(file.path, start + 1, len(lines), "\n".join(lines[start:]))


def is_gold(piece: Piece, questions: list[Question]) -> bool:
    """Tell whether a chunk lies on the gold lines of one of the questions."""
    return any(
        gold.path == piece.path
        and gold.start_line <= piece.end_line
        and piece.start_line <= gold.end_line
        for question in questions
        for gold in question.gold
    )


if __name__ == "__main__":
    main()
