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
_REFUSED: Final = 300  # status from which on it was not taken


def post_alert(address: str, message: Mapping[str, Any]) -> None:
    """Send ``message`` as JSON, once; redirects are not followed.

    Raises:
        AlertError: it is not taken. The error does not tell the address.
    """
    problem = ""
    try:
        answer = requests.post(address, json=message, timeout=_SECONDS, allow_redirects=False)
        if answer.status_code >= _REFUSED:
            problem = f"answered {answer.status_code}"
    except requests.RequestException as error:
        problem = f"cannot be reached ({type(error).__name__})"
    if problem:
        # Outside of the handler: a chained error would tell the address.
        reason = f"the webhook of {VARIABLE} {problem}; check the address and the service behind it"
        raise AlertError(reason)
