"""What a program finds in the answer of a command that failed."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from codelake import errors
from codelake.errors import AlertError, BusyError, CodelakeError
from pipelines.command_line import main
from pipelines.failing import describe_failure
from pipelines.summary import Summary
from resources.git import GitError
from resources.sources.asking import RefusalError

_CASES = [
    ("chunk a.py --chunker casst", 2, "usage", "unknown chunker 'casst'"),
    ("chunk a.py --budget many", 2, "usage", "'many' is not a valid integer"),
    ("search x --store nowhere", 1, "store", "no index in 'nowhere'"),
    ("status --config absent.toml", 2, "usage", "absent.toml"),
    ("serch x", 2, "usage", "did you mean 'search'?"),
    ("index . --embedder openai", 1, "embedding", "OPENAI_API_KEY"),
]

# Ends in Ctrl-C instead of `codelake languages`.
_INTERRUPTED = """
import signal
from pipelines.commands.languages import languages
languages.callback = lambda **_: signal.raise_signal(signal.SIGINT)
"""

Ended = tuple[int | str | None, str, str]


@pytest.fixture
def end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Ended]:
    """Run ``codelake`` in a folder with one file; return status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "a.py").write_text("x = 1\n")

    def run(words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["codelake", *words.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code, *capsys.readouterr())

    return run


@pytest.mark.parametrize(("words", "code", "kind", "told"), _CASES, ids=[c[0] for c in _CASES])
def test_a_program_finds_the_error_and_a_person_too(
    end: Callable[[str], Ended], words: str, code: int, kind: str, told: str
) -> None:
    status, out, err = end(f"{words} --json")
    error = json.loads(out)["error"]
    assert (status, error["kind"]) == (code, kind)
    assert told in error["message"]
    assert error["message"] in err
    status, out, plain = end(words)
    assert (status, out, plain) == (code, "", err)


def test_a_question_may_be_the_word(end: Callable[[str], Ended]) -> None:
    assert end("search --store nowhere -- --json")[:2] == (1, "")


def test_each_kind_of_error_has_its_word() -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    cases: dict[Exception, str] = {
        BusyError("x"): "busy",
        GitError("x"): "source",
        RefusalError("x", 403): "source",
        CodelakeError("x"): "codelake",
        click.UsageError("x"): "usage",
        click.FileError("x"): "file",
        full: "file",
        click.Abort(): "interrupted",
        OSError(): "unexpected",
    }
    assert [describe_failure(error)["error"]["kind"] for error in cases] == [*cases.values()]


def test_every_kind_is_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text("utf-8")
    (line,) = (line for line in page.splitlines() if line.startswith("`kind` is"))
    tree = {error for name, error in vars(errors).items() if name.endswith("Error")}
    told = tree - {AlertError}  # by a sensor of Dagster, to its own log
    kinds = {describe_failure(error("x"))["error"]["kind"] for error in told}
    others = {"kind", "file", "interrupted", "unexpected"}
    assert set(re.findall(r"`(\w+)`", line)) == kinds | others


def test_index_has_its_keys_beside_an_error_of_a_run_alone(end: Callable[[str], Ended]) -> None:
    keys = {*Summary().to_dict(), "error"}
    assert set(json.loads(end("index . --embedder openai --json")[1])) == keys
    assert set(json.loads(end("index --json")[1])) == {"error"}


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("before", "words", "code", "told"),
    [
        *(("", words, code, told) for words, code, _, told in _CASES[1:3]),
        (_INTERRUPTED, "languages", 130, "interrupted; what was stored is kept"),
    ],
)
def test_status_and_line_stay_where_the_document_cannot_go(
    tmp_path: Path, before: str, words: str, code: int, told: str, unbuffered: str
) -> None:
    program = f"{before}from pipelines.command_line import main; main()"
    root = str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": root, "PYTHONUNBUFFERED": unbuffered}

    def end(*, stdout: int, stderr: int) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-c", program, *words.split(), "--json"],
            cwd=tmp_path,
            env=environment,
            stdout=stdout,
            stderr=stderr,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout or "", done.stderr or ""

    read, closed = os.pipe()
    os.close(read)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        for nowhere in (full, closed):
            status, _, err = end(stdout=nowhere, stderr=subprocess.PIPE)
            assert (status, told in err.splitlines()[-1]) == (code, True), err
            status, out, _ = end(stdout=subprocess.PIPE, stderr=nowhere)
            assert (status, told in json.loads(out)["error"]["message"]) == (code, True)
    finally:
        os.close(full)
        os.close(closed)
