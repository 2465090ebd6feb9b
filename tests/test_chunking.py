import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.chunking import CHUNKERS, Options, Source, chunk, describe, lay_out
from codelake.errors import UsageError
from codelake.parsing import parse_text
from tests.laws import assert_laws
from tests.strategies import budgets, line_ends, texts

# Grammars of every shape that return on any input; the pool's test asks all the others.
_WANTED = ("imports", "class_definition", "function")
LANGUAGES = ("python", "typescript", "go", "rust", "java", "c", "ruby", "bash", "markdown", "vue")


@pytest.mark.parametrize("language", [*LANGUAGES, "json", "yaml", "html", "svelte", ""])
@given(text=texts, line_end=line_ends, budget=budgets)
def test_nothing_is_lost_doubled_or_too_big(
    language: str, text: str, line_end: str, budget: int
) -> None:
    data = text.replace("\n", line_end).encode()
    assert_laws(data, chunk(data, language, "cast", budget), budget)


@pytest.mark.parametrize("chunker", ["ast", "symbol"])
@given(text=texts, language=st.sampled_from(LANGUAGES))
def test_arms_without_a_limit_lose_nothing(chunker: str, text: str, language: str) -> None:
    data = text.encode()
    assert_laws(data, chunk(data, language, chunker), None)


@given(text=texts, budget=budgets)
def test_fixed_chunks_have_so_many_characters(text: str, budget: int) -> None:
    chunks = chunk(text.encode(), "", "fixed", budget)
    assert_laws(text.encode(), chunks, budget)
    assert all(len(c.text) <= budget + 80 for c in chunks)  # indentation is given back


def _cut(text: str, language: str, chunker: str, **options: int) -> list[str]:
    data = text.encode()
    parsed = parse_text(data, language)
    source = Source(data, language, parsed.tree, parsed.definitions)
    layout = lay_out(source, parsed, CHUNKERS[chunker], Options(**options))
    return [c.text for c in describe(data, language, layout, parsed.definitions)]


def test_fixed_overlap_repeats_the_end() -> None:
    assert _cut("abcdefgh", "", "fixed", budget=4, overlap=2) == ["abcd", "cdef", "efgh"]


def test_fixed_lines_overlap_by_lines() -> None:
    found = _cut("a\nb\nc\nd\n", "", "fixed", budget=99, lines=2, overlap=1)
    assert found == ["a\nb", "b\nc", "c\nd"]


def test_unknown_chunker_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'casst'; choose from cast, ast, fixed, symbol"):
        chunk(b"x", "python", "casst")


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_without_room_is_refused(budget: int) -> None:
    with pytest.raises(UsageError, match="no room"):
        chunk(b"x = 1", "python", budget=budget)


def test_text_that_is_not_utf8_is_told_with_its_place() -> None:
    with pytest.raises(UsageError, match=r"not UTF-8 at byte 2; .*decode"):
        chunk(b"# \xa9 1999\nx = 1\n", "python")


@pytest.mark.parametrize(
    ("language", "text", "whole"),
    [
        ("python", "x = 1\n\n# Doc.\n@cached\ndef f():\n    return 1\n", "# Doc.\n@cached\ndef"),
        ("rust", "struct A;\n\n/// Doc.\n#[inline]\nfn f() {}\n", "/// Doc.\n#[inline]\nfn f"),
        ("javascript", "let a = 1;\n\n/** Doc. */\nfunction f() {}\n", "/** Doc. */\nfunction f"),
    ],
)  # fmt: skip
def test_comments_and_decorators_stay_with_what_follows(
    language: str, text: str, whole: str
) -> None:
    for budget in range(30, 45):
        assert any(whole in c.text for c in chunk(text.encode(), language, "cast", budget)), budget


def test_trailing_comment_stays_with_its_line() -> None:
    text = b"first = 1  # of a series\nsecond = 2222222222222222\n"
    assert [c.text for c in chunk(text, "python", "cast", 30)] == [
        "first = 1  # of a series",
        "second = 2222222222222222",
    ]


def test_leaf_over_the_budget_is_cut_at_line_ends_then_words() -> None:
    text = b'"""' + b"\n".join(b"row %03d" % i for i in range(40)) + b'"""\n'
    assert all("row" in c.text[:6] for c in chunk(text, "python", "cast", 60)[1:])
    words = b"# " + b" ".join(b"word%03d" % i for i in range(40))
    assert all(len(w) in {1, 7} for c in chunk(words, "python", "cast", 60) for w in c.text.split())


def test_code_points_are_never_cut() -> None:
    assert {len(c.text) for c in chunk("語".encode() * 100, "", "cast", 16)} == {16, 4}


def test_chunks_say_what_they_are_and_where() -> None:
    members = "".join(f"    def m{i}(self):\n        return {i}\n\n" for i in range(8))
    text = (
        f"import os\nimport sys\n\n\nclass A:\n    '''Doc.'''\n\n{members}\n\ndef f():\n    pass\n"
    )
    found = chunk(text.encode(), "python", "cast", 50)
    assert [(c.kind, c.scope) for c in found if c.kind in _WANTED] == [
        ("imports", ""),
        ("class_definition", "A"),
        ("function", "f"),
    ]
    assert [c.name for c in found if c.kind == "function"] == ["f"]
    assert sorted(s for c in found for s in c.symbols) == [f"A.m{i}" for i in range(8)] + ["f"]
    assert {c.partial_symbols for c in found if c.scope == "A"} == {("A",)}


_SHELL = "set -e\nNAME=a\n\nf() {\n  echo hello world\n}\n\nf one two three four\n"
_GO = """package a

import "fmt"

type T struct {
\tA int
}

func (t T) M() {
\tfmt.Println(1)
}

func F() {
}
"""


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        ("bash", _SHELL, ["setup", "function", "script"]),
        ("go", _GO, ["imports", "struct", "method", "function"]),
        ("ruby", "require 'set'\n\nclass A\n  def m\n    1\n  end\nend\n", ["imports", "class"]),
    ],
)  # fmt: skip
def test_kinds_of_the_hierarchical_scheme(language: str, text: str, kinds: list[str]) -> None:
    found = [c.kind for c in chunk(text.encode(), language, "symbol")]
    assert [kind for kind in found if kind in kinds] == kinds


def test_symbol_rows_hold_each_text_once() -> None:
    text = (
        b"import os\n\nclass A:\n    x = 1\n\n    def m(self):\n        pass\n\n\nif A:\n    A()\n"
    )
    found = chunk(text, "python", "symbol")
    assert [(c.kind, c.scope) for c in found] == [
        ("imports", ""),
        ("class_definition", "A"),
        ("method", "A.m"),
        ("module", ""),
    ]


def test_data_chunks_name_their_keys() -> None:
    data = json.dumps({f"key{i}": {"a": i, "b": "x" * 20} for i in range(6)}, indent=1).encode()
    found = chunk(data, "json", "cast", 100)
    assert sorted({k for c in found for k in (*c.symbols, *c.partial_symbols)}) == [
        f"key{i}" for i in range(6)
    ]
    assert {c.kind for c in found} == {"data"}


def test_error_is_told_of_the_chunk_that_has_it() -> None:
    text = b"def a():\n    return 1\n\n\nif x = 1 then:\n    y\n\n\ndef c():\n    return 3\n"
    assert [c.has_error for c in chunk(text, "python", "cast", 20)].count(True) in {1, 2}
    assert not chunk(text, "python", "cast", 20)[-1].has_error


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", b"x = " + b"[" * 20_000 + b"1" + b"]" * 20_000),
        ("json", b"[" * 20_000 + b"]" * 20_000),
        ("python", b"x = " + b"a + " * 20_000 + b"b"),
        ("python", b"# line of a comment\n" * 5_000 + b"def f(): pass\n"),
        ("javascript", b";".join(b"function a%d(){}" % i for i in range(3_000))),
    ],
    ids=["brackets", "json", "chain", "comments", "one line"],
)
def test_deep_and_wide_trees_are_cut(language: str, text: bytes) -> None:
    found = chunk(text, language, "cast", 400)
    assert_laws(text, found, 400)
    assert len(found) <= 2 + 2 * len(b"".join(text.split())) // 400


@given(text=texts, language=st.sampled_from(LANGUAGES))
def test_same_text_same_chunks(text: str, language: str) -> None:
    assert chunk(text.encode(), language) == chunk(text.encode(), language)


@pytest.mark.parametrize(
    ("token", "language"), [("}", "javascript"), ("end\n", "ruby"), (") ", "python"), ("};", "cpp")]
)
def test_thousands_of_closing_tokens_are_cut_into_full_pieces(token: str, language: str) -> None:
    text = (token * 20_000).encode()
    chunks = chunk(text, language)
    size = len(token.strip()) * 20_000
    assert sum(part.nws for part in chunks) == size
    assert max(part.nws for part in chunks) <= 1200
    assert len(chunks) < 2 * size / 1200
