import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.hashing import RowIds, bytes_hash, content_hash, row_id
from codelake.schemas import FILES, SYMBOLS
from codelake.settings import Settings
from codelake.symbols import symbols_batch
from codelake.syntax import syntax_batch

_SHOP = '''"""Shop."""
def total(lines):
    """Return the sum."""
    return sum(lines)


def total(lines):
    """Return the sum."""
    return sum(lines)


class Größe:
    def wert(self, x: int = 1) -> int:
        return x
'''
_EMPTY: dict[pa.DataType, object] = {
    pa.string(): "", pa.bool_(): False, pa.int64(): 0, pa.large_binary(): b"",
}  # fmt: skip


def _symbols(files: dict[str, tuple[str, bytes]]) -> pa.RecordBatch:
    rows = [
        {field.name: _EMPTY[field.type] for field in FILES.schema}
        | {"repository": "shop", "path": path, "language": language, "content": raw}
        for path, (language, raw) in files.items()
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=FILES.schema)
    found = symbols_batch(syntax_batch(batch, Settings()), Settings())
    SYMBOLS.check(found)
    return found


def test_symbols_of_several_files_stand_by_file_and_offset() -> None:
    found = _symbols(
        {
            "a.py": ("python", _SHOP.encode()),
            "b.txt": ("", b"no code"),
            "c.go": ("go", b"package a\n\n// F is.\nfunc F() {}\n"),
        }
    ).to_pylist()
    names = [(row["path"], row["qualified_name"], row["start_line"]) for row in found]
    assert names == [
        ("a.py", "total", 2), ("a.py", "total", 7), ("a.py", "Größe", 12),
        ("a.py", "Größe.wert", 13), ("c.go", "F", 4),
    ]  # fmt: skip
    assert len({row["symbol_id"] for row in found}) == 5
    assert found[0]["embedded_text"] == "shop: total total Return the sum."
    assert found[4]["embedded_text"] == "shop: F f F is."


def test_record_holds_the_surface() -> None:
    row = _symbols({"a.py": ("python", _SHOP.encode())}).to_pylist()[3]
    assert row["kind"] == "method"
    assert row["hierarchy"] == ["Größe", "wert"]
    assert row["signature"] == "def wert(self, x: int = 1) -> int"
    assert row["returns"] == "int"
    assert [p["name"] for p in json.loads(row["parameters"])] == ["self", "x"]
    assert row["body"] == "def wert(self, x: int = 1) -> int:\n        return x"
    assert row["content_hash"] == content_hash(row["body"])
    assert row["text_hash"] == content_hash(row["embedded_text"])
    assert row["symbol_id"] == row_id(
        "symbol", "shop", "a.py", "Größe.wert", row["content_hash"], "0"
    )


def test_moved_lines_keep_ids() -> None:
    first, second = (
        _symbols({"a.py": ("python", text.encode())}).column("symbol_id").to_pylist()
        for text in (_SHOP, "# one more\n\n\n" + _SHOP)
    )
    assert first == second


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_bytes_count_in_the_file(encoding: str) -> None:
    text = "# -*- coding: latin-1 -*-\n" + _SHOP if encoding == "latin-1" else _SHOP
    raw = text.encode(encoding)
    row = _symbols({"a.py": ("python", raw)}).to_pylist()[2]
    codec = "utf-16-le" if encoding == "utf-16" else encoding.removesuffix("-sig")
    assert raw[row["start_byte"] : row["end_byte"]].decode(codec).startswith("class Größe:")


@pytest.mark.parametrize("letter", ["e", "é"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_shown_body_is_capped_and_the_span_is_whole(letter: str, line_end: str) -> None:
    lines = "".join(f"    x{i} = '{letter}'\n" for i in range(60))
    wide = f"def g():\n    return '{letter * 3000}'\n"
    text = f"def f():\n{lines}{wide}def h():\n    return 1\n".replace("\n", line_end)
    rows = _symbols({"a.py": ("python", text.encode())}).to_pylist()
    assert [[row["start_line"], row["end_line"]] for row in rows] == [[1, 61], [62, 63], [64, 65]]
    assert rows[0]["body"] == "def f():\n" + "\n".join(lines.split("\n")[:29])
    assert len(rows[1]["body"]) == 1500
    assert rows[2]["body"] == "def h():\n    return 1"


def test_no_files_give_no_symbols() -> None:
    assert _symbols({}).num_rows == 0


@given(st.lists(st.text(), max_size=3), st.text(), st.integers(0, 200))
def test_row_ids_are_those_of_row_id(shared: list[str], name: str, occurrence: int) -> None:
    content = content_hash(name)
    expected = row_id(*shared, name, content, str(occurrence))
    assert RowIds(*shared).of(name, content, occurrence) == expected


@given(st.text())
def test_bytes_hash_is_the_content_hash(text: str) -> None:
    text = text.replace("\r", "")
    assert bytes_hash(text.encode()) == content_hash(text)
