import typing
from itertools import pairwise

import pytest
import tree_sitter_language_pack as pack

from codelake.languages import (
    LANGUAGES,
    detect_language,
    detection,
    grammar,
    language_by_alias,
    parsable,
)

_CPP = b"#pragma once\nnamespace geo {\nclass Shape;\n}\n"
_C = b"#ifndef A_H\nstruct node { int class; };\nint run(struct node *n, int delete);\n#endif\n"
_OBJC = b"#import <Foundation/Foundation.h>\n@interface Item : NSObject\n@end\n"


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/main.py", "python"),
        ("a/b.PY", "python"),
        ("Makefile", "make"),
        ("deploy/Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("go.mod", "gomod"),
        ("notes.txt", ""),
        ("LICENSE", ""),
        ("x.jsx", "javascript"),
        ("x.tsx", "tsx"),
        ("types.d.ts", "typescript"),
        ("x.mts", "typescript"),
        ("x.cc", "cpp"),
        ("x.C", "cpp"),
        ("x.c", "c"),
        ("x.R", "r"),
        ("infra/main.tf", "terraform"),
        ("BUILD.bazel", "starlark"),
        (".bashrc", "bash"),
        (".gitignore", "gitignore"),
        ("book.ipynb", "jupyter"),
        ("x.unknown-suffix", ""),
        ("", ""),
        (".", ""),
        ("..py", "python"),
    ],
)
def test_name_tells_the_language(path: str, language: str) -> None:
    assert detect_language(path) == language


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("run", b"#!/usr/bin/env -S python3.11 -u\n", "python"),
        ("run", b"#!/bin/sh -e\n", "bash"),
        ("run", b"#!/usr/bin/env FOO=1 node\n", "javascript"),
        ("run", b"\xef\xbb\xbf#! /usr/bin/perl\n", "perl"),
        ("run", b"#!/opt/unknown\n", ""),
        ("run", b"#!\n", ""),
        ("run", b"# -*- mode: ruby; tab-width: 2 -*-\n", "ruby"),
        ("run", b"/* -*- C++ -*- */\n", "cpp"),
        ("run", b"text\n# vim: set ft=yaml sw=2:\n", "yaml"),
        ("run", b"<?xml version='1.0'?><a/>", "xml"),
        ("a.h", _CPP, "cpp"),
        ("a.h", _C, "c"),
        ("a.h", _OBJC, "objc"),
        ("a.h", b"// -*- C++ -*-\nint x;\n", "cpp"),
        ("a.h", b'#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n', "c"),
        ("a.m", _OBJC, "objc"),
        ("a.m", b"% Adds.\nfunction c = add(a, b)\n  c = a + b;\nend\n", "matlab"),
        ("de.ts", b'<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS></TS>', "xml"),
        ("a.ts", b"export const a = 1;\n", "typescript"),
        ("a.pl", b"use strict;\nmy $x = 1;\n", "perl"),
        ("a.pl", b":- module(shop, []).\nprice(X) :- item(X).\n", ""),
        ("a.v", b"module counter(input clk);\nendmodule\n", "verilog"),
        ("a.v", b"module main\n\nfn main() {\n}\n", "v"),
        ("a.v", b"Theorem plus : forall n, n = n.\nProof.\nQed.\n", ""),
        ("a.fs", b"#version 330\nvoid main() {}\n", "glsl"),
        ("a.fs", b"module Shop\nlet x = 1\n", "fsharp"),
        ("a.cls", b"\\NeedsTeXFormat{LaTeX2e}\n", "latex"),
    ],
)
def test_content_tells_the_language(path: str, head: bytes, language: str) -> None:
    assert detect_language(path, head) == language


def test_neighbours_decide_where_content_does_not() -> None:
    plain = b"int run(void);\n"
    assert detect_language("a.h", plain, neighbours=["a.cpp", "b.cc", "c.c"]) == "cpp"
    assert detect_language("a.h", plain, neighbours=["a.c", "b.py"]) == "c"
    assert detect_language("a.h", plain) == "c"


def test_overrides_win() -> None:
    overrides = {".sls": "python", "Jenkinsfile": "java", ".in": "make"}
    assert detect_language("top.sls", b"", overrides) == "python"
    assert detect_language("ci/Jenkinsfile", b"", overrides) == "java"
    assert detect_language("Makefile.in", b"", overrides) == "make"
    assert detect_language("a.py", b"", overrides) == "python"


@pytest.mark.parametrize(
    ("alias", "language"),
    [("js", "javascript"), ("C++", "cpp"), ("sh", "bash"), ("rust", "rust"), ("nonsense", "")],
)
def test_alias_names_a_language(alias: str, language: str) -> None:
    assert language_by_alias(alias) == language


def _names(kind: object) -> set[str]:
    if isinstance(kind, str):
        return {kind}
    return {name for part in typing.get_args(kind) for name in _names(part)}


def test_every_grammar_of_the_pack_is_a_language() -> None:
    assert {lang.grammar for lang in LANGUAGES.values()} == _names(pack.SupportedLanguage)


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_grammar_of_every_language_opens(name: str) -> None:
    assert grammar(name) is not None


def test_unknown_language_has_no_grammar() -> None:
    assert grammar("klingon") is None


@pytest.mark.parametrize("key", ["suffixes", "filenames", "interpreters", "aliases"])
def test_nothing_belongs_to_two_languages(key: str) -> None:
    found = sorted(value for lang in LANGUAGES.values() for value in getattr(lang, key))
    assert [a for a, b in pairwise(found) if a == b] == []


def test_macro_before_a_class_name_is_blanked_for_the_parser() -> None:
    text = b"class GEO_API Shape : Base {\n  GEO_API void f();\n};\nclass API;\nclass A B;\0"
    wanted = b"class         Shape : Base {\n          void f();\n};\nclass API;\nclass A B; "
    assert parsable(text, "cpp") == wanted


def test_only_nuls_are_blanked_elsewhere() -> None:
    assert parsable(b"class GEO_API Shape\0", "python") == b"class GEO_API Shape "
    assert parsable(b"a", "klingon") == b"a"


@pytest.mark.parametrize("suffix", ["", *sorted(detection._ambiguities())])
@pytest.mark.parametrize(
    "unit", [b"\n", b"\t\n", b" ", b"function a\n", b"a(\n", b"-*-mode:", b"class a ", b"; "]
)
def test_a_head_made_to_be_read_again_and_again_is_read_once(
    suffix: str, unit: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # at this length a rule that is quadratic takes hours
    monkeypatch.setattr(detection, "_HEAD_BYTES", 1 << 20)
    detect_language(f"x{suffix}", unit * ((1 << 20) // len(unit)))
