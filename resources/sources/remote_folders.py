"""A plain folder on another machine: ``tar`` there writes it to ssh, and it becomes a snapshot."""

import contextlib
import hashlib
import os
import re
import shlex
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self
from urllib.parse import unquote

from codelake.errors import SourceError
from codelake.paths import display_path
from codelake.repositories import Repository
from codelake.settings import Settings
from resources.git import kill_git, network_environment, without_credentials
from resources.sources.snapshots import Snapshot
from resources.sources.tar_reader import TarReader
from resources.ssh import explain_ssh, ssh_command

_FORM: Final = re.compile(
    r"tar\+ssh://(?:(?P<user>\w[\w.+-]*)@)?(?P<host>\w[\w.-]*|\[[\da-fA-F:.]+\])(?::(?P<port>\d+))?"
    r"(?P<path>/.+)"
)
_MOST_SAID: Final = 1 << 14  # bytes of the other side's messages that are kept
_PADDING: Final = 1 << 20  # bytes of zeros that tar fills its last record with, at most
_SECONDS: Final = 3600.0  # for one folder, as for the first fetch of a repository
_MARK_DIGITS: Final = 10  # of the hash that keeps two folders apart


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """A folder and the machine it lies on."""

    shown: str
    user: str
    host: str
    port: str
    path: str

    @property
    def name(self) -> str:
        """Return the path, which is the name of the repository."""
        return self.path.strip("/").removeprefix("./")

    @property
    def command(self) -> list[str]:
        """Return how its archive is asked for."""
        there = shlex.join(["tar", "-C", self.path, "-cf", "-", "."])
        port = ["-p", self.port] if self.port else []
        user = ["-l", self.user] if self.user else []
        return [*ssh_command(), *port, *user, "--", self.host.strip("[]"), there]


def is_remote_folder(source: str) -> bool:
    """Say whether ``source`` names a folder that is fetched as an archive."""
    return source.startswith("tar+ssh://")


def parse_remote_folder(source: str) -> RemoteFolder:
    """Read ``tar+ssh://USER@HOST:PORT/PATH``; a path that begins with ``/~/`` is the user's.

    Raises:
        SourceError: another form.
    """
    match = _FORM.fullmatch(source)
    path = unquote(match["path"], errors="surrogateescape") if match else ""
    if path.startswith("/~/"):
        path = f"./{path[3:]}"
    if match is None or "\0" in path or not path.strip("./"):
        shown = display_path(without_credentials(source))
        message = f"cannot read {shown}: give tar+ssh://HOST/FOLDER, with USER@ and :PORT if needed"
        raise SourceError(message)
    return RemoteFolder(source, match["user"] or "", match["host"], match["port"] or "", path)


def fetch_folder(folder: RemoteFolder, settings: Settings, mirrors: Path) -> Repository:
    """Return the folder as a repository with one commit, the same if nothing has changed.

    What cannot be fetched whole gives a failed repository with the reason. What ``tar`` could not
    read over there is the reason of one that is good otherwise.
    """
    mark = hashlib.blake2b(folder.shown.encode()).hexdigest()[:_MARK_DIGITS]
    place = (
        mirrors / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', folder.name)[-80:].strip('.-')}-{mark}.git"
    )
    try:
        snapshot = Snapshot(place, settings.files)
        reason = _stream(folder, snapshot, settings.sources.archive_bytes)
        commit = snapshot.commit()
    except SourceError as error:
        reason = f"cannot read {folder.shown}: {error}"
        return Repository(folder.name, folder.shown, status="failed", reason=reason)
    return Repository(folder.name, folder.shown, str(place), commit, reason=reason)


def _stream(folder: RemoteFolder, snapshot: Snapshot, most_bytes: int) -> str:
    """Take the archive into ``snapshot``; return what the other side could not read."""
    with _Tar(folder.command) as tar:
        archive = TarReader(tar.output, most_bytes)
        try:
            for member in archive:
                snapshot.add(member, archive.pieces())
        except SourceError as error:
            told = tar.told_at_end()
            raise SourceError(told or str(error)) from error
        told = tar.told_at_end()
    return f"not all of it could be read there: {told}" if told else ""


class _Tar:
    """The other side while it is entered: its output, and what it says on standard error."""

    def __init__(self, command: list[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=network_environment({}),
                start_new_session=True,
            )
        except FileNotFoundError as missing:
            message = f"{command[0]} is not installed or not on PATH"
            raise SourceError(message) from missing
        assert self._process.stdout is not None  # noqa: S101 # pipes are always asked for
        self.output: IO[bytes] = self._process.stdout
        self._said = b""
        self._is_late = False
        self._listener = threading.Thread(target=self._listen)
        self._timer = threading.Timer(_SECONDS, self._be_late)

    def __enter__(self) -> Self:
        self._listener.start()
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        self._end()
        self._listener.join()
        kill_git(self._process)

    def told_at_end(self) -> str:
        """Return why it failed, empty if it did not or if it still has something to send."""
        if any(self.output.read(_PADDING)) or self.output.read(1):
            return ""
        self._process.wait()
        self._listener.join()
        if self._is_late:
            return f"no end within {_SECONDS:,.0f} seconds"
        text = self._said.decode("utf-8", "replace")
        return display_path(explain_ssh(text)) if self._process.returncode else ""

    def _listen(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 # as above
        while piece := os.read(self._process.stderr.fileno(), _MOST_SAID):
            self._said += piece[: _MOST_SAID - len(self._said)]

    def _be_late(self) -> None:
        self._is_late = True
        self._end()

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
