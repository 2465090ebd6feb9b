"""What is told to a webhook, once and again if need be: a real one on loopback."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Final

import dagster as dg
import pytest
from nights import commit, configured, night

from codelake.errors import AlertError
from pipelines.alerting import Cursor, Ending, RunAlerts, alert_of_staleness
from pipelines.definitions import alert_on_checks, alert_on_failure, defs
from pipelines.instance import WRITER_TAG, open_instance, open_passing_instance
from pipelines.webhook import post_alert
from resources.nights import Night, read_nights, write_night
from resources.store import LanceStore

_RED: Final[Ending] = dg.DagsterEventType.RUN_FAILURE
_GREEN: Final[Ending] = dg.DagsterEventType.RUN_SUCCESS
_SECRET = "T0/B0/hush"  # noqa: S105 # it opens nothing
_FROM_THE_FIRST = '{"after": -1}'  # a sensor that has told of no run yet


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store after a night on which all was well, and one on which ``gate`` was broken."""
    folder = tmp_path_factory.mktemp("nights")
    commit(folder / "gate", {"a.py": "one = 1\n"})
    night(folder / "store", folder / "gate")
    (folder / "gate" / ".git" / "HEAD").write_text("no head\n")
    night(folder / "store", folder / "gate")
    return folder / "store"


class _Hook(BaseHTTPRequestHandler):
    """A webhook that keeps what it gets, and takes it once it has given its other answers."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append(json.loads(body))  # type: ignore[attr-defined]
        answers = self.server.answers  # type: ignore[attr-defined]
        self.send_response(answers.pop(0) if answers else 200)
        self.send_header("Content-Length", "0")
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        pass


@contextmanager
def _hook(*answers: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    with HTTPServer(("127.0.0.1", 0), _Hook) as server:
        server.got, server.answers = [], list(answers)  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}/{_SECRET}"
            yield address, server.got  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


def _tell(
    store: Path, address: str, cursor: str | None, hours: float = 1.0, *, is_green: bool = False
) -> tuple[str, str]:
    """Let the sensor of red or green runs look some hours on; return what it says, its cursor."""
    alerts = RunAlerts(store, str(store), ("nightly",), _GREEN if is_green else _RED)
    with open_instance(store) as instance:
        told = alerts.tell(instance, address, cursor, datetime.now(UTC) + timedelta(hours=hours))
    assert isinstance(told.skip_reason, dg.SkipReason)
    return told.skip_reason.skip_message or "", told.cursor or ""


def test_a_red_night_is_told_once(store: Path) -> None:
    last = read_nights(store)[0]
    with _hook() as (address, got):
        said, cursor = _tell(store, address, _FROM_THE_FIRST)
        assert said == f"run {last.run_id} was told"
        said, cursor = _tell(store, address, cursor)
        assert said == "nothing to tell"
        said, _ = _tell(store, address, _FROM_THE_FIRST, is_green=True)
        assert said == "nothing to tell"
    (message,) = got
    assert message["run_id"] == last.run_id
    assert message["failures"].keys() == {"gate"}
    assert message["text"].startswith("codelake: nightly is partial\n`gate: ")
    assert "every_repository_was_read" in message["text"]


def test_a_night_is_known_by_its_store_however_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    night("store")
    alerts = RunAlerts(tmp_path / "store", str(tmp_path / "store"), ("nightly",), _RED)
    later = datetime.now(UTC) + timedelta(hours=1)
    with _hook() as (address, got), open_instance(tmp_path / "store") as instance:
        alerts.tell(instance, address, _FROM_THE_FIRST, later)
    assert [message["outcome"] for message in got] == ["failed"]


def test_an_alert_that_was_not_taken_is_sent_again_until_it_is(store: Path) -> None:
    run = read_nights(store)[0].run_id
    with _hook(503, 302) as (address, got):
        said, cursor = _tell(store, address, _FROM_THE_FIRST, 1)
        assert said.startswith(f"run {run} was not told, try 1 of 30: ")
        assert "CODELAKE_ALERT_URL answered 503" in said
        said, cursor = _tell(store, address, cursor, 1)
        assert "the next is at" in said
        said, cursor = _tell(store, address, cursor, 2)
        assert "try 2 of 30" in said
        said, cursor = _tell(store, address, cursor, 3)
        assert said == f"run {run} was told"
        said, cursor = _tell(store, address, cursor, 4)
        assert said == "nothing to tell"
    assert [message["run_id"] for message in got] == [run] * 3


def test_an_alert_that_nobody_takes_is_given_up(
    store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said, cursor, hours, pauses = "", _FROM_THE_FIRST, 1.0, list[float]()
    while "given up" not in said:
        said, cursor = _tell(store, f"http:///{_SECRET}", cursor, hours)
        hours += 2.0
        pauses.append(json.loads(cursor)["due"])
    assert len(pauses) == 30
    assert "cannot be reached (InvalidURL)" in said
    assert _SECRET not in caplog.text
    assert caplog.text.count("stage=alerts: run ") == 30
    assert _tell(store, f"http:///{_SECRET}", cursor, hours)[0] == "nothing to tell"


@pytest.mark.parametrize("status", [400, 413, 422])
def test_an_alert_that_is_refused_itself_does_not_hold_up_the_next(
    store: Path, status: int
) -> None:
    said, cursor = "", _FROM_THE_FIRST
    with _hook(503, 503, status, status, status) as (address, got):
        # After an outage as well it is refused three times, one minute and two after another.
        for minutes, tried in (
            (60, "try 1 of 30"),
            (90, "try 2 of 30"),
            (120, "refusal 1 of 3"),
            (121.5, "refusal 2 of 3"),
            (124, "refusal 3 of 3"),
        ):
            assert "given up" not in said
            said, cursor = _tell(store, address, cursor, minutes / 60)
            assert f"was not told, {tried}: the webhook of CODELAKE_ALERT_URL answered" in said
        assert said.endswith("it is given up")
        assert _tell(store, address, cursor, 4)[0] == "nothing to tell"
    assert len(got) == 5


def test_how_far_a_sensor_of_before_came_is_kept() -> None:
    assert Cursor.read('{"after": 7, "tries": 2, "due": 3.0}') == Cursor(7, 2, 3.0)


def test_runs_of_others_and_of_before_are_not_told(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _hook() as (address, got):
        said, cursor = _tell(store, address, None)
        assert said == "it is told from here on"
        assert _tell(store, address, cursor)[0] == "nothing to tell"
        said, cursor = _tell(store, "", _FROM_THE_FIRST)
        assert said == "CODELAKE_ALERT_URL is not set: nobody is told"
        assert _tell(store, address, cursor)[0] == "nothing to tell"
        other = RunAlerts(store, "another", ("nightly",), _RED)
        later = datetime.now(UTC) + timedelta(hours=1)
        with open_instance(store) as instance:
            other.tell(instance, address, _FROM_THE_FIRST, later)
            monkeypatch.setenv("CODELAKE_ALERT_URL", address)
            for sensor in (alert_on_failure, alert_on_checks):
                result = sensor(dg.build_sensor_context(instance))
                assert isinstance(result, dg.SensorResult)
                assert json.loads(result.cursor or "")["after"] > 0
    assert got == []


def test_a_run_without_a_record_is_told_too(store: Path, tmp_path: Path) -> None:
    alerts = RunAlerts(tmp_path, str(store), ("nightly",), _RED)
    later = datetime.now(UTC) + timedelta(hours=1)
    with _hook() as (address, got), open_instance(store) as instance:
        alerts.tell(instance, address, _FROM_THE_FIRST, later)
    assert got[0]["text"] == "codelake: the run of nightly failed before it was recorded"


def test_a_green_run_without_a_record_is_not_told(store: Path, tmp_path: Path) -> None:
    alerts = RunAlerts(tmp_path, str(store), ("nightly",), _GREEN)
    later = datetime.now(UTC) + timedelta(hours=1)
    with _hook() as (address, got), open_instance(store) as instance:
        told = alerts.tell(instance, address, _FROM_THE_FIRST, later)
    assert (got, json.loads(told.cursor or "")["after"] > 0) == ([], True)


def test_a_run_is_told_as_its_record_says_however_many_came_after_it(
    store: Path, tmp_path: Path
) -> None:
    shutil.copytree(store / "nights", tmp_path / "nights")
    for number in range(30):
        write_night(tmp_path, Night(f"later{number}", "nightly", f"2099-01-{number + 1:02}"))
    alerts = RunAlerts(tmp_path, str(store), ("nightly",), _RED)
    later = datetime.now(UTC) + timedelta(hours=1)
    with _hook() as (address, got), open_instance(store) as instance:
        alerts.tell(instance, address, _FROM_THE_FIRST, later)
    assert [message["outcome"] for message in got] == ["partial"]


def test_a_dry_run_leaves_dagster_nothing_to_tell_of(tmp_path: Path) -> None:
    night(tmp_path / "store", tmp_path)
    with open_instance(tmp_path / "store") as instance:
        before = instance.get_runs_count()
        night(tmp_path / "store", tmp_path, is_dry=True)
        assert (before, instance.get_runs_count()) == (1, 1)
    with open_passing_instance() as passing:
        assert not passing.telemetry_enabled


def test_a_run_that_did_not_get_the_lock_is_told_with_the_reason(tmp_path: Path) -> None:
    store = tmp_path / "store"
    resources = {
        "configuration": {"config": configured(store, tmp_path).recorded()},
        "stages": {"config": {"folder": str(store / "stages")}},
    }
    alerts = RunAlerts(store, str(store), ("nightly",), _RED)
    with LanceStore(store).writing(), open_instance(store) as instance:
        defs.resolve_job_def("nightly").execute_in_process(
            run_config={"resources": resources},
            instance=instance,
            raise_on_error=False,
            tags={WRITER_TAG: str(store)},
        )
        later = datetime.now(UTC) + timedelta(hours=1)
        with _hook() as (address, got):
            alerts.tell(instance, address, _FROM_THE_FIRST, later)
    first, second = got[0]["text"].split("\n")
    assert first == "codelake: the run of nightly failed before it was recorded"
    assert re.fullmatch(r"`the run failed: the store .* is being written by process .*`", second)


def test_a_night_left_out_is_told_once(store: Path) -> None:
    last = read_nights(store)[0]
    later = datetime.now(UTC) + timedelta(hours=37)
    with _hook() as (address, got):
        fresh = alert_of_staleness(address, store, datetime.now(UTC), None)
        assert isinstance(fresh, dg.SkipReason)
        told = alert_of_staleness(address, store, later, None)
        assert isinstance(told, dg.SensorResult)
        assert isinstance(alert_of_staleness(address, store, later, told.cursor), dg.SkipReason)
    assert [message["run_id"] for message in got] == [last.run_id]
    assert "no night for 36 hours" in got[0]["text"]


def test_an_alert_goes_nowhere_else_and_its_error_keeps_the_address() -> None:
    with _hook(302) as (address, got), pytest.raises(AlertError) as caught:
        post_alert(address, {"text": "red"})
    assert got == [{"text": "red"}]
    assert "CODELAKE_ALERT_URL answered 302" in str(caught.value)
    with pytest.raises(AlertError) as unreached:
        post_alert(f"http:///{_SECRET}", {"text": "red"})
    for error in (caught.value, unreached.value):
        assert error.__context__ is None
        assert _SECRET not in str(error)


def test_each_alert_has_its_sensor() -> None:
    names = {sensor.name for sensor in defs.sensors or ()}
    assert names >= {"alert_on_failure", "alert_on_checks", "alert_on_staleness"}
