"""``codelake find-similar``: a line of a file here or in the index, and what is like it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.command_line import command_line
from resources.embedders.hashing import HashEmbedder
from resources.store import STORED, LanceStore
from tests.lake import chunk, fill
from tests.stored_rows import batches, row

RETRY = "def retry(call):\n    return call() or call()"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    rows = [
        chunk("src/retry.py", RETRY, repository="here"),
        chunk("again.py", RETRY + "  # again", repository="far"),
        chunk("money.py", "def pay(card): charge(card)", repository="far"),
        *(chunk("both.py", f"def both_{r}(): pass", repository=r) for r in ("here", "far")),
    ]
    fill(folder / "store", rows, embedder=HashEmbedder(64))
    (folder / "here" / "src").mkdir(parents=True)
    (folder / "here" / "src" / "retry.py").write_text(RETRY)
    spec = STORED["repositories"]
    ledger = [
        row(spec, repository="here", source=str(folder / "here")),
        row(spec, repository="far"),
    ]
    LanceStore(folder / "store").replace_rows("repositories", batches=batches(spec, ledger))
    return folder


def ask(store: Path, *words: str) -> tuple[int, str]:
    command = ["find-similar", *words, "--store", str(store / "store")]
    result = CliRunner().invoke(command_line, command)
    return result.exit_code, result.stdout if result.exit_code == 0 else str(result.exception)


@pytest.mark.parametrize("place", ["{here}/src/retry.py:2", "src/retry.py:1", "src/retry.py:1-2"])
def test_a_line_finds_what_is_like_it(store: Path, place: str) -> None:
    code, output = ask(store, place.format(here=store / "here"), "-k", "1", "--json")
    assert code == 0
    (hit,) = json.loads(output)["hits"]
    assert (hit["repository"], hit["path"]) == ("far", "again.py")


def test_hits_are_printed_as_those_of_a_search(store: Path) -> None:
    code, output = ask(store, "both.py:1", "-r", "far", "-k", "1", "--explain")
    assert code == 0
    assert output.startswith("1. here")
    assert "score:" in output


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("src/retry.py", "'src/retry.py' names no line; give it as PATH:LINE"),
        ("none.py:3", "'none.py' is no indexed file"),
        ("both.py:1", "'both.py' is in several repositories (far, here); name one with -r"),
        ("again.py:99", "nothing is indexed at far:again.py:99"),
    ],
)
def test_a_place_that_is_none_is_told(store: Path, place: str, message: str) -> None:
    code, error = ask(store, place)
    assert code != 0
    assert message in error


def test_an_unknown_repository_is_told(store: Path) -> None:
    said = ask(store, "a.py:1", "-r", "fra")[1]
    assert "no repository 'fra' in the index; did you mean far?" in said
