"""Run ``codelake watch`` as a person does and read what it tells, line by line."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_ROOT = Path(__file__).parents[1]
_MAIN = "from pipelines.command_line import main; main()"
_PATIENCE = 120.0  # seconds; only a broken watch comes near it


class Watch:
    """A running ``codelake watch --json``."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        assert process.stdout is not None
        self._lines = Lines(process.stdout)

    def event(self, name: str) -> dict[str, Any]:
        """Wait for the next event, which is to be of this name."""
        event = self.next()
        assert event["event"] == name, event
        return event

    def next(self) -> dict[str, Any]:
        """Wait for the next event."""
        event: dict[str, Any] = json.loads(self._lines.next())
        return event

    def end(self, number: int) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(_PATIENCE)


class Lines:
    """The lines of a pipe as they come."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._rest = b""

    def next(self) -> str:
        """Wait for the next line."""
        until = time.monotonic() + _PATIENCE
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._pipe], [], [], until - time.monotonic())
            part = os.read(self._pipe.fileno(), 65536) if ready else b""
            assert part, f"no line, but {self._rest!r}"
            self._rest += part
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()


@contextmanager
def watching(store: Path, *words: str, quiet_seconds: float = 0.3) -> Iterator[Watch]:
    """Watch until the block ends, and let the first update be done when it begins."""
    store.mkdir(exist_ok=True)
    config = store / "watch.toml"
    config.write_text(
        '[embedding]\nembedder = "hash"\n[run]\nworkers = 1\n'
        f"[watch]\nquiet_seconds = {quiet_seconds}\n"
    )
    command = [sys.executable, "-c", _MAIN, "watch", *words, "--json"]
    command += ["--store", str(store), "--config", str(config)]
    environment = os.environ | {"PYTHONPATH": str(_ROOT)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=store
    ) as process:
        try:
            watch = Watch(process)
            watch.event("watching")
            watch.event("updated")
            yield watch
        finally:
            process.kill()
