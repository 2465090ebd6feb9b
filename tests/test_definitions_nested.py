"""Definitions inside function bodies: found by their keywords, in whichever way costs less."""

import pytest
import tree_sitter
from hypothesis import given
from hypothesis import strategies as st

from codelake.definitions import find_definitions, finding
from codelake.languages import grammar

_PIECES = (
    "function a() { return 1 }",
    "class B { c() { return 2 } }",
    "let d = e => 1;",
    "let g = '; function h() {}';",
    "let i = function j() {}, k = `class L {}`, m = n => n;",
    "// function o() {}\n",
    "if (p) { function q() { class R {} } }",
    "s(function () { function t() {} });",
    "(function() {{{ class U { v() { function w() {} } } }}})();",
    ";",
)


def _names(text: str, language: str = "javascript") -> list[str]:
    tree = tree_sitter.Parser(grammar(language)).parse(text.encode())
    return [f.qualified_name for f in find_definitions(tree.root_node, text.encode(), language)]


@given(st.lists(st.sampled_from(_PIECES), max_size=8), st.integers(0, 400))
def test_both_ways_find_the_same(pieces: list[str], padding: int) -> None:
    text = f"function f() {{ {' '.join(pieces)} {' ' * padding}}}"
    found = []
    for level_bytes in (0, 10**9):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(finding, "_LEVEL_BYTES", level_bytes)
            found.append(_names(text))
    assert found[0] == found[1]


def test_words_of_strings_and_comments_define_nothing() -> None:
    text = "function f(){let v1='; function v2(){}',v3=e=>1; /* class V4 {} */ function v5(){}}"
    for padding in ("", " " * 100):
        assert _names(f"{text[:-1]}{padding}}}") == ["f", "f.v5"]


def test_many_deep_definitions_are_all_found() -> None:
    depth, count = 20_000, 500
    inner = "".join(f"function a{number}(){{}}" for number in range(count))
    text = f"function f(){{{'{' * depth}{inner}{'}' * depth}{' ' * 30_000}}}"
    assert _names(text) == ["f", *(f"f.a{number}" for number in range(count))]


@pytest.mark.parametrize(
    "inner",
    ["g() { :; }", "g(){ :; }", "g() ( : )", "g()\n{ :; }", "g () { :; }", "function g { :; }"],
)
def test_a_function_in_a_shell_function_is_found_however_it_is_written(inner: str) -> None:
    for padding in ("", "echo a; " * 100):
        text = f"f() {{ a=(); echo 'h() {{'; {inner}; {padding}}}"
        assert _names(text, "bash") == ["f", "f.g"]


def test_definitions_of_growing_depth_are_named_as_deep_as_names_go() -> None:
    count = 60_000
    found = _names(f"function f(){{{'function a(){' * count}{'}' * count}}}")
    assert found == [".".join(["f", *["a"] * depth]) for depth in range(64)]


def test_many_keywords_below_many_operators_are_looked_at() -> None:
    text = f"function f(){{ x = {' + '.join(['(class a {})'] * 4_000)}; class b {{}} }}"
    assert _names(text) == ["f", "f.b"]
