from collections.abc import Callable
from pathlib import Path

import pytest
from language_samples import golden_text, samples

from codelake.languages import LANGUAGES, symbol_query

_GOLDEN = Path(__file__).parent / "golden" / "languages"


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.stem)
def test_sample_gives_its_symbols_and_chunks(
    sample: Path, golden: Callable[[str, str], None]
) -> None:
    golden(f"languages/{sample.stem}.json", golden_text(sample))


def test_every_golden_file_has_a_sample() -> None:
    assert {path.stem for path in _GOLDEN.iterdir()} == {path.stem for path in samples()}


def test_every_query_compiles_and_has_a_sample() -> None:
    queries = {lang.query for lang in LANGUAGES.values() if symbol_query(lang.name)}
    assert queries <= {path.stem for path in samples()}


def test_golden_files_stay_small() -> None:
    assert all(len(path.read_text("utf-8").splitlines()) <= 200 for path in _GOLDEN.iterdir())
