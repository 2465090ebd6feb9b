"""The examples of docs/tables.md run, over a small store."""

import re
from pathlib import Path

import pytest

from codelake.schemas import SYMBOLS
from tests.stored_rows import batches, chunk, ledger_files, stored, symbol

_PAGE = Path(__file__).parents[1] / "docs" / "tables.md"
_EXAMPLES = re.findall(r"^```python\n(.*?)^```", _PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_there_are_examples() -> None:
    assert len(_EXAMPLES) == 3


@pytest.mark.parametrize("example", _EXAMPLES, ids=range(len(_EXAMPLES)))
def test_an_example_runs(
    example: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = stored(tmp_path / ".codelake", chunk("a.py", "1", nws=7))
    store.replace_rows("symbols", batches=batches(SYMBOLS, [symbol("f")]))
    store.replace_rows("files", batches=ledger_files("a.py"))
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(_PAGE), "exec"), {})  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "a.py" in printed or "7" in printed
