"""A PostgreSQL server for a test: its own data, a socket in a folder, nothing on the network."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # where it keeps them off PATH


def program(name: str) -> str:
    """Return where a program of PostgreSQL is; nothing if there is none."""
    found = [str(folder / name) for folder in _DEBIAN if (folder / name).exists()]
    return found[-1] if found else shutil.which(name) or ""


INITDB = program("initdb")
"""Empty where there is no server."""

NO_SERVER = "no PostgreSQL server here: apt-get install postgresql"


@contextmanager
def serving() -> Iterator[str]:
    """Start a server and yield the folder of its socket."""
    # It refuses to run as root, and its socket's path may have no more than 107 bytes.
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="codelake-pg-", dir="/tmp"))
    if user:
        shutil.chown(folder, user)
    data, options = folder / "data", f"-k {folder} -h '' -c fsync=off"

    def run(name: str, *words: str) -> None:
        command = [program(name), "-D", str(data), *words]
        log = subprocess.DEVNULL  # a pipe would be held open by the server
        subprocess.run(command, user=user, cwd=folder, check=True, stdout=log, stderr=log)

    run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
    run("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield str(folder)
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)
