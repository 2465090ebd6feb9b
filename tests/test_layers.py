"""The house keeps its shape: imports go downwards, files stay small, names stay ours."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_LAYERS = ("codelake", "resources", "evaluation", "assets", "pipelines")  # from the lowest up
_FILES = sorted(path for layer in _LAYERS for path in (_ROOT / layer).rglob("*.py"))

_FILE_LINES = 400
_FUNCTION_LINES = 60

# Anything here brings an orchestrator, a store, a network, a clock or the environment into the
# library, which takes what it needs as arguments.
_IMPURE = re.compile(
    r"(aiohttp|asyncio|boto3|dagster|ftplib|http|httpx|lance|lancedb|openai|os|requests|secrets"
    r"|socket|socketserver|sqlite3|ssl|subprocess|time|urllib\.request|urllib3|voyageai)(\.|$)"
)
_HEAVY = ("dagster", "lancedb", "lance", "onnxruntime", "tokenizers", "polars", "openai", "httpx")


def _imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            found |= {module} | {f"{module}.{name.name}" for name in node.names}
    return found


def _label(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


@pytest.mark.parametrize("path", _FILES, ids=_label)
def test_imports_go_downwards(path: Path) -> None:
    own = _LAYERS.index(path.relative_to(_ROOT).parts[0])
    upwards = {name for name in _imports(path) if name.split(".")[0] in _LAYERS[own + 1 :]}
    assert not upwards, f"{_label(path)} imports from a layer above its own"


@pytest.mark.parametrize(
    "path", [p for p in _FILES if _label(p).startswith("codelake")], ids=_label
)
def test_library_touches_no_network_clock_or_environment(path: Path) -> None:
    assert not {name for name in _imports(path) if _IMPURE.match(name)}


def test_chunking_loads_nothing_heavy() -> None:
    program = "import sys; from codelake.chunking import chunk; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=_ROOT
    )
    assert not {name.split(".")[0] for name in result.stdout.split()} & set(_HEAVY)


@pytest.mark.parametrize("layer", _LAYERS)
def test_no_foreign_package_shadows_ours(layer: str) -> None:
    spec = importlib.util.find_spec(layer)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).parent == _ROOT / layer, f"another {layer!r} comes first on sys.path"


@pytest.mark.parametrize("path", _FILES, ids=_label)
def test_file_and_functions_stay_small(path: Path) -> None:
    text = path.read_text("utf-8")
    functions = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    assert not {name: count for name, count in lengths.items() if count > _FUNCTION_LINES}
    assert len(text.splitlines()) <= _FILE_LINES


def test_no_module_is_named_for_what_it_lacks() -> None:
    vague = {"utils.py", "helpers.py", "common.py", "misc.py", "manager.py", "base.py"}
    assert not [_label(path) for path in _FILES if path.name in vague]
