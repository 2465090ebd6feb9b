"""The reproduction cases about symbols: 01-08, 11, 12 and 14 of ../shared/cases."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from language_samples import symbols_of

from codelake.encodings import decode
from codelake.languages import detect_language
from codelake.schemas import FILES, SYMBOLS
from codelake.settings import Settings
from codelake.symbols import symbols_batch
from codelake.syntax import syntax_batch

_CASES = Path(__file__).parents[2] / "shared" / "cases"
_WITH_SYMBOLS = ("01", "02", "03", "04", "05", "06", "07", "08", "11", "12", "15")
_EMPTY: dict[pa.DataType, object] = {
    pa.string(): "", pa.bool_(): False, pa.int64(): 0, pa.large_binary(): b"",
}  # fmt: skip

if not _CASES.is_dir():
    pytest.skip(f"the shared cases are not at {_CASES}", allow_module_level=True)


def _folder(number: str) -> Path:
    return next(_CASES.glob(f"{number}-*"))


def _expected(number: str) -> dict[str, Any]:
    text = (_folder(number) / "expected.md").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[-1])
    return loaded


def _found(number: str, file: str) -> list[dict[str, Any]]:
    path = _folder(number) / file
    raw = path.read_bytes()
    neighbours = [p.name for p in path.parent.iterdir()]
    language = detect_language(file, raw, neighbours=neighbours)
    return symbols_of(decode(raw, language).text.encode(), language, path=file)


def _symbol_cases() -> Iterator[Any]:
    for number in _WITH_SYMBOLS:
        for symbol in _expected(number)["symbols"]:
            name = f"{number}-{symbol['file']}-{symbol['qualified_name']}-{symbol['start_line']}"
            yield pytest.param(number, symbol, id=name)


@pytest.mark.parametrize(("number", "wanted"), list(_symbol_cases()))
def test_symbol_of_a_case_is_found(number: str, wanted: dict[str, Any]) -> None:
    names = {wanted["qualified_name"]}
    found = [s for s in _found(number, wanted["file"]) if s["qualified_name"] in names]
    keys = [key for key in ("kind", "start_line", "end_line", "name_line", "doc") if key in wanted]
    assert [wanted[key] for key in keys] in [[symbol[key] for key in keys] for symbol in found]


@pytest.mark.parametrize("file", ["cpp_part/shape.h", "c_part/legacy.h"])
def test_header_has_the_language_of_its_content(file: str) -> None:
    wanted = _expected("11")["language"][file]
    assert detect_language(file, (_folder("11") / file).read_bytes()) in wanted


def test_macro_before_a_class_name_makes_no_symbol() -> None:
    names = {s["name"] for s in _found("11", "cpp_part/shape.h")}
    assert not names & set(_expected("11")["absent_symbols"])


def test_no_symbol_has_a_forbidden_name() -> None:
    case = _expected("07")
    files = {symbol["file"] for symbol in case["symbols"]}
    names = {s["name"] for file in files for s in _found("07", file)}
    assert not names & set(case["forbidden_symbol_names"])


def test_two_init_functions_have_two_ids() -> None:
    ids = [s["symbol_id"] for s in _found("12", "other.go") if s["name"] == "init"]
    assert len(set(ids)) == 2


def test_headings_are_sections_and_fences_are_not() -> None:
    found = [[s["name"], s["start_line"]] for s in _found("14", "GUIDE.md")]
    assert found == _expected("14")["sections"]


def test_licence_banner_and_left_over_comments_document_nothing() -> None:
    docs = " ".join(str(s["doc"]) for s in _found("06", "cart.ts"))
    assert "licence" not in docs
    assert "Left-over" not in docs
    assert "trailing" not in docs


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_symbols_of_a_component_count_lines_and_bytes_of_the_file(
    ending: bytes, mark: bytes
) -> None:
    raw = mark + (_folder("13") / "Panel.vue").read_bytes().replace(b"\n", ending)
    rows = {row["qualified_name"]: row for row in _rows(raw, "Panel.vue").to_pylist()}
    for wanted in _expected("13")["symbols"]:
        row = rows[wanted["qualified_name"]]
        assert [row[key] for key in ("kind", "start_line", "end_line")] == [
            wanted[key] for key in ("kind", "start_line", "end_line")
        ]
        assert wanted["qualified_name"].encode() in raw[row["start_byte"] : row["end_byte"]]


def test_line_ends_change_neither_symbols_nor_hashes() -> None:
    raw = (_folder("03") / "lf" / "invoice.py").read_bytes()
    twins = [_rows(data, "invoice.py") for data in (raw, raw.replace(b"\n", b"\r\n"))]
    same = [c for c in SYMBOLS.schema.names if c not in {"start_byte", "end_byte"}]
    assert twins[0].select(same) == twins[1].select(same)


def _rows(raw: bytes, path: str) -> pa.RecordBatch:
    row = {field.name: _EMPTY[field.type] for field in FILES.schema}
    row |= {"repository": "shop", "path": path, "content": raw, "size": len(raw)}
    row |= {"language": detect_language(path, raw)}
    files = pa.RecordBatch.from_pylist([row], schema=FILES.schema)
    rows = symbols_batch(syntax_batch(files, Settings()), Settings())
    SYMBOLS.check(rows)
    return rows
