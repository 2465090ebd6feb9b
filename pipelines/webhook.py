"""Send what is to be told to a webhook: Slack, Mattermost, Teams, or a program of one's own.

Its address is a secret: it stands in no setting, log or error.
"""

from collections.abc import Mapping
from typing import Any, Final

import requests

from codelake.errors import AlertError

VARIABLE: Final = "CODELAKE_ALERT_URL"
"""The environment variable with the address of the webhook."""

_SECONDS: Final = 10.0  # for an answer
_NOT_TAKEN: Final = 300  # status from which on it was not taken
_REFUSED: Final = (400, 413, 422)  # statuses of a message that is wrong or too large


class RefusedAlertError(AlertError):
    """A webhook does not take this alert and may take another; it hardly helps to wait."""


def post_alert(address: str, message: Mapping[str, Any]) -> None:
    """Send ``message`` as JSON, once; redirects are not followed.

    Raises:
        RefusedAlertError: this message is not taken.
        AlertError: none is. The error does not tell the address.
    """
    problem, kind = "", AlertError
    try:
        answer = requests.post(address, json=message, timeout=_SECONDS, allow_redirects=False)
        if answer.status_code >= _NOT_TAKEN:
            problem = f"answered {answer.status_code}"
            kind = RefusedAlertError if answer.status_code in _REFUSED else AlertError
    except requests.RequestException as error:
        problem = f"cannot be reached ({type(error).__name__})"
    if problem:
        # Outside of the handler: a chained error would tell the address.
        reason = f"the webhook of {VARIABLE} {problem}; check the address and the service behind it"
        raise kind(reason)
