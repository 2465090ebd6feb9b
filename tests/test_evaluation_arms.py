"""What an arm of the benchmark is: its label, its cuts, the text it embeds, its ranking."""

from pathlib import Path

import pyarrow as pa
import pytest

from codelake.chunking import CHUNKERS, chunk
from codelake.chunking.batches import chunk_batch
from codelake.errors import UsageError
from codelake.schemas import FILES
from codelake.settings import SearchSettings, Settings, merge_settings
from codelake.syntax import syntax_batch
from evaluation.arms import Arm, Cutter, parse_arms
from evaluation.corpus import build_corpus
from evaluation.scoring import parse_retrievals
from evaluation.snapshots import Snapshot, SourceFile


@pytest.mark.parametrize("chunker", sorted(CHUNKERS))
def test_arms_cut_as_the_library_does(chunker: str) -> None:
    text = Path(__file__).read_bytes()
    arm = parse_arms([chunker], [300])[0]
    corpus = build_corpus(Snapshot("r", "", (SourceFile("m.py", text),)))
    cut = Cutter([arm]).cut(corpus)[arm]
    expected = chunk(text, "python", chunker, arm.size or 1200)
    assert cut.texts == [c.text for c in expected]
    pieces = cut.pieces
    places = zip(pieces.first_line + 1, pieces.last_line + 1, strict=True)
    assert [tuple(p) for p in places] == [(c.start_line, c.end_line) for c in expected]
    assert (pieces.nws_end - pieces.nws_start).tolist() == [c.nws for c in expected]


METHODS = b"""class A:
    def one(self): return first(1)
    # two
    def two(self): return second(2)
def three(): return 3
"""


@pytest.mark.parametrize(
    ("chunker", "lines"),
    [
        ("cast", [(1, 2), (3, 4), (5, 5)]),
        ("cast-plain", [(1, 3), (4, 4), (5, 5)]),
        ("cast-unmerged", [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]),
        ("cast-across", [(1, 2), (3, 5)]),
    ],
)
def test_rules_of_merging(chunker: str, lines: list[tuple[int, int]]) -> None:
    arm = Arm(chunker, 52)
    corpus = build_corpus(Snapshot("r", "", (SourceFile("m.py", METHODS),)))
    chunks = Cutter([arm]).cut(corpus)[arm].chunks
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == lines


@pytest.mark.parametrize("header", ["none", "scope", "path"])
def test_embedded_text_is_that_of_the_product(header: str) -> None:
    text = Path(__file__).read_bytes()
    settings = merge_settings(Settings(), {"chunking.header": header, "chunking.budget": 300})
    rows = chunk_batch(_syntax(text, settings), settings).to_pylist()
    arm = Arm("cast", 300, header=header)
    corpus = build_corpus(Snapshot("r", "", (SourceFile("pkg/m.py", text),)))
    cut = Cutter([arm]).cut(corpus)[arm]
    assert cut.texts == [row["embedded_text"] for row in rows]
    assert cut.text_hashes == [row["text_hash"] for row in rows]


def _syntax(text: bytes, settings: Settings) -> pa.RecordBatch:
    row: dict[str, object] = {}
    for field in FILES.schema:
        row[field.name] = (
            False if field.type == pa.bool_() else 0 if field.type == pa.int64() else ""
        )
    row |= {"repository": "r", "path": "pkg/m.py", "language": "python", "content": text}
    row |= {"size": len(text), "status": "added"}
    return syntax_batch(FILES.table([row]).to_batches()[0], settings)


def test_arms_are_read_from_their_labels() -> None:
    arms = parse_arms(["lines:50", "cast", "ast", "fixed:300+50"], [600, 1200], ["none", "scope"])
    labels = ["lines:50", "cast:600", "cast:1200", "ast", "fixed:300+50"]
    assert list(dict.fromkeys(arm.label for arm in arms)) == labels
    assert len(arms) == 2 * len(labels)
    assert parse_arms([arm.label for arm in arms], [], ["none"]) == arms[::2]


@pytest.mark.parametrize(
    ("chunkers", "headers", "words_"),
    [
        (["casst"], ["none"], "choose from cast"),
        (["cast:x"], ["none"], "as in cast:1200"),
        (["cast"], ["title"], "choose from none, scope"),
        ([], ["none"], "no chunker is named"),
        (["cast"], [], "no header is named"),
        (["cast:0"], ["none"], "'cast:0' needs a size above 0"),
        (["ast:0"], ["none"], "'ast:0' needs a size above 0"),
        (["fixed:100+200"], ["none"], "'fixed:100.200' needs a size above 200"),
        (["lines:50+50"], ["none"], "'lines:50.50' needs a size above 50"),
    ],
)
def test_unknown_arms_are_explained(chunkers: list[str], headers: list[str], words_: str) -> None:
    with pytest.raises(UsageError, match=words_):
        parse_arms(chunkers, [100], headers)


@pytest.mark.parametrize("budgets", [[], [0], [1200, -1]], ids=str)
def test_a_chunker_without_a_size_needs_budgets_above_nothing(budgets: list[int]) -> None:
    with pytest.raises(UsageError, match="'cast' needs a size above 0"):
        parse_arms(["cast"], budgets)


def test_at_least_one_retrieval_is_needed() -> None:
    with pytest.raises(UsageError, match="no retrieval is named; choose from bm25"):
        parse_retrievals([])


@pytest.mark.parametrize("name", ["tfidf", "bm25:1", "hybrid:2", "hybrid:x"])
def test_unknown_retrievals_are_explained(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        parse_retrievals([name])


def test_retrievals_are_read_from_their_labels() -> None:
    default = f"hybrid:{SearchSettings().dense_weight:g}"
    found = parse_retrievals(["bm25", "hybrid", "hybrid:0.25", default, "multihop"])
    assert [r.label for r in found] == ["bm25", default, "hybrid:0.25", "multihop"]
    assert [r.needs_vectors for r in found] == [False, True, True, True]
