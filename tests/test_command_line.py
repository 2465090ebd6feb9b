"""The command line with careless and hostile input: what it says, and how it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from nights import commit, git, night, rows

from codelake.errors import SourceError
from codelake.repositories import Repository
from codelake.schemas import FILES, REPOSITORIES
from codelake.settings import build_settings, parse_settings
from pipelines.command_line import main
from pipelines.summary import Summary
from resources.contents import read_contents
from resources.files import read_files
from resources.repositories import discover

_CODE = {"a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return 2\n"}
_PROGRAM = "from pipelines.command_line import main; main()"


class _Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def document(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Run = Callable[..., _Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``codelake`` in an empty folder of its own and return how it ended."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> _Ran:
        monkeypatch.setattr(sys, "argv", ["codelake", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return _Ran(code, captured.out, captured.err)

    return call


def _lose(repository: Path, name: str) -> bytes:
    """Remove the object of a file and return it."""
    blob = git(repository, "rev-parse", f"HEAD:{name}").strip()
    place = repository / ".git" / "objects" / blob[:2] / blob[2:]
    content = place.read_bytes()
    place.chmod(0o600)
    place.unlink()
    return content


def test_good_and_bad_sources_give_one_document_and_exit_1(run: Run, tmp_path: Path) -> None:
    commit(tmp_path / "good", _CODE)
    (tmp_path / "plain").mkdir()
    git(tmp_path, "init", "-q", "unborn")
    closed = "https://127.0.0.1:1/x.git"
    sources = [tmp_path / name for name in ("good", "plain", "unborn", "absent")]
    ended = run("index", *sources, closed, "--embedder", "none", "--json")
    found = ended.document()
    assert ended.code == 1
    assert set(found) == set(Summary().to_dict())
    assert (found["repositories"], found["files"]["indexed"]) == (2, 2)
    assert {f["repository"]: f["path"] for f in found["failed"]} == {
        "absent": "", "plain": "", "x": "",
    }  # fmt: skip
    reasons = " ".join(failure["reason"] for failure in found["failed"])
    for place in (str(tmp_path / "absent"), str(tmp_path / "plain"), closed, "check the path"):
        assert place in reasons
    assert found["notices"] == [{"repository": "unborn", "reason": "no commits"}]
    assert "Traceback" not in ended.err


def test_printed_settings_are_a_settings_file(run: Run, tmp_path: Path) -> None:
    given = (
        'store = "a \\"b\\" ü"\n[files]\nlanguages = {".sls" = "python"}\nexclude = ["x/", "y"]\n'
    )
    (tmp_path / "codelake.toml").write_text(given, "utf-8")
    printed = run("config").out
    assert parse_settings(printed, origin="printed") == parse_settings(given, origin="given")


def test_an_unreadable_file_is_named_and_tried_again(tmp_path: Path) -> None:
    repository, store = tmp_path / "shop", tmp_path / "store"
    commit(repository, _CODE)
    lost = _lose(repository, "a.py")
    for _ in range(2):
        summary = night(store, repository, embedding__embedder="none")
        assert summary.files == {"indexed": 1, "skipped": {"unreadable": 1}}
        assert [(f["repository"], f["path"]) for f in summary.failed] == [("shop", "a.py")]
    blob = git(repository, "hash-object", "a.py").strip()
    place = repository / ".git" / "objects" / blob[:2] / blob[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(lost)
    summary = night(store, repository, embedding__embedder="none")
    assert (summary.failed, summary.files["indexed"]) == ([], 2)
    assert {row["path"] for row in rows(store, "chunks")} == {"a.py", "b.py"}


def test_a_repository_that_cannot_be_listed_is_no_indexed_one(tmp_path: Path) -> None:
    repository = tmp_path / "shop"
    commit(repository, _CODE)
    _lose(repository, "")  # the tree
    summary = night(tmp_path / "store", repository, embedding__embedder="none")
    assert (summary.repositories, summary.files) == (0, {"indexed": 0, "skipped": {}})
    assert [f["repository"] for f in summary.failed] == ["shop"]
    assert "git fsck" in summary.failed[0]["reason"]


def test_a_folder_removed_during_the_run_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "a.py").write_text("x = 1\n")
    settings = build_settings(
        {"store": str(tmp_path / "store"), "sources": {"folders": True, "untracked": True}}
    )
    (found,) = discover([str(tmp_path / "gone")], settings)
    batches = list(
        read_files(found, FILES.table().drop_columns(["content"]), settings, fingerprint="f")
    )
    shutil.rmtree(tmp_path / "gone")
    (left,) = read_contents(_table(found), batches, settings)
    assert left.column("skip_reason").to_pylist() == ["unreadable"]
    with pytest.raises(SourceError, match="still there"):
        list(read_files(found, FILES.table().drop_columns(["content"]), settings, fingerprint="f"))


def _table(repository: Repository) -> pa.Table:
    row = {name: getattr(repository, name, "") for name in REPOSITORIES.schema.names}
    return REPOSITORIES.table([{**row, "repository": repository.name, "status": "changed"}])


def test_an_empty_source_is_not_the_present_folder(run: Run, tmp_path: Path) -> None:
    commit(tmp_path, _CODE)
    ended = run("index", "")
    assert (ended.code, ended.out) == (2, "")
    assert "empty" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", ".", "--store", ""),
        ("index", ".", "--embedder", ""),
        ("status", "--config", ""),
        ("chunk", "a.py", "--chunker", ""),
        ("export", "chunks", "-o", ""),
    ],
    ids=" ".join,
)
def test_an_empty_option_is_not_the_default(run: Run, arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.code == 2
    assert f"Invalid value for '{arguments[-2]}'" in ended.err.replace("'-o' / '--output'", "'-o'")
    assert "an empty text" in ended.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('store = ""', "store = '': Input should not be empty"),
        ("chunking = 3", "chunking = 3: Input should be a section of settings"),
        ('sources.paths = "x"', "sources.paths = 'x': Input should be a list, as in"),
        ('files.languages = "x"', "files.languages = 'x': Input should be a table, as in"),
    ],
)
def test_a_setting_of_a_wrong_type_is_told_in_the_words_of_the_file(
    run: Run, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "codelake.toml").write_text(text, "utf-8")
    ended = run("config")
    assert (ended.code, told in ended.err) == (2, True), ended.err


def test_a_settings_file_may_begin_with_a_byte_order_mark(run: Run, tmp_path: Path) -> None:
    (tmp_path / "codelake.toml").write_text('store = "lake"', "utf-8-sig")
    assert json.loads(run("config", "--json").out)["store"] == "lake"


@pytest.mark.parametrize(
    ("name", "told"),
    [("serach", "did you mean 'search'?"), ("zzz", "`codelake --help` lists them")],
)
def test_an_unknown_command_names_the_nearest(run: Run, name: str, told: str) -> None:
    ended = run(name)
    assert (ended.code, told in ended.err) == (2, True)


def test_a_store_that_cannot_be_is_told_in_the_document_too(run: Run, tmp_path: Path) -> None:
    commit(tmp_path / "shop", _CODE)
    (tmp_path / "file").write_text("x")
    for store in ("file", "file/below"):
        ended = run("index", "shop", "--store", store, "--embedder", "none", "--json")
        assert ended.code == 1
        assert set(ended.document()) == {*Summary().to_dict(), "error"}
        (failure,) = ended.document()["failed"]
        assert str(tmp_path / store) in failure["reason"]
        assert failure["reason"] in ended.err


@pytest.mark.parametrize(
    "arguments",
    [("search", "\udcff"), ("show", "\udcff"), ("sql", "\udcff"), ("search", "x", "-l", "\udcff")],
    ids=["question", "id", "statement", "filter"],
)
def test_bytes_that_are_no_text_are_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.code == 2
    assert "UTF-8" in ended.err


def test_json_is_valid_where_the_locale_lacks_its_characters(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("naïve = '日本'\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, "chunk", tmp_path / "a.py", "--json"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["chunks"][0]["text"] == "naïve = '日本'"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 200_000)  # more than a pipe holds
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, "chunk", tmp_path / "a.py", "--json"],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("shell", "code", "told"),
    [
        ("{} languages --json >&-", 0, ""),
        ("{} languages --json >/dev/full", 1, "cannot write the answer: No space left on device"),
        ("rmdir $PWD; {} languages", 2, "the present folder was removed"),
    ],
)
def test_where_an_answer_cannot_go_is_told_in_one_line(
    tmp_path: Path, shell: str, code: int, told: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command = shell.format(f"{sys.executable} -c '{_PROGRAM}'")
    ended = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, check=False
    )
    lines = ended.stderr.decode().splitlines()
    assert (ended.returncode, len(lines)) == (code, bool(told)), lines
    assert not told or told in lines[0]


def test_code_does_not_command_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("title = '\x1b]0;owned\x07[bold]x[/bold] [/]'\n")
    shown = run("chunk", "a.py").out
    assert "\x1b" not in shown
    assert "[bold]x[/bold] [/]" in shown


@pytest.mark.parametrize("name", ["pipe.py", "/dev/zero", "absent.py", "."])
def test_what_is_no_regular_file_is_not_waited_for(run: Run, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    ended = run("chunk", name, "--json")
    assert (ended.code, ended.document()["error"]["kind"]) == (2, "usage")
    assert repr(name) in ended.err


def test_a_file_name_that_is_no_text_is_cut_too(run: Run, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.py")
    (tmp_path / name).write_text("x = 1\n")
    assert run("chunk", name, "--json").document()["language"] == "python"


def test_a_program_is_no_list_of_sources(run: Run, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import os\nx:int = 1\n")
    found = run("index", "app.py", "--embedder", "none", "--json").document()
    assert [failure["repository"] for failure in found["failed"]] == ["app.py"]
    assert "Not a directory" in found["failed"][0]["reason"]


def test_a_table_lost_is_told_with_what_restores_it(run: Run, tmp_path: Path) -> None:
    commit(tmp_path / "shop", _CODE)
    asked = ("index", "shop", "--embedder", "none", "--json")
    assert run(*asked).code == 0
    shutil.rmtree(tmp_path / ".codelake" / "repositories.lance")
    ended = run(*asked)
    (failure,) = ended.document()["failed"]
    assert ended.code == 1
    assert "cannot open table 'repositories'" in failure["reason"]
    assert "`codelake store rebuild` and the next `codelake index`" in failure["reason"]
    assert ".rs:" not in failure["reason"]
    ended = run("status")
    assert (ended.code, ended.out.startswith("nightly   failed, ended ")) == (1, True)
    assert "red       stage repositories failed: cannot open table" in ended.out
    assert run("store", "rebuild").code == 0
    assert run(*asked).document()["files"]["indexed"] == 2


def test_an_unknown_chunker_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    ended = run("chunk", "a.py", "--chunker", "casst")
    assert (ended.code, ended.out) == (2, "")
    assert "unknown chunker 'casst'; choose from" in ended.err


def test_a_damaged_record_of_runs_is_told_with_its_place(run: Run, tmp_path: Path) -> None:
    commit(tmp_path / "shop", _CODE)
    for database in ("history/runs.db", "schedules/schedules.db"):
        place = tmp_path / "lake" / "dagster" / database
        place.parent.mkdir(parents=True)
        place.write_bytes(b"no database" * 1000)
    ended = run("index", "shop", "--store", "lake", "--embedder", "none", "--json")
    assert ended.code == 1
    assert str(tmp_path / "lake" / "dagster") in ended.document()["failed"][0]["reason"]
    assert "Traceback" not in ended.err
    shutil.rmtree(tmp_path / "lake" / "dagster")
    assert run("index", "shop", "--store", "lake", "--embedder", "none", "--json").code == 0


def test_any_answer_of_sql_is_a_json_document(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    commit(tmp_path / "shop", _CODE)
    assert run("index", "shop", "--embedder", "none").code == 0
    values = (
        "'nan'::double n, date '2024-02-29' d, 1.50::decimal(4, 2) e, '\\xff'::blob b, {'k': 1} s"
    )
    ended = run("sql", f"select {values}, [1, null] l", "--json")
    (row,) = json.loads(ended.out)
    assert row == {
        "n": None, "d": "2024-02-29", "e": "1.50", "b": "b'\\xff'", "s": {"k": 1}, "l": [1, None],
    }  # fmt: skip


@pytest.mark.parametrize("stage", ["files", "symbols"])
def test_ctrl_c_ends_with_one_line_and_the_next_run_finishes(tmp_path: Path, stage: str) -> None:
    commit(tmp_path / "shop", {f"{n}.py": f"def f{n}():\n    return {n}\n" for n in range(40)})
    places = [str(tmp_path / "shop"), "--store", str(tmp_path / "lake")]
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, "index", *places, "--embedder", "none"],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(f"{stage}:"):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted; what was stored is kept, run again to finish"
    assert "Traceback" not in err
    assert night(tmp_path / "lake", tmp_path / "shop", embedding__embedder="none").failed == []
    assert len(rows(tmp_path / "lake", "symbols")) == 40
