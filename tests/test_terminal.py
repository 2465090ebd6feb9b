"""What a terminal, a pipe and a shell that completes get of the command line."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class
from click.testing import CliRunner

from pipelines.command_line import command_line
from resources.store import LanceStore
from tests.lake import chunk, fill
from tests.stored_rows import ledger_repositories

ROOT = Path(__file__).parents[1]
LONG = "x" * 300
COMMAND = (sys.executable, "-c", "from pipelines.command_line import main; main()")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    rows = [
        chunk(f"f{n}.py", f"def retry_{n}(): return {n}", kind=kind)
        for n, kind in enumerate(("function", "imports"))
    ]
    fill(folder, rows)
    LanceStore(folder).replace_rows("repositories", batches=ledger_repositories("acme/shop", LONG))
    return folder


def run(*words: str) -> str:
    result = CliRunner().invoke(command_line, words)
    assert result.exit_code == 0, result.output
    return result.stdout


def completed(store: Path, *words: str) -> set[str]:
    """Return what a shell offers for the last of ``words``."""
    made = get_completion_class("bash")
    assert made is not None
    os.environ["CODELAKE_STORE"] = str(store)
    try:
        found = made(command_line, {}, "codelake", "").get_completions([*words[:-1]], words[-1])
    finally:
        del os.environ["CODELAKE_STORE"]
    return {item.value for item in found}


def on_a_terminal(*words: str, environment: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    env = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "LINES": "20"} | environment
    with subprocess.Popen([*COMMAND, *words], env=env, stdin=theirs, stdout=theirs) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 4096):
                parts.append(part)
        except OSError:
            pass  # how Linux tells that nobody has the other end any more
        assert process.wait() == 0
    os.close(ours)
    return b"".join(parts).decode()


def test_what_is_longer_than_a_screen_goes_through_the_pager() -> None:
    text = on_a_terminal("languages", environment={"PAGER": "sed s/^/paged:/"})
    assert text.count("paged:") > 20
    assert "\x1b[" in text


def test_what_fits_on_a_screen_does_not(store: Path) -> None:
    words = ("search", "retry", "--store", str(store), "-k", "1", "--mode", "text")
    text = on_a_terminal(*words, environment={"PAGER": "sed s/^/paged:/"})
    assert "retry_" in text
    assert "paged:" not in text


def test_a_pipe_gets_each_line_whole(store: Path) -> None:
    for words in (("status",), ("sql", "select repository, 'end' from repositories")):
        lines = run(*words, "--store", str(store)).splitlines()
        assert any(LONG in line for line in lines)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("search --repository ac", {"acme/shop"}),
        ("search --owner ", {"acme"}),
        ("search --kind f", {"function"}),
        ("search --language pyt", {"python"}),
        ("search --mode multi", {"multihop"}),
        ("sta", {"status"}),
        ("completion z", {"zsh"}),
    ],
)
def test_a_shell_completes_names_of_the_index(store: Path, typed: str, offered: set[str]) -> None:
    assert completed(store, *typed.split(" ")) == offered


def test_a_shell_is_offered_nothing_where_there_is_no_index(tmp_path: Path) -> None:
    assert completed(tmp_path / "none", "search", "-r", "a") == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    assert "_CODELAKE_COMPLETE" in run("completion", shell)
