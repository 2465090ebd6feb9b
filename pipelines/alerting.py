"""Tell a person that a night is red, that a check failed, or that there was no night.

What a webhook does not take is sent again by later ticks of the sensor, until it is taken or has
been tried for a day; what it refuses for what it is only a few times, since others wait behind it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from logging import ERROR, WARNING
from pathlib import Path
from typing import Any, Final, Literal, Self

import dagster as dg

from codelake.errors import AlertError
from pipelines.instance import WRITER_TAG
from pipelines.summarizing import stage_failures
from pipelines.telling import STALE, as_code, describe_night, is_stale
from pipelines.webhook import VARIABLE, RefusedAlertError, post_alert
from resources.logs import log_stage
from resources.nights import find_night, read_nights

Ending = Literal[dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.RUN_SUCCESS]

_FAILURES: Final = {dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.STEP_FAILURE}
_NO_ADDRESS: Final = f"{VARIABLE} is not set: nobody is told"
_EVENTS: Final = 25  # ends of runs that one tick looks at
_SETTLED: Final = timedelta(minutes=1)  # `codelake index` writes its record after its run has ended
_PAUSE: Final = timedelta(minutes=1)  # after the first try, doubled after each
_LONGEST: Final = timedelta(hours=1)  # pause
_TRIES: Final = 30  # with these pauses a day
_REFUSALS: Final = 3  # of the alert itself: the others wait three minutes for it and not a day


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a sensor has come.

    Args:
        after: number of the last end of a run that needs no more telling.
        tries: times that the one after it was sent and not taken.
        due: when it is sent again, as a Unix time.
        refusals: how many of the tries were refused for what is in it.
    """

    after: int
    tries: int = 0
    due: float = 0.0
    refusals: int = 0

    @classmethod
    def read(cls, text: str | None) -> Self | None:
        """Return the cursor of that text; nothing where it is none."""
        try:
            return cls(**json.loads(text or ""))
        except (ValueError, TypeError):
            return None

    def after_failure(self, now: datetime, *, is_refused: bool) -> Self:
        """Return the cursor after one more try that failed; refusals have pauses of their own."""
        count = self.refusals if is_refused else self.tries
        due = now + min(_PAUSE * 2**count, _LONGEST)
        refusals = self.refusals + is_refused
        return type(self)(self.after, self.tries + 1, due.timestamp(), refusals)

    @property
    def is_given_up(self) -> bool:
        """Whether it was tried often enough."""
        return self.tries >= _TRIES or self.refusals >= _REFUSALS


@dataclass(frozen=True, slots=True)
class RunAlerts:
    """Tells of the runs over one store that ended in one way.

    Args:
        work: where the nights are recorded.
        store: the store as runs are tagged with it.
        jobs: names of the jobs that are watched.
        ending: the event that ends them so.
    """

    work: Path
    store: str
    jobs: tuple[str, ...]
    ending: Ending

    def tell(
        self, instance: dg.DagsterInstance, address: str, cursor: str | None, now: datetime
    ) -> dg.SensorResult:
        """Send what is to be told of the next run, and return how far that came.

        The first look only remembers which runs there are.
        """
        seen = Cursor.read(cursor)
        if seen is None or not address:
            newest = instance.fetch_run_status_changes(self.ending, limit=1).records
            reason = "it is told from here on" if address else _NO_ADDRESS
            return _result(Cursor(newest[0].storage_id if newest else -1), reason)
        if now.timestamp() < seen.due:
            again = datetime.fromtimestamp(seen.due, now.tzinfo)
            return _result(seen, f"{seen.tries} tries failed, the next is at {again:%H:%M %Z}")
        for number, run in self._ended(instance, seen.after, now):
            message = self._message(instance, run) if run else None
            if message is not None:
                return _send(address, message, number, seen, now)
            seen = Cursor(number)
        return _result(seen, "nothing to tell")

    def _ended(
        self, instance: dg.DagsterInstance, after: int, now: datetime
    ) -> list[tuple[int, dg.DagsterRun | None]]:
        """Return the runs that ended, the oldest first; None for one that is not ours."""
        records = instance.fetch_run_status_changes(
            dg.RunStatusChangeRecordsFilter(
                self.ending,
                after_storage_id=after,
                before_timestamp=(now - _SETTLED).timestamp(),
            ),
            limit=_EVENTS,
            ascending=True,
        ).records
        ids = [record.run_id for record in records]
        if not ids:
            return []
        found = instance.get_runs(dg.RunsFilter(run_ids=ids, tags={WRITER_TAG: self.store}))
        ours = {run.run_id: run for run in found if run.job_name in self.jobs}
        return [(record.storage_id, ours.get(record.run_id)) for record in records]

    def _message(self, instance: dg.DagsterInstance, run: dg.DagsterRun) -> dict[str, Any] | None:
        night = find_night(self.work, run.run_id)
        if night is not None:
            return describe_night(night)
        if self.ending is not dg.DagsterEventType.RUN_FAILURE:
            return None  # recorded elsewhere, or long ago
        logs = instance.all_logs(run.run_id, of_type=_FAILURES)
        events = [log.dagster_event for log in logs if log.dagster_event is not None]
        reasons = [as_code(failure["reason"]) for failure in stage_failures(events)]
        text = f"codelake: the run of {run.job_name} failed before it was recorded"
        return {"text": "\n".join([text, *reasons]), "run_id": run.run_id, "job": run.job_name}


def _send(
    address: str, message: Mapping[str, Any], number: int, seen: Cursor, now: datetime
) -> dg.SensorResult:
    """Send ``message`` and return how far that came."""
    try:
        post_alert(address, message)
    except AlertError as error:
        is_refused = isinstance(error, RefusedAlertError)
        failed = seen.after_failure(now, is_refused=is_refused)
        tried = f"try {failed.tries} of {_TRIES}"
        tried = f"refusal {failed.refusals} of {_REFUSALS}" if is_refused else tried
        told = f"run {message['run_id']} was not told, {tried}: {error}"
        if not failed.is_given_up:
            log_stage(WARNING, "alerts", told)
            return _result(failed, told)
        log_stage(ERROR, "alerts", f"{told}; it is given up")
        return _result(Cursor(number), f"{told}; it is given up")
    return _result(Cursor(number), f"run {message['run_id']} was told")


def _result(cursor: Cursor, reason: str) -> dg.SensorResult:
    return dg.SensorResult(skip_reason=reason, cursor=json.dumps(asdict(cursor)))


def alert_of_staleness(
    address: str, store: Path, now: datetime, cursor: str | None
) -> dg.SensorResult | dg.SkipReason:
    """Tell once of each night that was the last for too long.

    Raises:
        AlertError: the webhook does not take it; it is tried again.
    """
    if not address:
        return dg.SkipReason(_NO_ADDRESS)
    nights = read_nights(store)
    if not nights or not is_stale(nights[0], now):
        return dg.SkipReason("the index is fresh, or there was no night yet")
    if cursor == nights[0].run_id:
        return dg.SkipReason("it was told already")
    hours = STALE.total_seconds() / 3600
    text = f"codelake: no night for {hours:.0f} hours; the last one began {nights[0].began}"
    post_alert(address, {"text": text, "run_id": nights[0].run_id, "job": nights[0].job})
    return dg.SensorResult(cursor=nights[0].run_id)
