"""Patterns mean what they mean to git, and none of them runs for ever."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codelake.errors import SourceError
from codelake.globs import parse_glob
from codelake.selection import PathRules
from codelake.settings import FileSettings

_PIECES = st.sampled_from(
    ["a", "b", "é", "*", "**", "?", "/", "**/", "/**", "[ab]", "[!a]", "[^b-]", "[a-c]", "[]a]",
     "\\*", "[[:alpha:]]", "[![:digit:]_]", "[a", "\\", "[[:x:]]", ".", "-", "[\\]]", "[a-]",
     "[z-a]", "1", "***"]
)  # fmt: skip
_PATTERNS = st.lists(_PIECES, min_size=1, max_size=6).map("".join)
_NAMES = st.text("ab1é.*]-_\\[", min_size=1, max_size=4).filter(
    lambda name: name not in {".", ".."}
)
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("globs")
    subprocess.run(["git", "init", "-q", place], check=True)
    return place


def _git_matches(place: Path, pattern: str, paths: list[str]) -> list[bool]:
    """Return what git's attributes say, which know no folders and no ``!``."""
    (place / ".gitattributes").write_text(f"{pattern} hit\n")
    answer = subprocess.run(
        ["git", "check-attr", "--stdin", "-z", "hit"],
        input="\0".join(paths).encode(),
        capture_output=True,
        cwd=place,
        check=True,
    ).stdout
    return [value == b"set" for value in answer.split(b"\0")[2::3]]


@settings(max_examples=150)
@given(_PATTERNS, st.lists(_PATHS, min_size=1, max_size=8, unique=True))
def test_a_pattern_matches_what_git_matches(
    repository: Path, pattern: str, paths: list[str]
) -> None:
    if pattern[0] in '"!#[' or pattern.startswith(
        ("\\!", "-")
    ):  # told apart before it is a pattern
        pattern = f"/{pattern}"
    expected = _git_matches(repository, pattern, paths)
    glob = parse_glob(os.fsencode(pattern))
    assert expected == [glob.match(os.fsencode(path)) for path in paths]


@pytest.mark.parametrize("count", [5, 100])
@pytest.mark.parametrize(
    "piece", ["*a", "[a]*", "**/a*", "*a*/", "**/", "**/*a*/", "a/**/", "?*", "***/a"]
)
def test_no_pattern_runs_for_ever(piece: str, count: int) -> None:
    rules = PathRules(FileSettings(), {".codelakeignore": f"{piece * count}b\n".encode()})
    for path in ("a" * 4000, "a/" * 100 + "a", "aa/" * 100 + "c"):
        assert not rules.is_excluded(path)


def test_patterns_made_to_take_hours_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codelake.globs._MOST_STEPS", 1_000_000)
    rules = PathRules(FileSettings(), {".codelakeignore": b"**/a*" * 100})
    with pytest.raises(SourceError, match="take too long to match; use fewer"):
        rules.is_excluded("a/" * 2000 + "a")
    plain = PathRules(FileSettings(exclude=("*.log", "build/")), {})
    assert not any(plain.is_excluded(f"src/{n}.py") for n in range(1000))


def test_a_repository_cannot_buy_time_with_lines() -> None:
    text = "".join(f"*x{n}\n" for n in range(200_000))
    rules = PathRules(FileSettings(), {".codelakeignore": text.encode()})
    assert [rules.is_excluded(path) for path in ("x4999", "x5000")] == [True, False]


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        (b"\xef\xbb\xbfa.py\r\nb.py\r\n", ["a.py", "b.py"]),
        (b"a.py  \nb\\ \n", ["a.py", "b "]),
        (b"caf\xe9*\n", [f"caf{chr(0x10FF00 + 0xE9)}.py"]),
        (b"*.py\n!b.py\n", ["a.py", f"caf{chr(0x10FF00 + 0xE9)}.py"]),
        (b"/\n!\n\n   \n#a.py\n", []),
    ],
)
def test_lines_are_read_as_git_reads_them(text: bytes, excluded: list[str]) -> None:
    rules = PathRules(FileSettings(), {".codelakeignore": text})
    paths = ["a.py", "b.py", "b ", f"caf{chr(0x10FF00 + 0xE9)}.py"]
    assert [path for path in paths if rules.is_excluded(path)] == excluded


@pytest.mark.parametrize(
    "pattern", ["[/]", "x[!\\", "[a-", "[[:none:]a]", "[", "a\\", "[]", "a//b"]
)
def test_a_pattern_that_git_matches_with_nothing_matches_nothing(
    repository: Path, pattern: str
) -> None:
    paths = ["a", "x", "b/a", "[", "a/b", "-", "]"]
    assert not any(_git_matches(repository, f"/{pattern}", paths))
    assert not any(parse_glob(f"/{pattern}".encode()).match(path.encode()) for path in paths)
