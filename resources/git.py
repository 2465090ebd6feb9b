"""Git, run so that nothing of an indexed repository is executed.

A repository's own configuration can name programs: ``core.fsmonitor``, hooks, filters, text
conversion, external diffs, credential helpers, an ``ext::`` remote that a lazy fetch would call.
Three fences keep them from running:

1. Objects and the index are read through an empty git directory of our own that borrows the
   repository's objects (:class:`Objects`), so the repository's configuration is not even parsed.
2. The one command that does parse it, ``rev-parse`` in :func:`read_head`, starts no program, and
   what could is overridden on its command line.
3. No protocol is allowed while reading, and only known ones while fetching.
"""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codelake.errors import SourceError
from resources.ssh import COMMAND, explain_ssh

LOCAL_SECONDS: Final = 120.0  # a local command that takes longer hangs on a pipe or a dead disk

_DISARMED: Final[Mapping[str, str]] = {
    "safe.directory": "*",  # read what another user owns: nothing of it is run
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "false",
    "diff.external": "",
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_LOCAL_ONLY: Final[Mapping[str, str]] = {
    "core.sshCommand": "false",
    "core.excludesFile": os.devnull,
    "credential.helper": "",
}
# A user's own settings that a fetch needs; every other GIT_ variable could point git elsewhere.
_KEPT: Final = re.compile(
    r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|ASKPASS|PROXY_\w+|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))$"
)
_CREDENTIALS: Final = re.compile(r"(\w+)://([^/\s'\":]*)(:[^/\s'\"]*)?@")


_LONGEST_LINE: Final = 300  # characters of it that are told; a server may send any
_NO_ANSWER: Final = "fatal: Could not read from remote repository."

# What HEAD and a branch say in an ordinary repository; a name with ".." could lead elsewhere.
_HEAD: Final = re.compile(rb"ref: (refs/heads/(?!.*\.\.)[^\0-\x20]+)\n")
_COMMIT: Final = re.compile(rb"([0-9a-f]{40})\n")


class GitError(SourceError):
    """Git ended with an error; the message is git's own last line, without credentials."""


def run_git(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    seconds: float = LOCAL_SECONDS,
    given: bytes = b"",
) -> bytes:
    """Run git disarmed and return what it prints.

    Args:
        arguments: never a name or URL that could be taken for an option: put ``--`` before it.
        environment: from :func:`network_environment` for a fetch; local reading by default.
        seconds: after which git and all it started are killed.
        given: what git reads from its standard input.

    Raises:
        GitError: git failed, timed out or is not installed.
    """
    code, output, error = _run(arguments, environment or local_environment(), seconds, given)
    if code:
        raise GitError(explain(error))
    return output


def _run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    seconds: float = LOCAL_SECONDS,
    given: bytes = b"",
) -> tuple[int, bytes, bytes]:
    with start_git(arguments, environment) as process:
        try:
            output, error = process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired as expired:
            kill_git(process)
            message = f"no answer within {seconds:.0f} seconds"
            raise GitError(message) from expired
        except BaseException:  # Ctrl-C: the helpers git started must not outlive us
            kill_git(process)
            raise
    return process.returncode, output, error


def start_git(
    arguments: Sequence[str], environment: Mapping[str, str], *, error: int = subprocess.PIPE
) -> "subprocess.Popen[bytes]":
    """Start git in a session of its own, with pipes for input and output.

    Raises:
        GitError: git is not installed.
    """
    try:
        return subprocess.Popen(
            ["git", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=error,
            env=dict(environment),
            start_new_session=True,
        )
    except FileNotFoundError as missing:
        message = "git is not installed or not on PATH"
        raise GitError(message) from missing


def kill_git(process: "subprocess.Popen[bytes]") -> None:
    """End git and every helper it started, and close its pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()


def explain(error: bytes) -> str:
    """Return the telling line of what git wrote to standard error, without credentials."""
    lines = [line.strip()[:_LONGEST_LINE] for line in error.decode("utf-8", "replace").splitlines()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:"))]
    chosen = (telling or [line for line in lines if line] or ["git failed without a message"])[0]
    if chosen == _NO_ANSWER:  # what ssh said before that tells more
        chosen = explain_ssh("\n".join(lines))
    return without_credentials(re.sub(r"^(fatal|error|ERROR): ", "", chosen))


def without_credentials(text: str) -> str:
    """Return ``text`` without the credentials of the URLs in it.

    The user of an ssh URL is part of the address; in any other URL it can be a token.
    """
    return _CREDENTIALS.sub(
        lambda match: f"ssh://{match[2]}@" if match[1] == "ssh" else f"{match[1]}://", text
    )


def local_environment(**variables: str) -> dict[str, str]:
    """Return the environment for reading what is on this machine.

    No configuration file but the repository's own is read and no protocol is allowed.
    """
    files = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    base = _environment({**_DISARMED, **_LOCAL_ONLY}, allowed="none")
    return {**base, **files, **variables}


def network_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for talking to a server.

    The user's own configuration counts (proxies, credential helpers, ssh), as it does in their
    shell; it never asks. ``settings`` travel in the environment, where other users cannot see
    a credential as they could on a command line.
    """
    kept = {name: value for name, value in os.environ.items() if _KEPT.match(name)}
    base = _environment({**_DISARMED, **settings}, allowed="http:https:ssh:git")
    return {**base, "GIT_SSH_COMMAND": COMMAND, **kept}


def _environment(settings: Mapping[str, str], *, allowed: str) -> dict[str, str]:
    # The environment is handed on, not read: git needs HOME, PATH, proxies and the ssh agent.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    inherited.pop("SSH_ASKPASS", None)
    numbered = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings.items()):
        numbered |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {
        **inherited,
        **numbered,
        "GIT_ALLOW_PROTOCOL": allowed,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C",
    }


@dataclass(frozen=True, slots=True)
class Head:
    """What a repository has checked out.

    ``commit`` is empty if there is none yet; ``branch`` is empty if HEAD is detached.
    """

    git_directory: Path
    common_directory: Path
    object_format: str
    commit: str
    branch: str

    @property
    def is_linked(self) -> bool:
        """Say whether this is a second checkout, made by ``git worktree add``."""
        return self.git_directory != self.common_directory


def read_head(git_directory: Path) -> Head:
    """Return what HEAD of ``git_directory`` (a folder or a ``.git`` file) points to.

    Where HEAD names a branch that does not exist and there is exactly one branch, that one is
    taken: a bare repository whose first push was to another branch than its HEAD.

    Raises:
        GitError: no repository, or one that cannot be read.
    """
    if plain := _plain_head(git_directory):
        return plain
    where = f"--git-dir={git_directory}"
    question = ["--show-object-format", "--absolute-git-dir", "HEAD^{commit}"]
    question += ["--symbolic-full-name", "HEAD"]
    code, output, error = _run([where, "rev-parse", *question], local_environment())
    if code and b"unknown revision" not in error:
        raise GitError(explain(error))
    # A folder's name may hold line breaks; what stands around it cannot.
    form, *lines = os.fsdecode(output).removesuffix("\n").split("\n")
    own = Path("\n".join(lines[: -1 if code else -2]))
    commit, branch = _only_branch(where) if code else (lines[-2], _branch(lines[-1]))
    return Head(own, _common_directory(own), form, commit, branch)


def read_branch(git_directory: Path, branch: str) -> str:
    """Return the commit of a branch, else of the one that was last fetched from ``origin``.

    Raises:
        SourceError: there is neither.
    """
    for reference in (f"refs/heads/{branch}", f"refs/remotes/origin/{branch}"):
        question = ["rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}"]
        code, output, _ = _run([f"--git-dir={git_directory}", *question], local_environment())
        if not code:
            return os.fsdecode(output).strip()
    message = f"it has no branch {branch!r}; mend sources.branches"
    raise SourceError(message)


def _plain_head(git_directory: Path) -> Head | None:
    """Return HEAD of an ordinary repository as its files say it; None where git has to be asked.

    Starting git costs some milliseconds, as much as everything else that a night does to a
    repository that has not changed.
    """
    try:
        config = (git_directory / "config").read_bytes().lower()
        named = _HEAD.fullmatch((git_directory / "HEAD").read_bytes())
        is_plain = not (git_directory / "HEAD").is_symlink() and not any(
            word in config for word in (b"extensions", b"include")
        )
        if named is None or not is_plain or (git_directory / "commondir").exists():
            return None
        reference = os.fsdecode(named[1])
        commit = _loose(git_directory / reference) or _packed(git_directory, reference)
    except (OSError, ValueError):
        return None
    if not commit or not (git_directory / "objects").is_dir():
        return None
    own = Path(os.path.realpath(git_directory))
    return Head(own, own, "sha1", commit, _branch(reference))


def _loose(reference: Path) -> str:
    try:
        found = _COMMIT.fullmatch(reference.read_bytes())
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return ""
    return found[1].decode() if found else ""


def _packed(git_directory: Path, reference: str) -> str:
    try:
        packed = (git_directory / "packed-refs").read_bytes()
    except FileNotFoundError:
        return ""
    line = rb"^([0-9a-f]{40}) " + re.escape(os.fsencode(reference)) + b"$"
    found = re.search(line, packed, re.MULTILINE)
    return found[1].decode() if found else ""


def _common_directory(git_directory: Path) -> Path:
    """Return where a linked checkout has its objects: what its file ``commondir`` names."""
    try:
        named = (git_directory / "commondir").read_bytes().removesuffix(b"\n")
    except FileNotFoundError:
        return git_directory
    return (git_directory / os.fsdecode(named)).resolve()


def _only_branch(where: str) -> tuple[str, str]:
    listing = ["for-each-ref", "--count=2", "--format=%(objectname) %(refname)", "refs/heads"]
    branches = os.fsdecode(run_git([where, *listing])).splitlines()
    if not branches:
        return "", ""
    if len(branches) > 1:
        message = "HEAD names a branch that does not exist; point it to one (git symbolic-ref HEAD)"
        raise GitError(message)
    commit, reference = branches[0].split(" ", 1)
    return commit, _branch(reference)


def _branch(reference: str) -> str:
    return reference.removeprefix("refs/heads/") if reference != "HEAD" else ""
