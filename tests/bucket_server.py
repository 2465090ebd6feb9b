"""An S3 service on loopback: moto's, which keeps the conditions of a write."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from codelake.bucket_settings import S3Settings

BUCKET = "lake"
KEYS = {"AWS_ACCESS_KEY_ID": "sample-key", "AWS_SECRET_ACCESS_KEY": "sample-secret"}

Start = Callable[[str, list[tuple[str, str]]], Any]
Application = Callable[[dict[str, Any], Start], Iterable[bytes]]


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # so that connections are kept

    def log_request(self, *_: object) -> None:
        """Say nothing of what was asked."""


@contextmanager
def bucket_server(around: Callable[[Application], Application] = lambda app: app) -> Iterator[str]:
    """Serve an empty bucket and yield the service's address.

    ``around`` may stand between the service and who asks.
    """
    app = around(create_backend_app("s3"))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        requests.put(f"{address}/{BUCKET}", timeout=30).raise_for_status()
        yield address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def reached(address: str, *, lease_seconds: float = 60.0) -> S3Settings:
    """Return the settings that reach the service; a lease may be as short as a test waits."""
    settings = S3Settings(endpoint=address, allow_http=True)
    return settings.model_copy(update={"lease_seconds": lease_seconds})


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the keys of the bucket in the environment."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
