import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.chunking.batches import chunk_batch
from codelake.chunking.layout import Layout, pack_layout, unpack_layout
from codelake.definitions import definitions_from_json
from codelake.languages import LANGUAGES, grammar
from codelake.languages.roles import Role, roles_of
from codelake.schemas import CHUNKS, SYNTAX
from codelake.settings import build_settings
from codelake.syntax import File, ParseOptions, parse_file, syntax_batch
from tests.laws import assert_row_laws, file_batch
from tests.strategies import budgets, encodings, line_ends, texts

_OPTIONS = ParseOptions("cast", 1200, 0, is_masking=False)


def _rows(files: list[tuple[str, str, bytes]], **chunking: object) -> tuple[pa.Table, pa.Table]:
    settings = build_settings({"chunking": chunking})
    syntax = syntax_batch(file_batch(files), settings)
    SYNTAX.check(syntax)
    chunks = chunk_batch(syntax, settings)
    CHUNKS.check(chunks)
    return syntax, chunks


def _definitions(language: str, content: bytes) -> list[tuple[str, int]]:
    parsed = parse_file(File(content, "file", language), _OPTIONS)
    lines = parsed.text
    return [
        (d.qualified_name, 1 + lines[: d.start_byte].count(b"\n"))
        for d in definitions_from_json(parsed.definitions)
    ]


@given(
    text=texts,
    encoding=encodings,
    line_end=line_ends,
    budget=budgets,
    language=st.sampled_from(["python", "typescript", "vue", "markdown", "json", ""]),
)
def test_stored_offsets_are_the_files_own(
    text: str, encoding: str, line_end: str, budget: int, language: str
) -> None:
    raw = text.replace("\n", line_end).encode(encoding, "replace")
    syntax, chunks = _rows([("a", language, raw)], budget=budget)
    assert_row_laws(raw, syntax.to_pylist()[0], chunks.to_pylist())


@pytest.mark.parametrize("name", sorted(set(LANGUAGES) - {"cobol"}))
def test_every_grammar_has_roles(name: str) -> None:
    assert grammar(name) is None or set(roles_of(name).by_kind.values()) <= set(Role)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("vue", b'<template/>\n<script lang="ts">\nfunction f(): void {}\n</script>\n', ("f", 3)),
        ("svelte", b"<p/>\n<script>\nfunction f() {}\n</script>\n", ("f", 3)),
        ("html", b'<p/>\n<script type="module">\nfunction f() {}\n</script>\n', ("f", 3)),
        ("markdown", b"# T\n\n```python\ndef f():\n    pass\n```\n", ("f", 4)),
        ("php", b"<p>a</p>\n<?php\nfunction f() {}\n?>\n<b/>\n", ("f", 3)),
        ("embeddedtemplate", b"<p>\n<% def f() %>\n<b/>\n<% end %>\n</p>\n", ("f", 2)),
        ("php", b"<p/>\n<script>\nfunction f() { return <?= $x ?>; }\n</script>\n", ("f", 3)),
        ("php", b"<?php if (1) { ?>\n<script>\nfunction f() {}\n</script>\n<?php } ?>", ("f", 3)),
        ("embeddedtemplate", b"<script>\na(<%= x %>);\nfunction f() {}\n</script>", ("f", 3)),
        ("markdown", b"# T\n\n```html\n<script>\nfunction f() {}\n</script>\n```\n", ("f", 5)),
    ],
    ids=[
        "vue", "svelte", "html", "markdown", "php", "erb", "php script", "script between php",
        "erb script", "script in fence",
    ],
)  # fmt: skip
def test_embedded_code_is_found_on_the_files_lines(
    language: str, text: bytes, found: tuple[str, int], mark: bytes, line_end: bytes
) -> None:
    assert found in _definitions(language, mark + text.replace(b"\n", line_end))


def test_notebook_cells_are_numbered_and_their_code_found_in_the_file() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import os\n"]},
        {"cell_type": "code", "source": 'def f():\n    return "é\\t"\n'},
    ]
    book = {"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4}
    content = json.dumps(book, indent=1).encode()
    at = 1 + content[: content.index(b"def f")].count(b"\n")
    assert ("f", at) in _definitions("jupyter", content)
    _, chunks = _rows([("a.ipynb", "jupyter", content)], budget=60)
    scopes = [row["scope"] for row in chunks.to_pylist()]
    assert {"cell 1", "cell 2"} <= set(scopes)
    assert any("f" in row["symbols"] for row in chunks.to_pylist())


def test_embedded_chunk_has_the_inner_language() -> None:
    script = b"".join(b"function f%d() { return %d }\n" % (i, i) for i in range(20))
    page = b"<template><p/></template>\n<script>\n" + script + b"</script>\n"
    _, chunks = _rows([("a.vue", "vue", page)], budget=100)
    assert {"javascript", "vue"} >= set(chunks.column("language").to_pylist()) > {"vue"}


def test_empty_and_binary_files_are_rows_with_a_reason() -> None:
    files = [("a.py", "python", b" \n"), ("b.py", "python", bytes(64)), ("c", "", b"text")]
    syntax, chunks = _rows(files)
    assert syntax.column("skip_reason").to_pylist() == ["empty", "binary", ""]
    assert syntax.column("parse_reason").to_pylist() == ["", "", "plain-text"]
    assert chunks.column("path").to_pylist() == ["c"]


def test_partial_parse_says_where_the_first_error_is() -> None:
    syntax, _ = _rows([("a.py", "python", b"x = 1\n\nif x = 1 then:\n    y\n")])
    row = syntax.to_pylist()[0]
    assert (row["parse_status"], row["parse_reason"]) == ("partial", "syntax-error")
    assert row["first_error_line"] == 3


def test_secrets_are_masked_where_they_stand() -> None:
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ456789"
    content = f'name = "größe"\nTOKEN = "{token}"\n'.encode()
    syntax, chunks = _rows([("a.py", "python", content)])
    row = chunks.to_pylist()[0]
    assert token not in row["text"]
    assert (row["start_byte"], row["end_byte"]) == (0, len(content) - 1)
    assert syntax.column("redactions").to_pylist() == [["github-token"]] or syntax.num_rows


@pytest.mark.parametrize(
    ("header", "first"), [("none", "x = 1"), ("scope", "x = 1"), ("path", "# a.py")]
)
def test_header_stands_in_front_of_what_is_embedded(header: str, first: str) -> None:
    _, chunks = _rows([("a.py", "python", b"x = 1\n")], header=header)
    row = chunks.to_pylist()[0]
    assert row["embedded_text"].splitlines()[0] == first
    assert row["text"] == "x = 1"
    assert (row["text_hash"] == row["content_hash"]) == (header != "path")


def test_line_ends_change_no_text_hash() -> None:
    text = b"def f():\n    return 1\n"
    files = [("a", "python", text), ("b", "python", text.replace(b"\n", b"\r\n"))]
    _, chunks = _rows(files)
    assert len(set(chunks.column("text_hash").to_pylist())) == 1


def test_equal_bodies_of_a_file_have_ids_of_their_own() -> None:
    _, chunks = _rows([("a.js", "javascript", b"a(1234567890);\n" * 20)], budget=16)
    ids = chunks.column("chunk_id").to_pylist()
    assert len(set(ids)) == len(ids) == 20
    assert len(set(chunks.column("text_hash").to_pylist())) == 1


def test_layout_of_no_bytes_is_empty() -> None:
    assert unpack_layout(b"") == Layout([])
    assert unpack_layout(pack_layout(Layout([]))) == Layout([])
