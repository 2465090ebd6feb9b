import re
from collections.abc import Callable
from pathlib import Path

import pytest

from codelake.definitions import KINDS
from codelake.definitions.rules import rules_for
from codelake.languages import LANGUAGES, symbol_query
from codelake.languages.registry import Language

_DOCS = Path(__file__).parents[1] / "docs"


def _recorded(name: str) -> str:
    rules = rules_for(name)
    return ", ".join(sorted({kind for kind in rules.kinds if kind in KINDS})) if rules else ""


def _files(language: Language) -> str:
    return " ".join(f"`{name}`" for name in (*language.suffixes, *language.filenames))


def _languages_table() -> str:
    with_symbols = [lang for lang in LANGUAGES.values() if symbol_query(lang.name)]
    others = [lang for lang in LANGUAGES.values() if not symbol_query(lang.name)]
    rows = [
        f"| {lang.name} | {_files(lang)} | {_recorded(lang.name)} |"
        for lang in sorted(with_symbols, key=lambda lang: lang.name)
    ]
    rest = [f"{lang.name} ({_files(lang)})" if _files(lang) else lang.name for lang in others]
    count = f"{len(with_symbols)} languages give symbols:"
    more = f"\n{len(others)} more are cut along their syntax: {', '.join(sorted(rest))}."
    return "\n".join([count, "", "| language | files | symbols |", "|---|---|---|", *rows, more])


def _kinds_table() -> str:
    rows = [f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()]
    return "\n".join(["| kind | is |", "|---|---|", *rows])


@pytest.mark.parametrize(
    ("page", "block", "render"),
    [("languages.md", "languages", _languages_table), ("symbols.md", "kinds", _kinds_table)],
    ids=["languages", "kinds"],
)
def test_generated_part_is_current(
    page: str, block: str, render: Callable[[], str], *, is_rewriting: bool
) -> None:
    path = _DOCS / page
    mark = f"<!-- {block}, written by make golden -->\n"
    pattern = re.compile(rf"(?<={re.escape(mark)}).*?(?=<!-- end -->)", re.DOTALL)
    text = path.read_text("utf-8")
    wanted = pattern.sub(lambda _: f"{render()}\n", text)
    if is_rewriting:
        path.write_text(wanted, "utf-8", newline="\n")
    assert text == wanted or is_rewriting, "run `make golden` and read the difference"


def test_every_key_of_a_language_is_explained() -> None:
    text = (_DOCS / "languages.md").read_text("utf-8")
    keys = [key for key in Language.__dataclass_fields__ if key != "name"]
    assert [key for key in keys if f"`{key}`" not in text] == []
