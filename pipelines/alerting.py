"""Tell a person that a night is red, that a check failed, or that there was no night.

The message goes to a webhook (Slack, Mattermost, Teams, or a program of one's own). Its address is
a secret: it stands in no setting, log or error.
"""

from collections.abc import Mapping
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any, Final

import dagster as dg
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from codelake.errors import AlertError
from pipelines.telling import STALE, failures_by_place, is_stale
from resources.nights import Night, read_nights

VARIABLE: Final = "CODELAKE_ALERT_URL"
"""The environment variable with the address of the webhook."""

_NO_ADDRESS: Final = dg.SkipReason(f"{VARIABLE} is not set: nobody is told")
_SECONDS: Final = 10.0  # for an answer
_LOOKED_AT: Final = 20  # nights among which that of a run is looked for
_NAMED: Final = 5  # failures in the text; all of them are in "failures"
_DOWN: Final = (429, 500, 502, 503, 504)
_REFUSED: Final = 300  # status from which on it was not taken
_RETRIES: Final = Retry(3, backoff_factor=0.5, status_forcelist=_DOWN, allowed_methods=["POST"])


def alert_of_run(address: str, store: Path, run: dg.DagsterRun) -> dg.SkipReason | None:
    """Tell of a run that failed, or in which a check did.

    Raises:
        AlertError: the webhook does not take it.
    """
    if not address:
        return _NO_ADDRESS
    kept = read_nights(store, _LOOKED_AT)
    night = next((night for night in kept if night.run_id == run.run_id), None)
    if night is None:
        text = f"codelake: the run of {run.job_name} failed before it was recorded"
        post_alert(address, {"text": text, "run_id": run.run_id, "job": run.job_name})
        return None
    message = describe_night(night)
    if message is None:
        return dg.SkipReason("all is well")
    post_alert(address, message)
    return None


def alert_of_staleness(
    address: str, store: Path, now: datetime, cursor: str | None
) -> dg.SensorResult | dg.SkipReason:
    """Tell once of each night that was the last for too long.

    Raises:
        AlertError: the webhook does not take it; it is tried again.
    """
    if not address:
        return _NO_ADDRESS
    nights = read_nights(store)
    if not nights or not is_stale(nights[0], now):
        return dg.SkipReason("the index is fresh, or there was no night yet")
    if cursor == nights[0].run_id:
        return dg.SkipReason("it was told already")
    hours = STALE.total_seconds() / 3600
    text = f"codelake: no night for {hours:.0f} hours; the last one began {nights[0].began}"
    post_alert(address, {"text": text, "run_id": nights[0].run_id, "job": nights[0].job})
    return dg.SensorResult(cursor=nights[0].run_id)


def describe_night(night: Night) -> dict[str, Any] | None:
    """Return what is to be told of ``night``; nothing if all is well."""
    failures = failures_by_place(night)
    broken = [c["name"] for c in night.checks if not c["passed"] and not c["warns"]]
    if night.outcome == "done" and not broken:
        return None
    some = [_as_code(f"{place}: {reason}") for place, reason in list(failures.items())[:_NAMED]]
    more = f"and {len(failures) - _NAMED} more" if len(failures) > _NAMED else ""
    checks = f"checks that failed: {', '.join(broken)}" if broken else ""
    heading = f"codelake: {night.job} is {night.outcome}"
    return {
        "text": "\n".join(part for part in (heading, *some, more, checks) if part),
        "job": night.job,
        "run_id": night.run_id,
        "outcome": night.outcome,
        "began": night.began,
        "failures": failures,
        "checks": broken,
    }


def _as_code(text: str) -> str:
    """Return one line in which no chat finds a link, an image or somebody to call."""
    line = " ".join(text.split()).replace("`", "'")
    return f"`{escape(line, quote=False)}`"


def post_alert(address: str, message: Mapping[str, Any]) -> None:
    """Send ``message`` as JSON; redirects are not followed.

    Raises:
        AlertError: it is not taken. The error does not tell the address.
    """
    problem = ""
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=_RETRIES))
        try:
            answer = session.post(address, json=message, timeout=_SECONDS, allow_redirects=False)
            if answer.status_code >= _REFUSED:
                problem = f"answered {answer.status_code}"
        except requests.RequestException as error:
            problem = f"cannot be reached ({type(error).__name__})"
    if problem:
        # Outside of the handler: a chained error would tell the address.
        reason = f"the webhook of {VARIABLE} {problem}; check the address and the service behind it"
        raise AlertError(reason)
