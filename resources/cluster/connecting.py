"""The connection of a run to its cluster, through dagster-ray; made when it is first needed."""

import os
import socket
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Final, Self

import dagster as dg

from codelake.errors import ClusterError, UsageError

_ADDRESS: Final = "RAY_ADDRESS"
_MODE: Final = "RAY_AUTH_MODE"
_WAIT: Final = 10.0  # seconds for an answer from the head; Ray itself tries for minutes
_TOKENS: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


def check_cluster() -> None:
    """Check what a run on a cluster needs, without a word to the cluster.

    Raises:
        UsageError: a package is missing, or a variable is that must say where the cluster is and
            how to show that one may use it; the message says what to do.
    """
    wanted = 'run.engine = "ray"'
    if not (find_spec("ray") and find_spec("dagster_ray")):
        message = f"{wanted} needs Ray: install codelake[ray], or leave run.engine out"
        raise UsageError(message)
    address = os.environ.get(_ADDRESS, "")
    if not address or address.startswith("ray://"):
        given = f"{_ADDRESS} is {address!r}" if address else f"{_ADDRESS} is not set"
        message = (
            f"{wanted} needs a cluster, {given}: run `ray start` on this machine as a node of the "
            f"cluster and set {_ADDRESS}=auto, or HOST:PORT of its head"
        )
        raise UsageError(message)
    if os.environ.get(_MODE) != "token" or not any(os.environ.get(name) for name in _TOKENS):
        message = (
            f"{wanted} needs a token, since a cluster without one runs what anybody sends: set "
            f"{_MODE}=token and {' or '.join(_TOKENS)} for the head, every node and here"
        )
        raise UsageError(message)


def require_head(address: str) -> None:
    """Check that somebody listens at ``HOST:PORT``; other words for an address are Ray's to read.

    Raises:
        ClusterError: nobody does.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_WAIT).close()
    except (OSError, OverflowError) as error:
        message = (
            f"nobody answers at {_ADDRESS}={address} ({error}): give HOST:PORT of the head, which "
            "`ray start --head` prints, and see that the port can be reached from here"
        )
        raise ClusterError(message) from error


class Connection:
    """What a run shares with its cluster until it is over.

    Args:
        context: for dagster-ray, which logs through it; None outside of a job.
    """

    def __init__(self, context: dg.InitResourceContext | None = None) -> None:
        """Connect nothing yet."""
        self._context = context or dg.build_init_resource_context()
        self._cluster: Any = None  # dagster-ray's, which may not be installed

    def __enter__(self) -> Self:
        """Return the connection, which is not made yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the cluster."""
        self.close()

    def open(self) -> str:
        """Connect, if that was not done, and return the id of the node this process runs on.

        Raises:
            UsageError: see :func:`check_cluster`.
            ClusterError: there is no cluster at the address, or it does not take the token.
        """
        check_cluster()
        require_head(os.environ[_ADDRESS])
        # Two seconds and a hundred megabytes that no other run should pay.
        import ray  # noqa: PLC0415
        from dagster_ray import LocalRay  # noqa: PLC0415

        if self._cluster is None:
            cluster = LocalRay(
                ray_init_options={"log_to_driver": False, "logging_level": "ERROR"},
            )
            try:
                cluster.connect(self._context)
            except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
                reason = " ".join(str(error).split())
                message = f"no cluster at {_ADDRESS}={os.environ[_ADDRESS]}: {reason}"
                raise ClusterError(message) from error
            self._cluster = cluster
        return str(ray.get_runtime_context().get_node_id())

    def close(self) -> None:
        """Leave the cluster; what this run has there ends."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.cleanup(self._context, None)
