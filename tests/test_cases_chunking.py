"""Cases 01-04, 08-10 and 13-16 of ../shared/cases, as far as chunks are concerned."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codelake.chunking.batches import chunk_batch
from codelake.languages import detect_language
from codelake.settings import Settings, build_settings
from codelake.syntax import syntax_batch
from tests.laws import assert_row_laws, file_batch

_CASES = Path(__file__).parents[2] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not _CASES.is_dir(), reason="../shared/cases is not there")


def _folder(number: str) -> Path:
    return next(_CASES.glob(f"{number}-*"))


def _expected(number: str) -> dict[str, Any]:
    text = (_folder(number) / "expected.md").read_text("utf-8")
    found: dict[str, Any] = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[-1])
    return found


def _input(number: str, folder: Path) -> Path:
    maker = _folder(number) / "make_input.py"
    if not maker.exists():
        return _folder(number)
    subprocess.run([sys.executable, maker, folder], check=True)
    return folder


def _cut(path: Path, **chunking: object) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    raw = path.read_bytes()
    return _cut_bytes(path.name, raw, build_settings({"chunking": chunking}))


def _cut_bytes(
    name: str, raw: bytes, settings: Settings
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    syntax = syntax_batch(file_batch([(name, detect_language(name, raw), raw)]), settings)
    rows = chunk_batch(syntax, settings).to_pylist()
    file = syntax.to_pylist()[0]
    assert_row_laws(raw, file, rows)
    if settings.chunking.chunker == "cast":
        assert all(row["nws"] <= settings.chunking.budget for row in rows)
    return file, rows


def _sources(number: str) -> list[Path]:
    return [
        p
        for p in sorted(_folder(number).rglob("*"))
        if p.is_file() and p.name not in {"expected.md", "make_input.py"}
    ]


@pytest.mark.parametrize("budget", [40, 400, 4000])
@pytest.mark.parametrize("number", ["01", "02", "03", "04", "08", "13", "14", "15"])
def test_laws_hold(number: str, budget: int) -> None:
    for path in _sources(number):
        _, rows = _cut(path, budget=budget)
        assert not any("\ufffd" in row["text"] for row in rows)


def test_01_symbol_bodies_begin_and_end_exactly() -> None:
    _, rows = _cut(_folder("01") / "weather.py", chunker="symbol")
    body = next(row["text"] for row in rows if row["name"] == "report")
    assert body.startswith(_expected("01")["body_starts"]["report"])
    assert body.endswith(_expected("01")["body_ends"]["report"])


def test_02_pieces_of_a_leaf_carry_its_name() -> None:
    _, rows = _cut(_folder("02") / "prompts.py", budget=400)
    for marker in _expected("02")["each_marker_in_exactly_one_chunk"]:
        assert sum(marker in row["text"] for row in rows) == 1, marker
    pieces = [row for row in rows if "row 0" in row["text"] or "row 1" in row["text"]]
    assert {row["scope"] for row in pieces} == {"LONG_PROMPT"}
    piece = next(row for row in rows if "row 077" in row["text"])
    assert piece["start_line"] <= 82 <= piece["end_line"]


def test_03_line_ends_change_no_line_and_no_hash() -> None:
    folder = _folder("03")
    columns = ("start_line", "end_line", "nws", "kind", "scope", "content_hash", "text_hash")
    twins = [
        [[row[c] for c in columns] for row in _cut(folder / t / "invoice.py", budget=60)[1]]
        for t in ("lf", "crlf")
    ]
    assert twins[0] == twins[1]


def test_04_encodings_are_stored() -> None:
    expected = _expected("04")["encoding"]
    assert _cut(_folder("04") / "facture.py")[0]["encoding"] == expected["facture.py"]
    file, rows = _cut(_folder("04") / "alt.js")
    assert file["encoding"] in expected["alt.js"]
    assert "Straße" in rows[0]["text"]


def test_08_broken_file_is_partial_and_its_neighbour_is_not() -> None:
    file, rows = _cut(_folder("08") / "half_edited.py")
    assert (file["parse_status"], file["first_error_line"]) == ("partial", 9)
    assert sum("if x = 1 then:" in row["text"] for row in rows) == 1
    assert _cut(_folder("08") / "fine.py")[0]["parse_status"] == "ok"


def test_09_deep_trees_keep_every_marker_once(tmp_path: Path) -> None:
    folder = _input("09", tmp_path)
    for name, markers in _expected("09")["each_marker_in_exactly_one_chunk"].items():
        _, rows = _cut(folder / name)
        for marker in markers:
            assert sum(marker in row["text"] for row in rows) == 1, (name, marker)


def test_10_one_line_bundles_have_distinct_ids(tmp_path: Path) -> None:
    folder = _input("10", tmp_path)
    for name in _expected("10")["label_generated"]:
        _, rows = _cut(folder / name)
        assert len(rows) == len({row["chunk_id"] for row in rows})


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_13_component_is_whole(mark: bytes, line_end: bytes) -> None:
    raw = mark + (_folder("13") / "Panel.vue").read_bytes().replace(b"\n", line_end)
    _, rows = _cut_bytes("Panel.vue", raw, build_settings({"chunking": {"budget": 60}}))
    for text in _expected("13")["must_be_in_some_chunk"]:
        assert sum(text in row["text"] for row in rows) == 1
    chunk = next(row for row in rows if "resetLabel()" in row["text"])
    assert chunk["language"] in {"typescript", "vue"}


def test_14_sections_are_scopes_and_fences_stay_whole() -> None:
    expected = _expected("14")
    _, rows = _cut(_folder("14") / "GUIDE.md", budget=60)
    for inside in expected["same_chunk"]:
        assert any(all(text in row["text"] for text in inside) for row in rows), inside
    names = " ".join([row["scope"] for row in rows] + [s for row in rows for s in row["symbols"]])
    assert "Setup guide > Usage" in names
    assert not any(name in names for name in expected["absent_sections"])


def test_15_degenerate_files_have_the_right_number_of_chunks() -> None:
    for name, count in _expected("15")["chunk_counts"].items():
        file, rows = _cut(_folder("15") / name)
        assert len(rows) == count, name
        assert (file["skip_reason"] == "empty") == (count == 0)
    assert _cut(_folder("15") / "no_eol.py")[1][-1]["text"].endswith('"no newline at end"')


def test_16_data_files_are_cut_into_few_big_chunks(tmp_path: Path) -> None:
    folder, expected = _input("16", tmp_path), _expected("16")
    most = expected["max_nws"]
    for name, limit in expected["chunk_count_max"].items():
        _, rows = _cut(folder / name, budget=most)
        nws = sum(row["nws"] for row in rows)
        assert len(rows) <= (limit if isinstance(limit, int) else math.ceil(nws / most) * 2)
        assert sum(row["nws"] >= most / 4 for row in rows) >= 0.8 * len(rows) or len(rows) == 1
    _, rows = _cut(folder / "values.yaml", budget=most)
    assert all(re.match(r"service\d+:", row["text"]) for row in rows)
    assert all("service" in row["symbols"][0] for row in rows)
