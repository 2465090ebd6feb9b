import json

import pytest
import tree_sitter
from hypothesis import given
from hypothesis import strategies as st
from language_samples import samples, symbols_of

from codelake.definitions import (
    KINDS,
    Definition,
    definitions_from_json,
    definitions_to_json,
    find_definitions,
)
from codelake.definitions.parameters import parse_parameters
from codelake.languages import detect_language, grammar, parsable


def _find(text: bytes, language: str) -> list[Definition]:
    tree = tree_sitter.Parser(grammar(language)).parse(parsable(text, language))
    return find_definitions(tree.root_node, text, language)


def _surface(text: str, language: str) -> dict[str, Definition]:
    return {found.qualified_name: found for found in _find(text.encode(), language)}


@pytest.mark.parametrize(
    ("raw", "style", "wanted"),
    [
        ("()", "name:type", []),
        ("(self)", "name:type", [("self", "", "", "positional")]),
        (
            "(a, /, b: dict[str, int] = {}, *args: T, c='x,y', **kw)",
            "name:type",
            [
                ("a", "", "", "positional-only"),
                ("b", "dict[str, int]", "{}", "positional"),
                ("args", "T", "", "variadic"),
                ("c", "", "'x,y'", "keyword-only"),
                ("kw", "", "", "keyword-variadic"),
            ],
        ),
        ("(a, *, b)", "name:type", [("a", "", "", "positional"), ("b", "", "", "keyword-only")]),
        (
            "(private readonly a?: Map<K, V>, ...rest: T[])",
            "name:type",
            [("a", "Map<K, V>", "", "positional"), ("rest", "T[]", "", "variadic")],
        ),
        ("({ id }, f = (x) => x)", "name:type", [("{ id }", "", "", "positional"),
                                                 ("f", "", "(x) => x", "positional")]),
        ("(&mut self, x: &[(u8, u8)])", "name:type", [("self", "", "", "positional"),
                                                      ("x", "&[(u8, u8)]", "", "positional")]),
        ("(a, b int, rest ...T)", "name type", [("a", "int", "", "positional"),
                                                ("b", "int", "", "positional"),
                                                ("rest", "T", "", "variadic")]),
        ("(string, error)", "name type", [("", "string", "", "positional"),
                                          ("", "error", "", "positional")]),
        ("(final Map<K, V> m, int[] ids, String... s)", "type name",
         [("m", "final Map<K, V>", "", "positional"), ("ids", "int[]", "", "positional"),
          ("s", "String", "", "variadic")]),
        ("(int (*fn)(int), const char *s, void)", "type name",
         [("fn", "int (*fn)(int)", "", "positional"), ("s", "const char *", "", "positional"),
          ("", "void", "", "positional")]),
        ("(int a, {bool b = false})", "type name",
         [("a", "int", "", "positional"), ("b", "bool", "false", "positional")]),
        ("(@Ann(1) int a /* note, too */)", "type name", [("a", "int", "", "positional")]),
        ("(a, b=1, *c, &blk)", "name:type", [("a", "", "", "positional"),
                                             ("b", "", "1", "positional"),
                                             ("c", "", "", "variadic"),
                                             ("blk", "", "", "keyword-only")]),
        ("(id, ...)", "name", [("id", "", "", "positional")]),
    ],
)  # fmt: skip
def test_parameters_are_read(raw: str, style: str, wanted: list[tuple[str, str, str, str]]) -> None:
    names = ("name", "type", "default", "kind")
    assert json.loads(parse_parameters(raw, style)) == [
        dict(zip(names, row, strict=True)) for row in wanted
    ]


@given(st.text(max_size=60), st.sampled_from(["name", "name:type", "name type", "type name"]))
def test_any_text_is_a_parameter_list(raw: str, style: str) -> None:
    assert isinstance(json.loads(parse_parameters(raw, style)), list)


@pytest.mark.parametrize(
    ("text", "doc"),
    [
        ("# Doc.\ndef f(): pass", "Doc."),
        ("# One.\n#\n#   two\ndef f(): pass", "One.\n\n  two"),
        ("# Away.\n\ndef f(): pass", ""),
        ("x = 1  # behind code\ndef f(): pass", ""),
        ("# noqa: E501\n# Doc.\ndef f(): pass", "Doc."),
        ("#!/usr/bin/env python\ndef f(): pass", ""),
        ("# Copyright Somebody.\ndef f(): pass", ""),
        ("# -----\n# Doc.\n# -----\ndef f(): pass", "Doc."),
        ("# Above.\ndef f():\n    '''Inside.'''", "Inside."),
        ('def f():\n    r"""One.\n\n      two\n    three\n    """', "One.\n\n  two\nthree"),
        ('def f():\n    """Broken', ""),
        ("# Doc.\n@wraps\n@cache(\n  1)\ndef f(): pass", "Doc."),
    ],
)
def test_documentation_of_python(text: str, doc: str) -> None:
    for ending in ("\n", "\r\n"):
        assert _surface(text.replace("\n", ending), "python")["f"].doc == doc


@pytest.mark.parametrize(
    ("text", "doc"),
    [
        ("/** Doc. */\nvoid f() {}", "Doc."),
        ("/* Doc. */ void f() {}", "Doc."),
        ("int x; /* behind */\nvoid f() {}", ""),
        ("int x; /* be\nhind */\nvoid f() {}", ""),
        ("/*\n * One.\n *   two\n */\nvoid f() {}", "One.\n  two"),
        ("/*\n   One.\n     two\n*/\nvoid f() {}", "One.\n  two"),
        ("/* SPDX-License-Identifier: MIT */\nvoid f() {}", ""),
        ("int a;\n/* Copyright of the doc. */\nvoid f() {}", "Copyright of the doc."),
        ("/* a /* b */\nvoid f() {}", "a /* b"),
        ("*/\nvoid f() {}", ""),
        ("//\nvoid f() {}", ""),
    ],
)
def test_documentation_of_c(text: str, doc: str) -> None:
    assert _surface(text, "c")["f"].doc == doc


def test_attributes_and_comments_before_a_rust_item_are_told_apart() -> None:
    found = _surface("/// Doc.\n#[a]\n#[b(c)]\npub fn f() {}", "rust")["f"]
    assert (found.doc, found.decorators, found.start_byte) == ("Doc.", ("#[a]", "#[b(c)]"), 9)


def test_comment_between_attributes_is_the_documentation() -> None:
    found = _surface("#[a]\n/// Doc.\nfn f() {}", "rust")["f"]
    assert (found.doc, found.decorators) == ("Doc.", ("#[a]",))


def test_generator_and_private_functions_say_so() -> None:
    found = _surface("def _f():\n    yield 1\nasync def __init__(): pass", "python")
    assert found["_f"].modifiers == ("generator", "private")
    assert found["__init__"].modifiers == ("async",)


def test_definitions_in_function_bodies_are_found_in_every_number() -> None:
    for count in (1, 100):
        body = "".join(f"  function f{i}() {{ 'function g() {{}}'; }}\n" for i in range(count))
        found = _surface(f"function outer() {{\n{body}}}", "javascript")
        assert list(found) == ["outer", *(f"outer.f{i}" for i in range(count))]


def test_anonymous_class_in_a_method_has_methods() -> None:
    text = "class A { void m() { run(new X(1) { public void go() { } }); } }"
    assert list(_surface(text, "java")) == ["A", "A.m", "A.m.go"]


def test_language_without_a_query_has_no_definitions() -> None:
    assert _find(b'{"a": 1}', "json") == []


def test_absurdly_long_name_is_no_definition() -> None:
    assert _find(b"def " + b"f" * 600 + b"(): pass", "python") == []


def test_deep_nesting_costs_neither_recursion_nor_memory() -> None:
    depth = 3000
    found = _find(b"class A{" * depth + b"}" * depth, "java")
    assert 0 < len(found) <= 64
    found = _find(b"if(x){" * depth + b"function f(){}" + b"}" * depth, "javascript")
    assert [d.name for d in found] == ["f"]


_SAMPLES = {path.stem: path.read_bytes() for path in samples()}


@st.composite
def _mutilated(draw: st.DrawFn) -> tuple[str, bytes]:
    """Cut, double or overwrite a part of a real sample."""
    language = draw(st.sampled_from(sorted(_SAMPLES)))
    text = _SAMPLES[language]
    a, b = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    middle = draw(
        st.sampled_from([b"", text[a:b] * 2, b"\0", b"\r\n\t", b"((", b'"', "é𝄞".encode()])
    )
    mixed = (text[:a] + middle + text[b:]).decode("utf-8", "ignore")
    return language, mixed.encode()


@given(_mutilated())
def test_laws_hold_for_broken_programs(case: tuple[str, bytes]) -> None:
    language, text = case
    last = -1
    for found in _find(text, language):
        assert found.kind in KINDS
        assert found.name
        assert found.qualified_name.endswith(found.name)
        assert 0 <= found.start_byte <= found.name_byte < found.end_byte <= len(text)
        assert found.start_byte >= last or found.decorators
        last = min(found.start_byte, last) if found.decorators else found.start_byte
        text[found.start_byte : found.end_byte].decode()
        json.loads(found.parameters)


@given(_mutilated())
def test_ids_are_unique_in_a_file(case: tuple[str, bytes]) -> None:
    language, text = case
    ids = [row["symbol_id"] for row in symbols_of(text, language)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("sample", samples(), ids=lambda path: path.stem)
def test_definitions_survive_packing(sample) -> None:  # noqa: ANN001 # a path
    found = _find(sample.read_bytes(), detect_language(sample.name, sample.read_bytes()))
    assert definitions_from_json(definitions_to_json(found)) == found


def test_shifted_definition_keeps_its_length() -> None:
    found = _find(b"def f(): pass", "python")[0]
    moved = found.shifted(10)
    assert (moved.start_byte, moved.end_byte, moved.name_byte) == (10, 23, 14)
    assert not moved.is_container


def test_names_of_one_statement_share_its_text() -> None:
    text = b"var a = function () {}, b = function () {};"
    found = _find(text, "javascript")
    assert [text[d.start_byte : d.end_byte] for d in found] == [
        b"var a = function () {},",
        b"b = function () {};",
    ]


def test_comment_far_before_a_definition_on_one_line_is_not_read() -> None:
    assert _surface("/* Doc. */" + " " * 5000 + "int x; void f() {}", "c")["f"].doc == ""


@pytest.mark.parametrize(
    ("language", "text", "name", "modifiers"),
    [
        ("ruby", "class A\n private\n def x; end\nend", "A.x", ("private",)),
        ("ruby", "class A\n private\n def self.x; end\nend", "A.x", ("self",)),
        ("ruby", "class A\n private\n class << self\n def x; end\n end\nend", "A.x", ()),
        ("ruby", "class A\n private def x; end\n def y; end\nend", "A.x", ("private",)),
        ("ruby", "class A\n private def x; end\n def y; end\nend", "A.y", ()),
        ("ruby", "class A\n class B\n private\n end\n def y; end\nend", "A.y", ()),
        ("cpp", "class A { public: int f() {} private: int g() {} };", "A.f", ("public",)),
        ("cpp", "class A { public: int f() {} private: int g() {} };", "A.g", ("private",)),
        ("cpp", "class A { class B { private: int x; }; int g() {} };", "A.g", ()),
        ("elixir", "defmodule A do\n  defp f(x), do: x\nend", "A.f", ("private",)),
    ],
)
def test_visibility_holds_where_it_is_said(
    language: str, text: str, name: str, modifiers: tuple[str, ...]
) -> None:
    assert _surface(text, language)[name].modifiers == modifiers


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("go", "package p\nconst (\n\tA = iota\n\tB\n)\n", {"A": "A = iota", "B": "B"}),
        ("go", "package p\ntype (\n\tA struct{}\n\tB int\n)\n", {"A": "A", "B": "B int"}),
        ("c", "typedef struct node { int a; } node_t;", {"node": "struct node"}),
        ("swift", "struct V { static func + (a: V, b: V) -> V { a } }",
         {"V.+": "static func + (a: V, b: V) -> V"}),
        ("csharp", "class C { public int this[int i] => 1; ~C() {} }",
         {"C.this": "public int this[int i]", "C.~C": "~C()"}),
        ("ruby", "class A\n attr_reader :a\n memoize def f(x) = x\nend",
         {"A.a": "attr_reader :a", "A.f": "def f(x)"}),
    ],
)  # fmt: skip
def test_each_of_several_in_one_statement_is_a_definition(
    language: str, text: str, names: dict[str, str]
) -> None:
    found = _surface(text, language)
    assert names == {name: found[name].signature for name in names}


@pytest.mark.parametrize(
    ("language", "text", "returns"),
    [
        ("solidity", "contract C { function f() public returns (uint) {} }", "(uint)"),
        ("solidity", "contract C { function f() external payable {} }", ""),
        ("scala", "object C { def f[A](a: A)(implicit b: B): Int = 1 }", "Int"),
        ("objc", "@implementation C\n- (void)f {}\n@end", "void"),
        ("dart", "class C { C.f({required this.x}); }", ""),
        ("swift", "class C { func f() async throws -> Int { 1 } }", "Int"),
    ],
)
def test_return_types(language: str, text: str, returns: str) -> None:
    assert _surface(text, language)["C.f"].returns == returns
