"""The documents say what is true: commands parse, paths exist, generated tables are current."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Literal, get_args, get_origin

import click
import pytest
from pydantic import BaseModel

from assets import ASSETS
from codelake.schemas import SKIP_REASONS, TABLES
from codelake.settings import Settings, settings_keys
from pipelines.command_line import command_line

_ROOT = Path(__file__).parents[1]
_PAGES = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")])
_FOLDERS = ("codelake/", "resources/", "assets/", "evaluation/", "pipelines/", "tests/", "docs/")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")


def _label(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


def _shell_lines(text: str) -> Iterator[str]:
    """Yield the commands of shell blocks and of inline code, continuation lines joined."""
    for language, block in _FENCE.findall(text):
        if language in {"sh", "bash", "shell", "console"}:
            for line in block.replace("\\\n", " ").splitlines():
                if language != "console" or line.startswith("$ "):
                    yield line.removeprefix("$ ").strip()
    yield from _CODE.findall(_FENCE.sub("", text))


def _make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (_ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", _PAGES, ids=_label)
def test_links_resolve(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text("utf-8")) if "://" not in link]
    files = [page.parent / link.split("#")[0] for link in links if not link.startswith("#")]
    assert not [str(path) for path in files if not path.exists()]


@pytest.mark.parametrize("page", _PAGES, ids=_label)
def test_named_files_exist(page: Path) -> None:
    text = _FENCE.sub("", page.read_text("utf-8"))
    named = [word for word in _CODE.findall(text) if word.startswith(_FOLDERS)]
    plain = [word for word in named if re.fullmatch(r"[\w./-]+", word)]
    assert not [word for word in plain if not (_ROOT / word).exists()]


@pytest.mark.parametrize("page", _PAGES, ids=_label)
def test_named_commands_parse(page: Path) -> None:
    for line in _shell_lines(page.read_text("utf-8")):
        program, *words = shlex.split(line, comments=True) or [""]
        if program == "make" and words and not words[0].startswith("-"):
            assert words[0] in _make_targets(), line
        if program == "codelake" and words and "..." not in line:
            _parse(words)


def _parse(words: list[str]) -> None:
    """Let the command line read ``words`` without running anything."""
    context = click.Context(command_line)
    name, *rest = words
    if name.startswith("-") or "--help" in rest:
        return
    command = command_line.get_command(context, name)
    assert command is not None, f"no command codelake {name}"
    if rest and not any(word.isupper() for word in rest):  # `export TABLE` speaks of any table
        command.make_context(name, rest, parent=context, resilient_parsing=False).close()


@pytest.mark.parametrize("page", _PAGES, ids=_label)
def test_words_are_about_the_project(page: Path) -> None:
    assert not re.findall(r"/work/|/root/|\bTODO\b|\bFIXME\b", page.read_text("utf-8"))


def test_every_page_is_in_the_index() -> None:
    index = (_ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {page.name for page in (_ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages == set(_LINK.findall(index)) & pages


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        items = ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{{items}}}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _kind(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(annotation))
    if get_origin(annotation) in {tuple, list}:
        return "list"
    if get_origin(annotation) is dict:
        return "table"
    if isinstance(annotation, UnionType):
        return " or ".join(_kind(part) for part in get_args(annotation))
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return names[annotation]  # type: ignore[index] # a new type fails here and is named then


def _settings_table() -> str:
    lines = []
    for key, description in settings_keys().items():
        *parents, name = key.split(".")
        section: type[BaseModel] = Settings
        for parent in parents:
            section = section.model_fields[parent].annotation  # type: ignore[assignment]
        field = section.model_fields[name]
        default = _toml(field.get_default(call_default_factory=True))
        lines.append(f"| `{key}` | {_kind(field.annotation)} | `{default}` | {description} |")
    return "\n".join(["| key | takes | default | meaning |", "|---|---|---|---|", *lines])


def _columns_table() -> str:
    parts = []
    for spec in TABLES.values():
        key = ", ".join(f"`{name}`" for name in spec.key)
        parts += [f"\n## {spec.name}\n", f"Version {spec.version}; key {key}.\n"]
        parts += ["| column | type | meaning |", "|---|---|---|"]
        parts += [f"| `{c.name}` | {c.type} | {spec.doc(c.name)} |" for c in spec.columns]
    return "\n".join(parts).strip()


def _asset_graph() -> str:
    needs = {asset.key.path[-1]: {k.path[-1] for k in asset.dependency_keys} for asset in ASSETS}
    above: dict[str, set[str]] = {}
    for name, direct in needs.items():  # ASSETS stand in the order of the flow
        above[name] = direct.union(*(above[one] for one in direct))
    edges = [
        f"    {one} --> {name}"
        for name, direct in needs.items()
        for one in sorted(direct)
        if not any(one in above[other] for other in direct)
    ]
    rows = [f"| `{a.key.path[-1]}` | {a.descriptions_by_key[a.key]} |" for a in ASSETS]
    picture = ["```mermaid", "flowchart TD", *edges, "```", ""]
    return "\n".join([*picture, "| asset | does |", "|---|---|", *rows])


def _skip_table() -> str:
    lines = [f"| `{reason}` | {meaning} |" for reason, meaning in SKIP_REASONS.items()]
    return "\n".join(["| reason | meaning |", "|---|---|", *lines])


@pytest.mark.parametrize(
    ("page", "block", "render"),
    [
        ("architecture.md", "graph", _asset_graph),
        ("configuration.md", "settings", _settings_table),
        ("tables.md", "columns", _columns_table),
        ("tables.md", "skip reasons", _skip_table),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_generated_part_is_current(
    page: str, block: str, render: Callable[[], str], *, is_rewriting: bool
) -> None:
    path = _ROOT / "docs" / page
    pattern = re.compile(
        rf"(<!-- {block}, written by make golden -->\n).*?(<!-- end -->)", re.DOTALL
    )
    text = path.read_text("utf-8")
    wanted, count = pattern.subn(lambda match: f"{match[1]}\n{render()}\n\n{match[2]}", text)
    assert count == 1
    if is_rewriting:
        path.write_text(wanted, "utf-8")
        text = wanted
    assert text == wanted, f"docs/{page} is behind the code: make golden"
