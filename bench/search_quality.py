"""How well each mode of the search answers, on retrieval sets.

``python -m bench.search_quality SETS --work DIR`` indexes the snapshots of each set below DIR
once, asks every question of its own repository, and prints a row a mode: found among five, share
of the gold found among ten, reciprocal rank among ten. Gold is a file or, where the set names
lines, a function: found if more than half of it is in the hit or more than half of the hit in it.
The last but one column is the share found among ten on questions with several golds.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.pipeline import index
from bench.trees import Source, write_repositories
from codelake.search import Filters, Hit, search
from codelake.settings import EmbeddingSettings
from evaluation.retrieval_sets import GoldSpan, Question, RetrievalSet, open_set
from evaluation.snapshots import read_snapshots
from resources.embedders import open_embedder
from resources.rerankers import open_reranker
from resources.store import LanceStore

_MODES: Final = ("hybrid", "multihop", "vector", "text", "symbol")
_FOUND: Final = 5  # hits among which an answer is found
_RANKED: Final = 10  # hits that count for recall and for the reciprocal rank
_WHOLE_FILES: Final = {"semble_nl"}  # sets whose gold is files

Row = tuple[float, float, float]
"""Found, share of the gold, reciprocal rank of one question."""


def main() -> None:
    """Print the table for the sets and modes that are named."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.search_quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sets", type=Path, help="folder of the retrieval sets")
    parser.add_argument("--set", action="append", dest="names", metavar="SET[@SAMPLE]")
    parser.add_argument("--mode", action="append", dest="modes", choices=_MODES)
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--reranker", default="maxsim")
    parser.add_argument("--work", type=Path, required=True, help="folder for the stores")
    options = parser.parse_args()
    print("| set, gold | mode | questions | hit@5 | recall@10 | MRR@10 | several golds | CPU ms |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.names or ["semble_nl", "docstring_nl", "commit_loc"]:
        asked = open_set(options.sets, name)
        store = _store(asked, options.work / f"{asked.folder.name}-{options.embedder}", options)
        for mode in options.modes or _MODES:
            for line in _lines(asked, store, mode, options):
                print(line, flush=True)


def _store(asked: RetrievalSet, folder: Path, options: argparse.Namespace) -> LanceStore:
    """Return the index of a set's snapshots, made anew only where there is none."""
    if not (folder / "store").is_dir():
        sources = [
            Source(snapshot.repository, file.path, "", file.content)
            for snapshot in read_snapshots(asked)
            for file in snapshot.files
        ]
        write_repositories(sources, folder / "tree")
        config = folder / "codelake.toml"
        config.write_text(f"[embedding]\nembedder = '{options.embedder}'\n", encoding="utf-8")
        index(folder / "tree", folder / "store", config)
    return LanceStore(folder / "store")


def _lines(
    asked: RetrievalSet, store: LanceStore, mode: str, options: argparse.Namespace
) -> Iterator[str]:
    """Yield the row of a mode by files and, where lines are the gold, by functions."""
    before = time.process_time()
    answers = _answers(asked.questions, store, mode, options)
    spent = 1000 * (time.process_time() - before) / len(answers)
    files = [
        _measured([{h.path} for h in hits], {g.path for g in question.gold})
        for question, hits in answers
    ]
    functions = [
        _measured([{g for g in question.gold if _is_found(g, h)} for h in hits], {*question.gold})
        for question, hits in answers
    ]
    several = np.array([len(question.gold) > 1 for question, _ in answers])
    for gold, rows in (("file", files), ("function", functions)):
        if gold == "file" or asked.folder.name not in _WHOLE_FILES:
            yield _line(f"{asked.name}, {gold}", mode, np.array(rows), several, spent)


def _answers(
    questions: Sequence[Question], store: LanceStore, mode: str, options: argparse.Namespace
) -> list[tuple[Question, tuple[Hit, ...]]]:
    tables = store.search_tables()
    embedder = open_embedder(EmbeddingSettings(embedder=options.embedder))
    reranker = open_reranker(options.reranker) if mode == "multihop" else None
    return [
        (
            question,
            search(
                question.text,
                tables=tables,
                embedder=embedder,
                reranker=reranker,
                mode=mode,
                k=_RANKED,
                filters=Filters(repositories=(question.repository,)),
            ).hits,
        )
        for question in questions
    ]


def _is_found(gold: GoldSpan, hit: Hit) -> bool:
    if gold.path != hit.path:
        return False
    shared = min(gold.end_line, hit.end_line) - max(gold.start_line, hit.start_line) + 1
    shortest = min(gold.end_line - gold.start_line, hit.end_line - hit.start_line) + 1
    return 2 * shared > shortest


def _measured(ranking: Sequence[AbstractSet[object]], gold: AbstractSet[object]) -> Row:
    """Return the measures of one ranking, given which gold each hit finds."""
    finds = [place for place, found in enumerate(ranking) if found & gold]
    share = len(gold & set[object]().union(*ranking)) / len(gold)
    first = finds[0] if finds else _RANKED
    return float(first < _FOUND), share, 1 / (first + 1) if finds else 0.0


def _line(
    what: str, mode: str, rows: NDArray[np.float64], several: NDArray[np.bool_], spent: float
) -> str:
    hit, recall, reciprocal = rows.mean(axis=0)
    some = f"{rows[several, 1].mean():.3f} of {several.sum()}" if several.any() else ""
    return (
        f"| {what} | `{mode}` | {len(rows)} | {hit:.3f} | {recall:.3f} | {reciprocal:.3f} "
        f"| {some} | {spent:.0f} |"
    )


if __name__ == "__main__":
    main()
