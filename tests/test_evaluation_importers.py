"""Importers and generators: small originals in, sets in our layout out."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from codelake.errors import UsageError
from evaluation import generators, importers
from evaluation.diffs import changed_lines
from evaluation.generators import commits_set, docs_set
from evaluation.importers import import_set
from evaluation.retrieval_sets import GoldSpan, RetrievalSet, load_set
from evaluation.snapshots import SourceFile, read_archive, read_snapshots, write_archive

_PATCH = """\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,4 +1,4 @@
 one
-two
+TWO
 three
 four
@@ -10,2 +10,3 @@ def f():
 ten
+new
 eleven
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+fresh
"""


def _write(path: Path, *records: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def _files(found: RetrievalSet) -> dict[str, dict[str, bytes]]:
    return {
        f"{snapshot.repository} {snapshot.ref}".strip(): {f.path: f.content for f in snapshot.files}
        for snapshot in read_snapshots(found)
    }


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _commit(folder: Path, message: str, **files: str) -> str:
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, "utf-8")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", message)
    return _git(folder, "rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "octo__cat"
    folder.mkdir(parents=True)
    _git(folder, "init", "-q")
    return folder


def test_diff_gives_changed_lines_and_neighbours_of_insertions() -> None:
    assert changed_lines(_PATCH) == (GoldSpan("a.py", 2, 2), GoldSpan("a.py", 10, 11))


def test_diff_without_context_gives_the_same_lines() -> None:
    patch = "--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-two\n+TWO\n@@ -10,0 +11 @@\n+new\n"
    assert changed_lines(patch) == (GoldSpan("a.py", 2, 2), GoldSpan("a.py", 10, 11))


def test_removed_line_that_looks_like_a_file_name_is_a_line() -> None:
    patch = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1 @@\n--- a comment\n select\n"
    assert changed_lines(patch) == (GoldSpan("q.sql", 1, 1),)


def test_archive_keeps_odd_names_and_is_the_same_each_time(tmp_path: Path) -> None:
    files = [SourceFile("b/ü.py", b"1\r\n"), SourceFile("a\U0010ffe9.py", b"\xff")]
    for name in ("one", "two"):
        write_archive(tmp_path / name / "r.tar.xz", files)
    packed = [(tmp_path / name / "r.tar.xz") for name in ("one", "two")]
    assert packed[0].read_bytes() == packed[1].read_bytes()
    assert read_archive(packed[0]) == sorted(files, key=lambda file: file.path)


def test_repoeval_task_becomes_question_and_context_span(tmp_path: Path) -> None:
    source = tmp_path / "source"
    facts = {
        "task_id": "r/0",
        "fpath_tuple": ["r", "pkg", "m.py"],
        "context_start_lineno": 0,
        "line_no": 2,
    }
    _write(source / "tasks.jsonl", {"prompt": "def f():", "metadata": facts})
    (source / "r" / "pkg").mkdir(parents=True)
    (source / "r" / "pkg" / "m.py").write_text("a\nb\nc\n")
    (source / "r" / "README.md").write_text("left out by include")
    found = import_set("repoeval", source, tmp_path / "set", licence="MIT")
    question = found.questions[0]
    assert (question.question_id, question.text, question.repository) == ("r/0", "def f():", "r")
    assert question.gold == (GoldSpan("pkg/m.py", 1, 3),)
    assert _files(found) == {"r": {"pkg/m.py": b"a\nb\nc\n"}}
    assert found.licences == {"r": "MIT"}


def test_beir_documents_become_files_and_judged_ones_gold(tmp_path: Path) -> None:
    source = tmp_path / "nano"
    _write(
        source / "corpus.jsonl",
        {"_id": "d/1", "title": "T", "text": "x\ny"},
        {"_id": "d/2", "title": "", "text": "z"},
    )
    _write(source / "queries.jsonl", {"_id": "q1", "text": "why"}, {"_id": "q2", "text": "unused"})
    (source / "qrels").mkdir()
    (source / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td/1\t1\nq1\td/2\t0\nq1\tgone\t1\n"
    )
    found = import_set("beir", source, tmp_path / "set")
    assert _files(found) == {"nano": {"000000-d_1.txt": b"T\nx\ny", "000001-d_2.txt": b"z"}}
    assert [(q.text, q.gold) for q in found.questions] == [
        ("why", (GoldSpan("000000-d_1.txt", 1, 3),))
    ]


def test_codesearchnet_doc_string_is_asked_and_not_in_the_code(tmp_path: Path) -> None:
    source = tmp_path / "csn"
    shared = {"repo": "o/r", "path": "m.py", "language": "python", "docstring": "Add numbers."}
    _write(
        source / "test.jsonl",
        {**shared, "func_name": "f", "code": 'def f():\n    """Add numbers."""\n    return 1'},
        {**shared, "func_name": "g", "code": "def g():\n    return 2"},
        {**shared, "func_name": "h", "code": "def h(): pass", "docstring": ""},
    )
    found = import_set("codesearchnet", source, tmp_path / "set")
    assert [(q.text, [g.path for g in q.gold]) for q in found.questions] == [
        ("Add numbers.", ["000000-f.py", "000001-g.py"])
    ]
    contents = b"".join(_files(found)["o_r"].values())
    assert b"Add numbers" not in contents
    assert b"def h" in contents


def test_swebench_instance_has_a_snapshot_of_its_base_commit(tmp_path: Path, clone: Path) -> None:
    first = _commit(clone, "one", a__py="one\ntwo\n")
    _commit(clone, "two", a__py="later\n")
    patch = "--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-two\n+TWO\n"
    _write(
        clone.parent / "lite.jsonl",
        {
            "instance_id": "octo__cat-1",
            "repo": "octo/cat",
            "base_commit": first,
            "problem_statement": "two is wrong",
            "patch": patch,
        },
    )
    found = import_set("swebench", clone.parent, tmp_path / "set")
    assert found.questions[0].gold == (GoldSpan("a.py", 2, 2),)
    assert found.questions[0].language == "python"
    assert _files(found) == {"octo/cat octo__cat-1": {"a.py": b"one\ntwo\n"}}


@pytest.mark.parametrize(
    ("name", "words"),
    [("beer", "choose from repoeval, beir"), ("swebench", "no .* in"), ("beir", "is missing")],
)
def test_a_wrong_format_or_folder_is_explained(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        import_set(name, tmp_path, tmp_path / "set")


@pytest.mark.parametrize(
    ("main", "words", "said"),
    [
        (generators.main, ["docs"], "required: repository"),
        (generators.main, ["docs", "gone", "set"], "gone"),
        (importers.main, ["beer", "gone", "set"], "invalid choice: 'beer'"),
        (importers.main, ["beir", "gone", "set"], "is missing"),
    ],
)
def test_wrong_usage_in_a_shell_is_explained(
    main: Callable[[list[str]], None],
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert said in capsys.readouterr().err


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    _write(tmp_path / "source" / "x.jsonl", {"docstring": "no code here"})
    with pytest.raises(UsageError, match="'code' is missing"):
        import_set("codesearchnet", tmp_path / "source", tmp_path / "set")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("repoeval", "{", r"x\.jsonl, line 1: not JSON"),
        ("codesearchnet", "[1]", r"x\.jsonl, line 1: an object was expected"),
        ("repoeval", '{"metadata": []}', "is not in the format 'repoeval'"),
        ("codesearchnet", '{"docstring": 3, "code": ""}', "is not in the format 'codesearchnet'"),
        ("codesearchnet", '{"docstring": "", "code": "f()"}', "has no question"),
    ],
)
def test_what_cannot_be_read_is_explained_and_leaves_nothing(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "x.jsonl").write_text(text + "\n", "utf-8")
    with pytest.raises(UsageError, match=words):
        import_set(name, tmp_path / "source", tmp_path / "made" / "set")
    assert list((tmp_path / "made").iterdir()) == []


def test_a_base_commit_that_is_not_there_is_named(tmp_path: Path, clone: Path) -> None:
    instance = {"instance_id": "octo__cat-1", "repo": "octo/cat", "base_commit": "0" * 40}
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-one\n+two\n"
    _commit(clone, "Begin", a__py="one\n")
    _write(clone.parent / "t.jsonl", {**instance, "problem_statement": "x", "patch": patch})
    with pytest.raises(UsageError, match=r"octo__cat.* lacks the commit '0{40}' of 'octo__cat-1'"):
        import_set("swebench", clone.parent, tmp_path / "set")


def test_the_licence_that_is_given_stands_in_the_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path / "source" / "x.jsonl", {"docstring": "Add one.", "code": "def f(): ..."})
    made = [str(tmp_path / "source"), str(tmp_path / "set"), "--licence", "MIT"]
    importers.main(["codesearchnet", *made])
    assert capsys.readouterr().out == "set: 1 questions\n"
    assert load_set(tmp_path / "set").licences == {"source": "MIT"}


def test_a_clone_that_gives_no_question_is_told(tmp_path: Path, clone: Path) -> None:
    head = _commit(clone, "Begin", a__py="one = 1\n")
    with pytest.raises(UsageError, match="makes a question"):
        docs_set(clone, tmp_path / "set")
    with pytest.raises(UsageError, match="give a later commit"):
        commits_set(clone, tmp_path / "set", head)
    assert not (tmp_path / "set").exists()


def test_a_destination_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine").write_text("keep")
    with pytest.raises(UsageError, match="not empty"):
        import_set("beir", tmp_path, tmp_path / "set")


_PYTHON = '''\
import os


def area(width, height):
    """Multiply both sides of a rectangle.

    More about it.
    """
    return width * height


# Opens every door that is closed.
def unlock():
    return True


def named():
    """Call named with all of its arguments."""
    return 1
'''

_GO = """\
package p

// Sum adds up all the given numbers.
// It never fails.
func Sum(a ...int) int {
\treturn 0 // of course
}
"""


def test_doc_comments_become_questions_and_leave_the_code(tmp_path: Path, clone: Path) -> None:
    _commit(clone, "all", a__py=_PYTHON, b__go=_GO, test_a__py=_PYTHON)
    found = docs_set(clone, tmp_path / "set", licence="MIT")
    files = {f.path: f.content.decode() for s in read_snapshots(found) for f in s.files}
    asked = {
        q.text: "\n".join(files[g.path].split("\n")[g.start_line - 1 : g.end_line])
        for q in found.questions
        for g in q.gold
    }
    # Tests stay whole in the corpus and answer nothing, so their copies drop two questions.
    assert asked == {
        "adds up all the given numbers. It never fails.": (
            "func Sum(a ...int) int {\n\treturn 0 // of course\n}"
        )
    }
    assert files["test_a.py"] == _PYTHON
    assert "rectangle" not in files["a.py"]
    assert "door" not in files["a.py"]
    assert files["b.go"] == _GO.replace("// Sum adds up all the given numbers.\n", "").replace(
        "// It never fails.\n", ""
    )


def test_python_docs_point_at_their_functions_after_the_cut(tmp_path: Path, clone: Path) -> None:
    _commit(clone, "all", a__py=_PYTHON)
    found = docs_set(clone, tmp_path / "set")
    text = _files(found)["octo__cat"]["a.py"].decode().split("\n")
    asked = {q.text: text[q.gold[0].start_line - 1 : q.gold[0].end_line] for q in found.questions}
    assert asked == {
        "Multiply both sides of a rectangle.": [
            "def area(width, height):",
            "    return width * height",
        ],
        "Opens every door that is closed.": ["def unlock():", "    return True"],
    }


def test_commit_message_asks_for_the_functions_it_changed(tmp_path: Path, clone: Path) -> None:
    one, two = "def one():\n    return 1\n", "def two():\n    return 2\n"
    base = _commit(clone, "start", a__py=f"{one}\n\n{two}")
    _commit(clone, "Make two return three at last (#7)\n\nSigned-off-by: A", a__py=one + "\n\n")
    changed = two.replace("2", "3")
    _commit(clone, "Bring back the second function now", a__py=f"{one}\n\n{changed}")
    _commit(clone, "Change what is not in base", a__py=f"{one}\n\n{changed.replace('3', '4')}")
    found = commits_set(clone, tmp_path / "set", base)
    assert [(q.text, q.gold) for q in found.questions] == [
        ("Make two return three at last", (GoldSpan("a.py", 5, 6),))
    ]
    assert _files(found)["octo__cat"]["a.py"].decode() == f"{one}\n\n{two}"


def test_commits_need_a_full_commit_name(tmp_path: Path, clone: Path) -> None:
    _commit(clone, "start", a__py="x = 1\n")
    with pytest.raises(UsageError, match="full commit name"):
        commits_set(clone, tmp_path / "set", "HEAD~1")


def test_missing_archive_and_ref_are_named(tmp_path: Path, clone: Path) -> None:
    found = docs_set_of_two_lines(tmp_path, clone)
    (found.folder / "repos" / "octo__cat.tar.xz").unlink()
    with pytest.raises(UsageError, match=r"neither octo__cat\.tar\.xz nor"):
        list(read_snapshots(found))


def docs_set_of_two_lines(tmp_path: Path, clone: Path) -> RetrievalSet:
    _commit(clone, "all", b__go=_GO)
    return docs_set(clone, tmp_path / "set")
