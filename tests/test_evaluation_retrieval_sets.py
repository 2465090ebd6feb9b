"""Retrieval sets: the folder's layout, what is refused, and what the hash notices."""

import json
from pathlib import Path

import pytest

from codelake.errors import UsageError
from evaluation.retrieval_sets import (
    GoldSpan,
    Question,
    find_sets,
    load_set,
    open_set,
    write_set,
)

_PUBLIC = Path(__file__).parents[2] / "shared" / "data" / "eval"
_GOLD = [{"path": "a.py", "start_line": 1, "end_line": 2, "symbol": "f"}]


def _folder(root: Path, *records: dict[str, object], manifest: object = None) -> Path:
    folder = root / "tiny"
    folder.mkdir()
    lines = [json.dumps(record) + "\n" for record in records]
    (folder / "queries.jsonl").write_text("".join(lines), "utf-8")
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def _record(number: int, repository: str = "r", **more: object) -> dict[str, object]:
    return {"query_id": f"q{number}", "query": "x", "repo": repository, "gold": _GOLD, **more}


def test_questions_carry_gold_language_and_licence(tmp_path: Path) -> None:
    manifest = {"repos": [{"repo": "r", "license": "MIT"}]}
    found = load_set(_folder(tmp_path, _record(1), manifest=manifest))
    span = GoldSpan("a.py", 1, 2)
    assert found.questions == (Question("q1", "x", "r", (span,), language="python"),)
    assert found.licences == {"r": "MIT"}


def test_another_gold_key_is_part_of_the_name(tmp_path: Path) -> None:
    lines = [{"path": "b.go", "start_line": 7, "end_line": 7}]
    _folder(tmp_path, _record(1, gold_lines=lines))
    found = open_set(tmp_path, "tiny:gold_lines")
    assert found.name == "tiny:gold_lines"
    assert found.questions[0].gold == (GoldSpan("b.go", 7, 7),)
    assert found.questions[0].language == "go"


def test_a_sample_is_spread_over_every_repository(tmp_path: Path) -> None:
    records = [_record(n) for n in range(10)] + [_record(n, "s") for n in range(10, 12)]
    _folder(tmp_path, *records)
    found = open_set(tmp_path, "tiny@2")
    assert [q.question_id for q in found.questions] == ["q0", "q5", "q10", "q11"]
    assert found.name == "tiny@2"


def test_manifest_says_which_questions_and_files_count(tmp_path: Path) -> None:
    records = [_record(1, good=True), _record(2, good=False), _record(3)]
    manifest = {"only": "good", "include": ["*.py"]}
    found = load_set(_folder(tmp_path, *records, manifest=manifest))
    assert [q.question_id for q in found.questions] == ["q1"]
    assert found.include == ("*.py",)


def test_questions_are_grouped_by_snapshot(tmp_path: Path) -> None:
    folder = _folder(tmp_path, _record(1, ref="v1"), _record(2, ref="v2"), _record(3, ref="v1"))
    found = load_set(folder).snapshots
    assert {key: [q.question_id for q in own] for key, own in found.items()} == {
        ("r", "v1"): ["q1", "q3"],
        ("r", "v2"): ["q2"],
    }


def test_written_set_reads_back_equal(tmp_path: Path) -> None:
    gold = (GoldSpan("dir/ü.rs", 3, 9), GoldSpan("b.rs", 1, 1))
    questions = (
        Question("q1", "how?\nwhy ü", "r", gold, "tag-1", "rust"),
        Question("q2", "what", "r", gold[1:], "", "rust"),
    )
    manifest = {"repos": [{"repo": "r", "license": "MIT"}]}
    assert write_set(tmp_path / "new", questions, manifest).questions == questions


@pytest.mark.parametrize("file", ["queries.jsonl", "manifest.json", "repos/r.tar.xz"])
def test_hash_notices_a_changed_byte_in_any_file(tmp_path: Path, file: str) -> None:
    folder = _folder(tmp_path, _record(1), manifest={})
    (folder / "repos").mkdir()
    (folder / "repos" / "r.tar.xz").write_bytes(b"123")
    before = load_set(folder).content_hash
    assert load_set(folder).content_hash == before
    with (folder / file).open("ab") as changed:
        changed.write(b"\n")
    assert load_set(folder).content_hash != before


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: an object was expected"),
        ('{"query_id": "q", "repo": "r", "gold": []}', "line 2: query, gold missing or empty"),
        (json.dumps(_record(2, gold=[{"path": "a.py"}])), "line 2: the gold .* needs path, start"),
        (json.dumps(_record(1)), "two questions with the id 'q1'"),
    ],
    ids=["broken", "list", "no-gold", "no-lines", "twice"],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str, words: str) -> None:
    folder = _folder(tmp_path, _record(1))
    with (folder / "queries.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UsageError, match=words):
        load_set(folder)


@pytest.mark.parametrize(
    ("name", "words"),
    [("tinny", "there are: tiny"), ("tiny@x", "give a number above 0"), ("tiny@0", "above 0")],
)
def test_an_unknown_set_or_sample_is_explained(tmp_path: Path, name: str, words: str) -> None:
    _folder(tmp_path, _record(1))
    with pytest.raises(UsageError, match=words):
        open_set(tmp_path, name)


def test_a_folder_without_questions_is_no_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"queries\.jsonl is missing"):
        load_set(tmp_path)
    with pytest.raises(UsageError, match="has no question"):
        load_set(_folder(tmp_path))


def test_a_manifest_that_is_no_object_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"manifest\.json: an object was expected"):
        load_set(_folder(tmp_path, _record(1), manifest=[]))


@pytest.mark.skipif(not _PUBLIC.is_dir(), reason="the public sets are not in ../shared/data/eval")
def test_public_sets_load_with_the_counts_their_readme_gives() -> None:
    counts = {name: len(open_set(_PUBLIC, name).questions) for name in find_sets(_PUBLIC)}
    assert counts == {
        "commit_loc": 215,
        "docstring_nl": 307,
        "repoeval_function": 373,
        "semble_nl": 239,
        "swebench_lite_loc": 30,
    }
