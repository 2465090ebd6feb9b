"""One evaluation from names to a written report: what the command and the asset both call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codelake.errors import UsageError
from codelake.settings import EmbeddingSettings
from evaluation.arms import parse_arms
from evaluation.benchmark import Plan, Results, question_texts, run_benchmark
from evaluation.report import Report, build_report
from evaluation.retrieval_sets import find_sets, open_set
from evaluation.scoring import parse_retrievals
from evaluation.vectors import VectorCache
from resources.embedders import open_embedder

_NO_SETS: Final = (
    "no retrieval set below '{root}'; make one of any clone with "
    "`python -m evaluation.generators docs CLONE NEW`, then say --sets NEW"
)
_TOLD: Final = 1000  # texts between two lines of progress: half a minute of the local model


@dataclass(frozen=True, slots=True)
class Request:
    """What to compare, by the names a person gives.

    Args:
        root: folder of the sets.
        cache: folder for vectors and scores.
        sets: names below ``root``, folders, ``name:gold_key``, ``name@sample``; empty for all.
        chunkers: names, with a size of their own like ``lines:50`` or taken at each budget.
        budgets: sizes for chunkers without one.
        headers: context lines: none, scope, path.
        retrievals: bm25, dense, hybrid, ``hybrid:0.5``.
        embedders: settings of each embedder that dense and hybrid need.
        baseline: chunker that others are compared with; empty for the first.
    """

    root: Path
    cache: Path
    sets: Sequence[str] = ()
    chunkers: Sequence[str] = ("lines:50", "ast", "cast")
    budgets: Sequence[int] = (1200, 2000)
    headers: Sequence[str] = ("none",)
    retrievals: Sequence[str] = ("bm25",)
    embedders: Sequence[EmbeddingSettings] = ()
    baseline: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came out: the rows, the report, and how many texts were newly embedded."""

    results: Results
    report: Report
    embedded: int


def evaluate(request: Request, progress: Callable[[str], None] = lambda _: None) -> Evaluation:
    """Run the comparison that ``request`` names.

    Raises:
        UsageError: a name is unknown; said before anything is computed.
        EmbeddingError: an embedder cannot answer; what it embedded before is kept.
    """
    arms = parse_arms(request.chunkers, request.budgets, request.headers)
    labels = list(dict.fromkeys(arm.label for arm in arms))
    baseline = request.baseline or labels[0]
    if baseline not in labels:
        message = f"the baseline {baseline!r} is not compared; choose from {', '.join(labels)}"
        raise UsageError(message)
    retrievals = parse_retrievals(request.retrievals)
    names = request.sets or find_sets(request.root)
    if not names:
        raise UsageError(_NO_SETS.format(root=request.root))
    sets = [open_set(request.root, name) for name in names]
    embedded = [0]

    def count(texts: int) -> None:
        embedded[0] += texts
        if embedded[0] // _TOLD > (embedded[0] - texts) // _TOLD:
            progress(f"{embedded[0]:,} texts embedded")

    vectors = []
    if any(retrieval.needs_vectors for retrieval in retrievals):
        wanted = request.embedders or (EmbeddingSettings(),)
        opened = [open_embedder(settings) for settings in wanted]
        folder = request.cache / "vectors"
        vectors = [VectorCache(folder, embedder, progress=count) for embedder in opened]
    results = run_benchmark(Plan(sets, arms, retrievals, vectors, request.cache), progress)
    rows, cuts = results.tables()
    report = build_report(rows, cuts, baseline, question_texts(sets))
    return Evaluation(results, report, embedded[0])
