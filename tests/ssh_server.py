"""A real sshd on this machine, for one user and one key."""

import getpass
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SSHD: Final = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin:/usr/bin") or ""
_SERVER: Final = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
_CLIENT: Final = """
Host *
  IdentityFile {folder}/user
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile none
"""


@dataclass(frozen=True)
class SshServer:
    """Where it listens, and the files of its client."""

    folder: Path
    port: int

    @property
    def host(self) -> str:
        """Return user, host and port as they stand in a URL."""
        return f"{getpass.getuser()}@127.0.0.1:{self.port}"

    @property
    def command(self) -> str:
        """Return how its client is called."""
        return f"ssh -F {self.folder}/client"

    def force(self, command: str) -> None:
        """Let the server run this command whatever it is asked for."""
        key = self.folder / "user.pub"
        key.write_text(f'command="{command}" {key.read_text()}')

    def trust(self, key: str = "host") -> None:
        """Let the client know a host key."""
        public = (self.folder / f"{key}.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {public}")


def why_not() -> str:
    """Say why no server can be started here, empty if one can."""
    if not _SSHD or not shutil.which("ssh"):
        return "no sshd here: install openssh-server"
    if getpass.getuser() == "root" and not Path("/run/sshd").is_dir():
        return "sshd has no folder /run/sshd to give up its rights in: make it"
    return ""


@contextmanager
def serving(folder: Path, port: int) -> Iterator[SshServer]:
    """Serve while the block runs; the client trusts the host."""
    folder.mkdir()
    for name in ("host", "user", "other"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name]
        subprocess.run(key, check=True)
    (folder / "server").write_text(_SERVER.format(folder=folder, port=port))
    (folder / "client").write_text(_CLIENT.format(folder=folder))
    server = SshServer(folder, port)
    server.trust()
    command = [_SSHD, "-D", "-e", "-f", str(folder / "server")]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            assert b"Server listening on" in process.stderr.readline()
            yield server
        finally:
            process.terminate()
