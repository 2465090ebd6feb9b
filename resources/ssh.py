"""Ssh, run so that it never asks and trusts no host that is not known."""

import os
import shlex
from collections.abc import Mapping
from typing import Final

# A host whose key is not in known_hosts is refused; a line that has gone dead ends after a minute.
_OPTIONS: Final = (
    "-oBatchMode=yes",
    "-oStrictHostKeyChecking=yes",
    "-oConnectTimeout=20",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=4",
)
COMMAND: Final = shlex.join(("ssh", *_OPTIONS))
_LONGEST_LINE: Final = 300  # characters of it that are told; the other side may send any
_NOISE: Final = ("Warning:", "@", "debug", "** ")  # begin lines that tell nothing
_HINTS: Final[Mapping[str, str]] = {
    "REMOTE HOST IDENTIFICATION HAS CHANGED": "find out why its key is another one",
    "Host key verification failed": "connect once by hand, so that its key is known",
    "Permission denied (": "let the ssh agent have a key that the server takes",
    "Connection refused": "check host and port",
    "Could not resolve hostname": "check the name of the host",
}


def explain_ssh(text: str) -> str:
    """Return the telling line of what ssh wrote to standard error, and what may help."""
    lines = [line.strip()[:_LONGEST_LINE] for line in text.splitlines()]
    for words, hint in _HINTS.items():
        for line in lines:
            if words in line:
                return f"{line.strip('@ ')}; {hint}"
    said = [line for line in lines if line and not line.startswith(_NOISE)]
    return said[0] if said else "ssh failed without a message"


def ssh_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return how ssh is called: as ``GIT_SSH_COMMAND`` says, as for git, and with our options."""
    own = shlex.split(environment.get("GIT_SSH_COMMAND", "ssh")) or ["ssh"]
    return [*own, *_OPTIONS]
