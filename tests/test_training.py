"""The recipe of the token table: what it reads, what it leaves out, and that it learns."""

import io
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from codelake.definitions import Definition
from codelake.parsing import parse_text
from training.archives import read_package
from training.copies import KnownCode, set_files
from training.learning import Recipe, Training
from training.lessons import Lesson, load_lessons, write_lessons
from training.material import Material, like_words
from training.packages import CodeFile, Package, known_code, read_files
from training.pairs import (
    Pair,
    comments,
    doc_question,
    name_question,
    package_pairs,
)
from training.sources import FetchError, PackageSource, fetch, listed
from training.table import Table, add_up, count_matrix, way_back
from training.tuning import ask, make_exam
from training.vocabulary import SIZE, choose_words, count_words
from training.writing import quantize

PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "IJG"),
    *("ISC", "MIT", "MIT-0", "MIT-CMU", "Python-2.0", "Unlicense", "Zlib", "libpng-2.0"),
    *("libtiff", "zlib-acknowledgement"),
}

CODE = '''
def read_settings(path):
    """Read the settings of a file into a table."""
    # a missing file means that nothing was set yet
    with open(path) as file:
        return parse_table(file.read(), strict=True, origin=str(path))


class Retry:
    def wait_before(self, attempt):
        return self.first * 2 ** attempt if attempt < self.most_attempts else None
'''


def code_file(text: str = CODE) -> CodeFile:
    content = text.encode()
    definitions = parse_text(content, "python").definitions
    return CodeFile("app/settings.py", "python", content, tuple(definitions))


def test_every_package_is_permissively_licensed() -> None:
    for source in listed():
        choices = source.licence.strip("()").split(" OR ")
        parts = [set(choice.split(" WITH ")[0].split(" AND ")) for choice in choices]
        assert any(part <= PERMISSIVE for part in parts), source


@pytest.mark.parametrize(
    "name",
    ["flask", "librust-serde-dev", "@reduxjs/redux", "libcommons-lang3-java", "ruby-rails"],
)
def test_a_package_that_is_measured_on_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "sources.csv"
    path.write_text(f"registry,name,version,file,licence,sha256,use\nnpm,{name},1,f,MIT,0,train\n")
    with pytest.raises(FetchError, match=f"{name} is one of .*excluded"):
        listed(path)


def test_each_package_is_listed_once_with_its_hash() -> None:
    sources = listed()
    assert len({source.name for source in sources}) == len(sources)
    assert all(len(source.sha256) == 64 for source in sources)
    assert 10 <= sum(source.is_held_out for source in sources) <= len(sources) // 10


def test_another_file_than_the_listed_one_is_refused(tmp_path: Path) -> None:
    source = PackageSource("pypi", "thing", "1", "thing-1.whl", "MIT", "0" * 64, is_held_out=False)
    (tmp_path / "pypi").mkdir()
    (tmp_path / "pypi" / "thing-1.whl").write_bytes(b"another")
    with pytest.raises(FetchError, match="expected 0000"):
        fetch([source], tmp_path)


def test_a_missing_client_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = PackageSource("npm", "thing", "1", "thing-1.tgz", "MIT", "0" * 64, is_held_out=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match="fetched with npm, which is not installed"):
        fetch([source], tmp_path)


def packed(folder: Path, kind: str, files: dict[str, str]) -> Path:
    path = folder / f"thing.{kind}"
    if kind == "whl":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return path
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    if kind == "tar.xz":
        path.write_bytes(data.getvalue())
        return path
    parts = [("debian-binary", b"2.0\n"), ("data.tar.xz/", data.getvalue())]
    heads = [f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(body):<10}`\n" for name, body in parts]
    bodies = [body + b"\n" * (len(body) % 2) for _, body in parts]
    members = [head.encode() + body for head, body in zip(heads, bodies, strict=True)]
    path.write_bytes(b"!<arch>\n" + b"".join(members))
    return path


@pytest.mark.parametrize("kind", ["whl", "tar.xz", "deb"])
def test_files_come_out_of_every_kind_of_package(tmp_path: Path, kind: str) -> None:
    files = {"thing/a.py": CODE, "thing/README.md": "It reads settings."}
    found = read_package(packed(tmp_path, kind, files))
    assert {file.path: file.content.decode() for file in found} == files


def test_tests_copies_and_foreign_code_are_left_out(tmp_path: Path) -> None:
    more = [f"def another_function_{i}(value):\n    return value * {i}" for i in range(9)]
    longer = CODE + "\n".join(more)
    files = {
        "thing/a.py": longer,
        "thing/copy.py": longer,
        "thing/known.py": "\n".join(f"ANSWER_{i} = 'the answer to {i}'" for i in range(30)),
        "tests/test_a.py": longer,
        "thing/vendor/b.py": longer,
        "thing/README.md": "It reads settings.",
    }
    known = KnownCode()
    known.add_file(files["thing/known.py"] + "\nprint('and one line more')\n")
    package, copies = read_files("thing", packed(tmp_path, "whl", files), known)
    assert len(package.files) == 1
    assert copies == 1
    assert package.prose == ("It reads settings.",)


def test_a_near_copy_is_known_and_another_file_is_not() -> None:
    lines = [f"result_{i} = compute_the_value_of({i}, origin)" for i in range(40)]
    known = KnownCode()
    known.add_file("\n".join(lines))
    changed = [line.upper() if i % 4 == 0 else f"    {line}" for i, line in enumerate(lines)]
    assert known.has_file("\n".join(changed))
    assert not known.has_file("\n".join(line.replace("result", "other") for line in lines))
    assert not known.has_file("too short to tell")


def test_a_known_definition_is_no_pair() -> None:
    package = Package("thing", (code_file(),), ())
    known = KnownCode()
    names = {pair.name for pair in package_pairs(package, known)}
    assert names == {"read_settings", "Retry.wait_before"}
    known.add_definition(CODE.strip().split("\n\n\n")[0].replace("    ", "\t"))
    assert "read_settings" not in {pair.name for pair in package_pairs(package, known)}


def test_the_sets_code_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "repos"
    folder.mkdir()
    packed(folder, "tar.xz", {"thing/a.py": CODE * 3})
    known = known_code(set_files(tmp_path))
    assert known.has_file(CODE * 2)
    assert known.has_definition(CODE.strip().split("\n\n\n")[0])


def test_questions_come_from_docs_comments_names_and_prose() -> None:
    prose = "- `wait_before` now doubles the time between two attempts (#12)\n- Faster start."
    pairs = package_pairs(Package("thing", (code_file(),), (prose,)), KnownCode())
    found = {(pair.kind, pair.question) for pair in pairs if pair.kind != "name"}
    assert found == {
        ("doc", "Read the settings of a file into a table."),
        ("comment", "a missing file means that nothing was set yet"),
        ("prose", "now doubles the time between two attempts"),
    }
    doc = next(pair for pair in pairs if pair.kind == "doc")
    assert "Read the settings" not in doc.code
    comment = next(pair for pair in pairs if pair.kind == "comment")
    assert "nothing was set" not in comment.code
    assert "parse_table" in comment.code


@pytest.mark.parametrize(
    ("doc", "question"),
    [
        ("Send one message.\n\nArgs:\n    text: what is sent.", "Send one message."),
        ("Returns {@link Thing} of the <b>current</b> file.", "Returns Thing of the current file."),
        ("Short.", ""),
        ("x = [1, 2, 3]; y = {4: 5}; z(6, 7, 8)", ""),
    ],
)
def test_doc_comments_become_sentences(doc: str, question: str) -> None:
    assert doc_question(doc) == question


def test_code_that_is_commented_out_is_no_question() -> None:
    body = "int f() {\n  // old = compute(a, b);\n  a();\n  // wait until it is empty\n  g();\n}"
    assert [question for question, _ in comments(body, "c")] == ["wait until it is empty"]


def test_names_become_questions() -> None:
    definition = Definition("method", "openSession", ("SessionStore", "openSession"), 0, 9, 0)
    assert "session store open" in name_question(definition)
    assert not name_question(definition._replace(hierarchy=("f",)))


def test_lessons_come_back_from_a_file(tmp_path: Path) -> None:
    pairs = [Pair("doc", "what it does", "def f(): ...", "a.py", "f")]
    lesson = Lesson("thing", False, pairs, {"does": 2})  # noqa: FBT003 # a record
    write_lessons(tmp_path / "lessons.jsonl", [lesson])
    assert load_lessons(tmp_path / "lessons.jsonl") == [lesson]


def test_the_vocabulary_is_no_larger_than_it_says_and_begins_with_the_commonest() -> None:
    common = count_words(["the asyncReader reads the config of the mutex"])
    words = choose_words([common] * 3 + [count_words(["the rareword"])])
    assert len(words) == len(set(words)) <= SIZE
    assert words[:2] == ["[UNK]", "the"]
    assert {"async", "config", "mutex"} <= set(words)
    assert "rareword" not in words
    assert {"##ing", "a", "##a"} <= set(words)


def test_the_way_back_is_the_slope() -> None:
    draw = np.random.default_rng(3)
    table = Table(
        draw.standard_normal((9, 4)).astype(np.float32),
        draw.standard_normal(9).astype(np.float32),
        np.zeros(9, dtype=np.float32),
    )
    counts = count_matrix([[1, 2, 2, 5], [0, 8]], 9)
    towards = draw.standard_normal((2, 4)).astype(np.float32)

    def value() -> float:
        return float((add_up(table, counts, table.query_log).units * towards).sum())

    added = add_up(table, counts, table.query_log)
    at_vectors, at_weights = way_back(table, added, towards)
    before, step = value(), 1e-3
    for place, token in enumerate(added.tokens):
        table.vectors[token, 1] += step
        assert (value() - before) / step == pytest.approx(at_vectors[place, 1], abs=0.01)
        table.vectors[token, 1] -= step
        table.query_log[token] += step
        assert (value() - before) / step == pytest.approx(at_weights[place], abs=0.01)
        table.query_log[token] -= step


def test_a_table_learns_which_words_mean_the_same() -> None:
    draw = np.random.default_rng(1)
    size, pairs = 40, 64
    rows = draw.integers(0, size // 2, (pairs, 4))
    material = Material(
        questions=count_matrix(rows.tolist(), size),
        codes=count_matrix((rows + size // 2).tolist(), size),
        heads=count_matrix((rows + size // 2).tolist(), size),
        packages=np.repeat([0, 1], pairs // 2),
        definitions=np.arange(pairs),
        like=np.full((size, 2), -1, dtype=np.int32),
    )
    vectors = draw.standard_normal((size, 16)).astype(np.float32)
    table = Table(vectors, np.zeros(size, np.float32), np.zeros(size, np.float32))
    recipe = Recipe(batch=32, group=16, vector_rate=0.05, joined=0, replaced=0)
    training = Training(table, material, recipe, draw)
    losses = [training.epoch(1, 1) for _ in range(30)]
    assert losses[-1] < losses[0] / 3


def test_words_of_like_meaning_stand_for_each_other() -> None:
    vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [-1, -1], [-1, 1]], np.float32)
    like = like_words(vectors, np.array([True] * 6))
    assert 1 in like[0]
    assert 2 not in like[0]
    assert set(like[4]) == {-1}


def test_an_exam_asks_about_each_definition_once() -> None:
    pairs = [
        Pair("doc", "what f does", "f code", "a.py", "f"),
        Pair("comment", "inside f", "f code less", "a.py", "f"),
        Pair("name", "how g works", "g code", "a.py", "g"),
    ]
    exam = make_exam(Lesson("thing", True, pairs, {}))  # noqa: FBT003 # a record
    assert exam.questions == {"doc": ["what f does"], "comment": [], "name": ["how g works"]}
    vectors = {"f code": [1.0, 0.0], "g code": [0.0, 1.0]}
    vectors |= {"what f does": [0.9, 0.1], "how g works": [1.0, 0.0]}

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([vectors[text] for text in texts], np.float32).reshape(-1, 2)

    ranks = ask([exam], embed, embed)
    assert ranks["doc"].tolist() == [1.0]
    assert ranks["name"].tolist() == [0.5]


def test_rows_keep_their_direction_in_eight_bits() -> None:
    rows = np.random.default_rng(3).standard_normal((20, 64)).astype(np.float32)
    table, scale = quantize(rows)
    back = table.astype(np.float32) * scale[:, None]
    cosines = (back * rows).sum(1) / np.linalg.norm(back, axis=1) / np.linalg.norm(rows, axis=1)
    assert cosines.min() > 0.999
