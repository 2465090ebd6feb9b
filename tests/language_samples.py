"""The sample of every language, and what symbols and chunks it gives as a golden file says it."""

import json
from pathlib import Path

import tree_sitter

from codelake.chunking import chunk
from codelake.definitions import find_definitions
from codelake.languages import detect_language, grammar, parsable
from codelake.symbols import symbol_columns

_SAMPLES = Path(__file__).parent / "samples"
_BUDGET = 300  # nws characters: small, so that samples of a page show cuts
_SHOWN = (
    "kind", "qualified_name", "natural_name", "start_line", "end_line", "name_line", "signature",
    "doc", "decorators", "parameters", "returns", "modifiers", "receiver",
)  # fmt: skip


def samples() -> list[Path]:
    """Return the sample of every language, by name."""
    return sorted(path for path in _SAMPLES.iterdir() if path.is_file())


def symbols_of(text: bytes, language: str, path: str = "sample") -> list[dict[str, object]]:
    """Return the symbol records of a text as dictionaries."""
    tree = tree_sitter.Parser(grammar(language)).parse(parsable(text, language))
    definitions = find_definitions(tree.root_node, text, language)
    columns = symbol_columns(text, definitions, repository="sample", path=path)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def golden_text(sample: Path) -> str:
    """Return the golden file of ``sample``: one line a symbol, one line a chunk."""
    text = sample.read_bytes()
    language = detect_language(sample.name, text)
    symbols = [
        {name: _plain(name, symbol[name]) for name in _SHOWN if symbol[name] not in ("", (), "[]")}
        for symbol in symbols_of(text, language)
    ]
    chunks = [
        {"lines": [c.start_line, c.end_line], "nws": c.nws, "kind": c.kind, "scope": c.scope}
        for c in chunk(text, language, budget=_BUDGET)
    ]
    head = f'{{"language": {json.dumps(language)}, "symbols": ['
    return "\n".join([head, _lines(symbols), '], "chunks": [', _lines(chunks), "]}", ""])


def _plain(name: str, value: object) -> object:
    return json.loads(str(value)) if name == "parameters" else value


def _lines(records: list[dict[str, object]]) -> str:
    return ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
