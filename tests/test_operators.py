"""What an operator sees of the nights: the screen, the report, metrics and alerts."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner
from nights import commit, configured, night

from codelake.errors import StoreError, UsageError
from pipelines.command_line import command_line
from pipelines.definitions import defs
from pipelines.instance import open_instance
from pipelines.night_report import write_report
from pipelines.recording import NightRecord
from pipelines.telling import describe_night, failures_by_place, tell_night
from resources.nights import UNFINISHED, Night, read_nights, write_night

_ROOT = Path(__file__).parents[1]
_DAY = "2026-11-30T02:00:00+00:00"
_ONE = "def one():\n    return 1\n"
_CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store after a night on which all was well, and one on which ``gate`` was broken."""
    folder = tmp_path_factory.mktemp("nights")
    for name in ("gate", "shop"):
        commit(folder / "organisation" / name, {"a.py": _ONE, "yarn.lock": "a\n"})
    night(folder / "store", folder / "organisation")
    (folder / "organisation" / "gate" / ".git" / "HEAD").write_text("no head\n")
    night(folder / "store", folder / "organisation")
    return folder / "store"


def _run(*words: str) -> str:
    result = CliRunner().invoke(command_line, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_each_night_is_recorded_with_its_outcome(store: Path) -> None:
    second, first = read_nights(store, 9)
    assert (first.outcome, second.outcome) == ("done", "partial")
    assert (first.repositories, second.repositories) == (
        {"changed": 2},
        {"failed": 1, "unchanged": 1},
    )
    assert [c["name"] for c in second.checks if not c["passed"]] == ["every_repository_was_read"]
    assert second.rows["chunks"] == first.rows["chunks"] == 2
    assert first.began <= first.ended <= second.began


def test_dagster_plots_the_nights(store: Path) -> None:
    with open_instance(store) as instance:
        records = instance.fetch_materializations(dg.AssetKey("nights"), limit=9).records
    told = [r.asset_materialization.metadata for r in records if r.asset_materialization]
    assert [facts["repositories failed"].value for facts in told] == [1, 0]
    assert [facts["texts embedded"].value for facts in told] == [0, 3]
    assert all(isinstance(v.value, int | float) for facts in told for v in facts.values())
    assert told[0].keys() == told[1].keys() >= {"dollars", "seconds syntax", "chunks rows"}


def test_what_a_stage_logs_names_stage_and_repository(store: Path) -> None:
    with open_instance(store) as instance:
        run = next(r for r in instance.get_runs() if r.status is dg.DagsterRunStatus.FAILURE)
        logs = [(log.step_key, log.user_message) for log in instance.all_logs(run.run_id)]
    (line,) = [words for step, words in logs if step == "repositories" and "stage=" in words]
    assert line.startswith("stage=repositories repository=gate: ")
    assert "not a git repository" in line


def test_a_night_that_lost_its_tables_is_recorded_as_failed(tmp_path: Path) -> None:
    commit(tmp_path / "shop", {"a.py": _ONE})
    night(tmp_path / "store", tmp_path / "shop")
    commit(tmp_path / "shop", {"b.py": _ONE})
    shutil.rmtree(tmp_path / "store" / "chunks.lance" / "data")
    with suppress(StoreError):
        night(tmp_path / "store", tmp_path / "shop")
    outcomes = [told.outcome for told in read_nights(tmp_path / "store", 9)]
    assert outcomes == ["failed", "done"]


def test_a_night_that_dagster_starts_is_recorded_too(tmp_path: Path) -> None:
    commit(tmp_path / "shop", {"a.py": _ONE})
    configuration = configured(tmp_path / "store", tmp_path / "shop")
    resources = {
        "configuration": {"config": configuration.recorded()},
        "stages": {"config": {"folder": str(tmp_path / "store" / "stages")}},
    }
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("nightly").execute_in_process(
            run_config={"resources": resources}, instance=instance
        )
        assert instance.get_latest_materialization_event(dg.AssetKey("nights")) is not None
    (recorded,) = read_nights(tmp_path / "store", 9)
    assert (recorded.run_id, recorded.outcome) == (result.run_id, "done")


@pytest.mark.parametrize("error", [UsageError("say this"), RuntimeError("odd")])
def test_a_night_that_cannot_be_summed_up_says_why(tmp_path: Path, error: Exception) -> None:
    store, told = tmp_path / "store", "say this" if isinstance(error, UsageError) else repr(error)
    night(store, tmp_path)
    record = NightRecord.begin(configured(store, tmp_path), "abc", "nightly")
    with pytest.raises(type(error)), record.guarding():
        raise error
    last = next(night for night in read_nights(store, 9) if night.run_id == "abc")
    assert (last.outcome, last.reason) == ("failed", told)
    assert (describe_night(last) or {})["failures"] == {"the run": told}
    assert f"| the run | {told} |" in write_report([last], is_html=False)
    assert ("red", told) in [(line.label, line.text) for line in tell_night(last)]


@pytest.mark.parametrize(
    ("error", "expected"),
    [(OSError(28, "full"), StoreError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_a_night_that_dagster_cannot_plot_keeps_its_record(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    expected: type[BaseException],
) -> None:
    def refuse(*_: object) -> None:
        raise error

    commit(tmp_path / "shop", {"a.py": _ONE})
    monkeypatch.setattr(dg.DagsterInstance, "report_runless_asset_event", refuse)
    with pytest.raises(expected):
        night(tmp_path / "store", tmp_path / "shop")
    (last,) = read_nights(tmp_path / "store", 9)
    assert (last.outcome, last.reason, last.summary["repositories"]) == ("done", "", 1)


def test_a_night_whose_events_are_lost_is_recorded_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "full")

    configuration = configured(tmp_path / "store", tmp_path)
    resources = {
        "configuration": {"config": configuration.recorded()},
        "stages": {"config": {"folder": str(tmp_path / "store" / "stages")}},
    }
    with dg.DagsterInstance.ephemeral() as instance:
        monkeypatch.setattr(instance, "all_logs", refuse)
        defs.resolve_job_def("nightly").execute_in_process(
            run_config={"resources": resources}, instance=instance, raise_on_error=False
        )
    (last,) = read_nights(tmp_path / "store", 9)
    assert (last.outcome, last.reason) == ("failed", "OSError(28, 'full')")


def test_what_failed_in_no_repository_is_told_together() -> None:
    failed = [{"repository": "", "path": "", "reason": f"text {n} failed"} for n in range(7)]
    night = Night("abc", "nightly", _DAY, _DAY, "partial", {"failed": failed})
    told = "; ".join(f"text {n} failed" for n in range(5))
    assert failures_by_place(night) == {"the run": f"{told}; and 2 more"}


def test_an_alert_stays_short_whatever_failed() -> None:
    failed = [{"repository": "r" * 900, "path": f"{n}", "reason": "x" * 9000} for n in range(3)]
    failed += [{"repository": a + "q" * 900, "path": "", "reason": a} for a in "ab"]
    failed += [{"repository": f"r{n}", "path": "", "reason": "y" * 9000} for n in range(2000)]
    night = Night("abc", "nightly", _DAY, _DAY, "partial", {"failed": failed})
    message = describe_night(night) or {}
    assert len(json.dumps(message)) < 28_000
    assert len(message["failures"]) == 20
    assert [*message["failures"].items()][3:5] == [("4…" + "q" * 798, "a"), ("5…" + "q" * 798, "b")]
    assert message["failures"]["r9"] == "y" * 799 + "…"
    assert message["text"].endswith("\nand 2000 more")


def test_the_last_night_is_one_screen(store: Path) -> None:
    screen = _run("status", "--store", str(store))
    assert screen.count("\n") <= 24
    for line in (
        "nightly   partial, ended 20",
        "fresh     1 repositories, 0 of them changed",
        "red       1: gate",
        "skipped   1 files (1 lock-file)",
        "cost      0 texts embedded, 0 reused, 0 tokens, $0.0000",
        "checks    every_repository_was_read",
        "mend it (`git fsck`)",
    ):
        assert line in screen
    told = json.loads(_run("status", "--store", str(store), "--json"))["last_night"]
    assert told["outcome"] == "partial"


def test_a_night_that_was_killed_and_one_left_out_are_told(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "store")
    old = (datetime.now(UTC) - timedelta(days=3)).isoformat(timespec="seconds")
    shutil.rmtree(tmp_path / "store" / "nights")
    write_night(tmp_path / "store", Night("abc", "nightly", old))
    screen = _run("status", "--store", str(tmp_path / "store"))
    assert f"{UNFINISHED}, begun " in screen
    assert "3 days ago: it runs, or was killed" in screen
    assert "no night since; is the schedule on" in screen
    shutil.rmtree(tmp_path / "store" / "nights")
    assert "no night is recorded yet" in _run("status", "--store", str(tmp_path / "store"))


@pytest.mark.skipif(_CHROMIUM is None, reason="no chromium or google-chrome on PATH")
def test_the_report_is_one_page_that_a_browser_opens(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "night.html"
    _run("report", "--store", str(store), "-o", str(page))
    text = page.read_text("utf-8")
    assert not re.search(r"<script|src=|url\(|href=\"(?!data:)", text)
    command = [str(_CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, check=True)
    assert "CONSOLE" not in done.stderr
    assert done.stdout.count("<svg") == text.count("<svg") > 0
    for words in ("What is red", "mend it", "a dependency lock file", "The last nights"):
        assert words in done.stdout


def test_the_report_of_a_night_is_markdown_too(store: Path) -> None:
    second, first = read_nights(store, 9)
    text = _run("report", "--store", str(store), "--run", first.run_id[:8])
    assert "| nightly | done, ended" in text
    assert "What is red" not in text
    assert "| gate |" in _run("report", "--store", str(store), "--format", "markdown")
    result = CliRunner().invoke(command_line, ["report", "--store", str(store), "--run", "zz"])
    assert f"{second.run_id[:8]} ({second.began})" in str(result.exception)


def test_metrics_are_what_prometheus_reads(store: Path, tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="the extra codelake[metrics] is not installed")
    from prometheus_client.parser import (  # noqa: PLC0415 - optional
        text_string_to_metric_families,
    )

    file = tmp_path / "codelake.prom"
    _run("metrics", "--store", str(store), "-o", str(file))
    assert file.read_text("utf-8") == _run("metrics", "--store", str(store))
    samples = {
        (s.name, *s.labels.values()): s.value
        for family in text_string_to_metric_families(file.read_text("utf-8"))
        for s in family.samples
    }
    assert samples["codelake_night_outcome", "partial"] == 1
    assert samples["codelake_night_outcome", "done"] == 0
    assert samples["codelake_repositories", "failed"] == 1
    assert samples["codelake_rows", "chunks"] == 2
    assert samples["codelake_check_passed", "every_repository_was_read"] == 0
    assert samples["codelake_files_skipped", "binary"] == 0
    ended = datetime.fromisoformat(read_nights(store)[0].ended).timestamp()
    assert samples["codelake_fresh_timestamp_seconds",] == ended


def test_metrics_are_written_through_a_link_and_in_place_of_files_alone(
    store: Path, tmp_path: Path
) -> None:
    pytest.importorskip("prometheus_client", reason="the extra codelake[metrics] is not installed")
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    target = tmp_path / "folder" / "codelake.prom"
    target.parent.mkdir()
    link.symlink_to(target)
    for _ in ("not there yet", "there"):
        _run("metrics", "--store", str(store), "-o", str(link))
        assert link.is_symlink()
        assert "codelake_rows" in target.read_text("utf-8")
        target.write_text("old", "utf-8")
    os.mkfifo(pipe)
    for other in (pipe, target.parent):
        with pytest.raises(StoreError, match="it is no file"):
            _run("metrics", "--store", str(store), "-o", str(other))
    assert pipe.is_fifo()
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_metrics_are_served_until_interrupted(store: Path, number: int) -> None:
    pytest.importorskip("prometheus_client", reason="the extra codelake[metrics] is not installed")
    program = "from pipelines.command_line import main; main()"
    command = [sys.executable, "-c", program, "metrics", "--store", str(store), "--http"]
    command += ["--port", str(_free_port())]
    environment = os.environ | {"PYTHONPATH": str(_ROOT)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().strip()
        with urllib.request.urlopen(address) as answer:  # noqa: S310 # loopback
            assert b'codelake_rows{table="chunks"} 2.0' in answer.read()
        process.send_signal(number)
    assert process.returncode == 0


def _free_port() -> int:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return server.server_port


def test_what_is_well_is_not_told(store: Path) -> None:
    second, first = read_nights(store, 9)
    assert describe_night(first) is None
    warned = replace(first, checks=({"name": "few", "passed": False, "warns": True, "told": ""},))
    assert describe_night(warned) is None
    broken = replace(first, checks=({**warned.checks[0], "warns": False},))
    assert (describe_night(broken) or {})["checks"] == ["few"]
    many = [{"repository": f"r{n}", "path": "", "reason": "gone"} for n in range(9)]
    told = describe_night(replace(second, summary={**second.summary, "failed": many})) or {}
    assert "and 4 more" in told["text"]


def test_names_of_others_stay_names_in_what_is_sent_on(store: Path) -> None:
    place = "a|<!channel> @all ![x](http://x/) `b`"
    failed = [{"repository": place, "path": "", "reason": "gone"}]
    last = read_nights(store)[0]
    red = replace(last, summary={**last.summary, "failed": failed})
    told = describe_night(red) or {}
    line = "`a|&lt;!channel&gt; @all ![x](http://x/) 'b': gone`"
    assert told["text"].split("\n")[1] == line
    assert told["failures"] == {place: "gone"}
    row = r"| a\|\<!channel> @all ![x]\(http://x/) \`b\` | gone |"
    assert row in write_report([red], is_html=False).splitlines()
    assert "a|&lt;!channel&gt;" in write_report([red], is_html=True)


def test_sigterm_ends_the_interface_that_a_script_started(tmp_path: Path) -> None:
    """What stands before ``&`` in a script ignores Ctrl-C, and Dagster let SIGTERM do the same."""
    pytest.importorskip("dagster_webserver", reason="the extra codelake[ui] is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    main = "from pipelines.command_line import main; main()"
    words = [sys.executable, "-c", main, "ui", "--store", str(tmp_path / "store"), "--port", port]
    environment = os.environ | {"PYTHONPATH": str(_ROOT)}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            words,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    assert any("Serving dagster-webserver" in line for line in process.stdout)
    process.terminate()
    said, _ = process.communicate(timeout=120)  # its daemon and web server hold the pipe too
    assert "Dagster services shut down" in said
