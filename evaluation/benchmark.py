"""The chunker benchmark: chunkers x sizes x retrieval x embedders x sets, a row a question.

Nothing is computed twice: a text is cut once an arm, embedded once a model, scored once a set of
chunks and questions. What was done stays in the cache folder, so a run that is stopped goes on
where it was, and a run after a change of the metrics cuts and measures only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from codelake import __version__
from codelake.errors import SourceError
from codelake.schemas import column
from evaluation.arms import Arm, Cut, Cutter, chunker_version
from evaluation.corpus import Corpus, build_corpus, languages_of
from evaluation.lexical import Vocabulary
from evaluation.metrics import DEPTH, MEASURES, map_lines, question_measures, rank
from evaluation.retrieval_sets import Question, RetrievalSet
from evaluation.scoring import Retrieval, Scorer
from evaluation.snapshots import Snapshot, read_snapshots
from evaluation.vectors import VectorCache
from resources.git import run_git

_S, _I, _F = pa.string(), pa.int64(), pa.float64()

_LINEAGE: Final = (
    column("set", _S, "retrieval set, with its gold key and sample if they are not the default"),
    column("set_hash", _S, "hash of every byte of the set"),
    column("licence", _S, "licence of the repository"),
    column("repository", _S, "repository that is searched"),
    column("ref", _S, "its snapshot, where there are several"),
    column("chunker", _S, "chunker, with size and overlap"),
    column("chunker_version", _S, "hash of the code and data that decide chunks"),
    column("header", _S, "context line in front of the embedded body"),
    column("code_commit", _S, "commit of codelake, with + if files differ from it"),
)
ROWS: Final = pa.schema(
    (
        *_LINEAGE,
        column("retrieval", _S, "bm25, dense, hybrid with its weight, search or multihop"),
        column("model_id", _S, "model of the vectors; empty for bm25"),
        column("question_id", _S, "question, unique in its set"),
        column("language", _S, "language of the answer"),
        column("golds", _I, "places that answer it"),
        *(column(name, _F, doc) for name, doc in MEASURES.items()),
        column("top", pa.list_(_S), "path:first-last of the best five chunks"),
    )
)
CUTS: Final = pa.schema(
    (
        *_LINEAGE,
        column("files", _I, "files that are searched"),
        column("bytes", _I, "bytes of their texts"),
        column("language_bytes", pa.map_(_S, _I), "bytes by language"),
        column("chunks", _I, "chunks, which is rows of the index"),
        column("distinct_texts", _I, "texts an embedder has to embed"),
        column("characters", _I, "characters of the distinct texts"),
        column("nws", pa.list_(_I), "nws of every chunk"),
    )
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compared.

    Args:
        sets: the questions.
        arms: chunkers with sizes and headers.
        retrievals: how chunks are ranked.
        vectors: one an embedder; empty if words are enough.
        cache: folder for scores.
    """

    sets: Sequence[RetrievalSet]
    arms: Sequence[Arm]
    retrievals: Sequence[Retrieval]
    vectors: Sequence[VectorCache]
    cache: Path


@dataclass(slots=True)
class Results:
    """A row a question, and a row a cut corpus."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    cuts: list[dict[str, Any]] = field(default_factory=list)

    def without_gold(self, set_name: str) -> list[str]:
        """Return the questions of a set whose gold lies in no searched file: all find nothing."""
        rows = (row for row in self.rows if row["set"] == set_name and not row["golds"])
        return list(dict.fromkeys(row["question_id"] for row in rows))

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Return both as tables of :data:`ROWS` and :data:`CUTS`."""
        return (
            pa.Table.from_pylist(self.rows, schema=ROWS),
            pa.Table.from_pylist(self.cuts, schema=CUTS),
        )


def run_benchmark(plan: Plan, progress: Callable[[str], None] = lambda _: None) -> Results:
    """Run everything in ``plan``; ``progress`` is told each set and snapshot."""
    results = Results()
    commit = code_commit()
    for retrieval_set in plan.sets:
        # Words and cuts are shared by the snapshots of a set and dropped after it.
        scorer = Scorer(plan.cache / "scores", Vocabulary())
        cutter = Cutter(plan.arms)
        for snapshot in read_snapshots(retrieval_set):
            progress(f"{retrieval_set.name}: {snapshot.repository} {snapshot.ref}".rstrip())
            _SnapshotRun(plan, scorer, retrieval_set, snapshot, commit).measure(cutter, results)
        lost = results.without_gold(retrieval_set.name)
        if lost:
            progress(f"{retrieval_set.name}: no searched file has the gold of {', '.join(lost)}")
    return results


class _SnapshotRun:
    """Every arm on one snapshot."""

    def __init__(
        self,
        plan: Plan,
        scorer: Scorer,
        retrieval_set: RetrievalSet,
        snapshot: Snapshot,
        commit: str,
    ) -> None:
        self._plan = plan
        self._scorer = scorer
        self._corpus = build_corpus(snapshot)
        key = (snapshot.repository, snapshot.ref)
        self._questions = retrieval_set.snapshots[key]
        self._lineage = {
            "set": retrieval_set.name,
            "set_hash": retrieval_set.content_hash,
            "licence": retrieval_set.licences.get(snapshot.repository, "unknown"),
            "repository": snapshot.repository,
            "ref": snapshot.ref,
            "chunker_version": chunker_version(),
            "code_commit": commit,
        }

    def measure(self, cutter: Cutter, results: Results) -> None:
        answers = [self._corpus.answer(question) for question in self._questions]
        for arm, cut in cutter.cut(self._corpus).items():
            lineage = {**self._lineage, "chunker": arm.label, "header": arm.header}
            results.cuts.append({**lineage, **_describe(self._corpus, cut)})
            mapping = map_lines(
                cut.pieces, self._corpus.lines_of_file.tolist(), self._corpus.solid_lines
            )
            for ranked_by, scores in self._scores(cut):
                figures = question_measures(
                    scores, cut.pieces, mapping, answers, self._corpus.line_nws
                )
                for question, answer, own, row in zip(
                    self._questions, answers, figures, scores, strict=True
                ):
                    asked = {
                        "question_id": question.question_id,
                        "language": question.language,
                        "golds": len(answer.spans),
                        "top": _places(self._corpus, cut, row),
                    }
                    results.rows.append({**lineage, **ranked_by, **asked, **own})

    def _scores(self, cut: Cut) -> Iterator[tuple[dict[str, str], Any]]:
        queries = [question.text for question in self._questions]
        for retrieval in self._plan.retrievals:
            models = self._plan.vectors if retrieval.needs_vectors else [None]
            for vectors in models:
                model_id = "" if vectors is None else vectors.model_id
                labels = {"retrieval": retrieval.label, "model_id": model_id}
                yield labels, self._scorer.scores(cut, queries, retrieval, vectors)


def _describe(corpus: Corpus, cut: Cut) -> dict[str, Any]:
    distinct = dict(zip(cut.text_hashes, cut.texts, strict=True))
    return {
        "files": len(corpus.texts),
        "bytes": sum(len(text.text) for text in corpus.texts),
        "language_bytes": list(languages_of(corpus.texts).items()),
        "chunks": len(cut.texts),
        "distinct_texts": len(distinct),
        "characters": sum(map(len, distinct.values())),
        "nws": (cut.pieces.nws_end - cut.pieces.nws_start).tolist(),
    }


def _places(corpus: Corpus, cut: Cut, scores: Any) -> list[str]:  # noqa: ANN401 # a row of Floats
    pieces = cut.pieces
    places = []
    for index in rank(scores)[:DEPTH]:
        file = int(pieces.file[index])
        base = int(corpus.first_line[file]) - 1
        first, last = int(pieces.first_line[index]) - base, int(pieces.last_line[index]) - base
        places.append(f"{corpus.texts[file].path}:{first}-{last}")
    return places


def question_texts(sets: Sequence[RetrievalSet]) -> dict[tuple[str, str], Question]:
    """Return every question by set name and id."""
    return {(own.name, q.question_id): q for own in sets for q in own.questions}


def code_commit() -> str:
    """Return the commit of this code, with ``+`` where files differ; the version outside git."""
    here = ["-C", str(Path(__file__).parents[1])]
    try:
        commit = run_git([*here, "rev-parse", "--short=12", "HEAD"]).decode().strip()
        changed = run_git([*here, "diff-index", "--name-only", "HEAD", "--", "."])
    except SourceError:
        return f"version {__version__}"
    return commit + ("+" if changed.strip() else "")
