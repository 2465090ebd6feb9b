"""Whatever happens to a repository and to the nights over it, the rows are those of a fresh run.

A state machine edits, renames, deletes, switches branches, throws commits away, and runs nights,
some of which are killed or run out of disk. `make soak` does it at length.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from nights import commit, git, night, rows

from resources.store import LanceStore

_ROOT = Path(__file__).parents[1]
_PATHS = st.sampled_from(["a.py", "b.py", "deep/c.py", "d.md", "e.go"])
_TEXTS = st.sampled_from(
    [
        "def one():\n    return 1\n",
        "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
        "# Title\n\ntext\n",
        "class Three:\n    def deep(self):\n        return 3\n",
        "",
    ]
)
_TABLES = ("chunks", "symbols", "files", "repositories")
_DIE = """
import os, resource, signal, sys, threading
from pathlib import Path
from nights import night
store, source, end, amount = sys.argv[1:]
if end == "killed":
    killer = threading.Timer(float(amount), os.kill, [os.getpid(), signal.SIGKILL])
    killer.daemon = True
    killer.start()
else:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(10_000 * float(amount)),) * 2)
night(Path(store), source)
"""


class Nights(RuleBasedStateMachine):
    """One repository, its store, and what git says of it."""

    @initialize(text=_TEXTS)
    def begin(self, text: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="codelake-machine-"))
        self.shop, self.store = self.folder / "shop", self.folder / "store"
        commit(self.shop, {"a.py": text})

    @rule(path=_PATHS, text=_TEXTS)
    def write(self, path: str, text: str) -> None:
        commit(self.shop, {path: text})

    @rule(path=_PATHS, to=_PATHS)
    def rename(self, path: str, to: str) -> None:
        if (self.shop / path).exists() and path != to:
            (self.shop / to).parent.mkdir(exist_ok=True)
            (self.shop / path).rename(self.shop / to)
            commit(self.shop)

    @rule(path=_PATHS)
    def delete(self, path: str) -> None:
        (self.shop / path).unlink(missing_ok=True)
        commit(self.shop)

    @rule(name=st.sampled_from(["main", "other"]))
    def switch(self, name: str) -> None:
        git(self.shop, "checkout", "-q", "-B" if name == "other" else "-f", name)

    @precondition(lambda self: len(git(self.shop, "rev-list", "HEAD").split()) > 1)
    @rule()
    def throw_away(self) -> None:
        git(self.shop, "reset", "-q", "--hard", "HEAD~1")

    @rule()
    def run(self) -> None:
        assert night(self.store, self.shop).failed == []
        listed = git(self.shop, "ls-files", "-z").split("\0")[:-1]
        assert sorted(row["path"] for row in rows(self.store, "files")) == sorted(listed)

    @rule(end=st.sampled_from(["killed", "full"]), amount=st.floats(0.05, 3))
    def run_and_die(self, end: str, amount: float) -> None:
        command = [sys.executable, "-c", _DIE, str(self.store), str(self.shop), end, str(amount)]
        environment = {**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'tests'}"}
        done = subprocess.run(command, check=False, cwd=_ROOT, env=environment, capture_output=True)
        assert done.returncode in {0, -signal.SIGKILL, 1}, done.stderr.decode()
        if LanceStore(self.store).is_there:  # whatever happened, it reads well
            for table in _TABLES:
                LanceStore(self.store).read(table)

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        try:
            self.run()
            fresh = self.folder / "fresh"
            night(fresh, self.shop)
            for table in _TABLES:
                assert rows(self.store, table) == rows(fresh, table)
            assert LanceStore(self.store).verify() == []
        finally:
            shutil.rmtree(self.folder)


@pytest.mark.parametrize(
    ("examples", "steps"),
    [(1, 4), pytest.param(40, 30, marks=pytest.mark.soak)],
    ids=["some", "many"],
)
def test_after_any_nights_the_rows_are_those_of_a_fresh_run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Nights,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
