"""A real server on this machine that speaks GitHub's and GitLab's lists, and git itself.

The API answers at ``/api/v3`` and ``/api/v4``; every other path is git over HTTP. Each API request
takes the next step of a script; when that is empty everything goes well.
"""

import base64
import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

Step = Callable[["Handler"], None]
_KINDS = {"orgs": "organisation", "groups": "organisation", "users": "user"}


@dataclass
class Seen:
    """One request as it arrived, and the status it got."""

    path: str
    headers: dict[str, str]
    status: int = 0


class _Server(ThreadingHTTPServer):
    def handle_error(self, *arguments: object) -> None:
        """Say nothing: a client that hangs up is what some tests are about."""


@dataclass
class Forge:
    """Serves while it is entered.

    Args:
        folder: where the repositories lie, each at ``OWNER/NAME.git``.
        repositories: facts by full name, as keywords of :meth:`add`.
        token: what every request has to bring, if any.
        login: whose token it is.
        kind: of the owners, ``organisation`` or ``user``.
        page: most repositories of a page.
        script: what happens to the API requests to come.
        seen: every API request that arrived.
    """

    folder: Path
    repositories: dict[str, dict[str, Any]] = field(default_factory=dict)
    token: str = ""
    login: str = "robot"
    kind: str = "organisation"
    page: int = 2
    script: list[Step] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> Self:
        owner = self

        class Bound(Handler):
            forge = owner

        self.server = _Server(("127.0.0.1", 0), Bound)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def host(self) -> str:
        """Return name and port."""
        return f"127.0.0.1:{self.server.server_port}"

    def sources(self, kind: str = "github", **more: object) -> dict[str, Any]:
        """Return settings of sources that know where the API is."""
        version = "v3" if kind == "github" else "v4"
        return {"api": {self.host: f"http://{self.host}/api/{version}"}, **more}

    def add(self, name: str, files: dict[str, str] | None = None, **facts: object) -> Path:
        """Make a repository and list it; return the bare one."""
        self.repositories[name] = facts
        bare = self.folder / f"{name}.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
        for option in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            subprocess.run(["git", "-C", bare, "config", option, "true"], check=True)
        if files != {}:
            self.push(name, files or {"a.py": f"x = {name!r}\n"})
        return bare

    def push(self, name: str, files: dict[str, str], branch: str = "main") -> str:
        """Replace what a branch holds by one new commit; return its name."""
        bare = self.folder / f"{name}.git"
        lines = [f"commit refs/heads/{branch}\ncommitter a <a@example.invalid> 0 +0000\ndata 0\n"]
        if (bare / "refs" / "heads" / branch).exists():
            lines.append(f"from refs/heads/{branch}^0\ndeleteall\n")
        for path, text in files.items():
            lines.append(f"M 100644 inline {json.dumps(path)}\ndata {len(text.encode())}\n{text}\n")
        command = ["git", "-C", str(bare), "fast-import", "--quiet"]
        subprocess.run(command, input="".join(lines).encode(), check=True)
        return (bare / "refs" / "heads" / branch).read_text().strip()

    def statuses(self) -> list[int]:
        """Return the statuses of the API's answers since the last time."""
        found = [one.status for one in self.seen]
        self.seen.clear()
        return found


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    forge: Forge
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if not self.path.startswith("/api/"):
            self.git()
            return
        self.forge.seen.append(Seen(self.path, dict(self.headers)))
        if self.forge.script:
            self.forge.script.pop(0)(self)
        else:
            self.answer_well()

    def do_POST(self) -> None:
        self.git()

    def answer_well(self) -> None:
        """Give what was asked for."""
        if self.forge.token and self.headers.get("Authorization") != f"Bearer {self.forge.token}":
            self.reply({"message": "Bad credentials"}, status=401)
            return
        parts = urlsplit(self.path)
        words = [unquote(word) for word in parts.path.split("/")[3:]]
        found = self.found(words)
        if isinstance(found, list):
            self.reply_page(found, parse_qs(parts.query))
        else:
            self.reply(found if found is not None else {"message": "Not Found"}, 404 * (not found))

    def found(self, words: list[str]) -> list[str] | dict[str, Any] | None:
        """Return names of repositories, or a document, or nothing."""
        match words:
            case ["user"]:
                return {"login": self.forge.login} if self.forge.token else None
            case ["user", "repos"]:
                return self.names(self.forge.login)
            case [("orgs" | "groups" | "users") as kind, owner, "repos" | "projects"]:
                return self.names(owner) if _KINDS[kind] == self.forge.kind else None
            case ["projects", number, "languages"]:
                name = sorted(self.forge.repositories)[int(number)]
                return {self.forge.repositories[name].get("language", "C"): 90.5, "Make": 9.5}
        return None

    def names(self, owner: str) -> list[str] | None:
        """Return the names of an owner's repositories, in one order."""
        names = [n for n in sorted(self.forge.repositories) if n.startswith(f"{owner}/")]
        return names or None

    def reply_page(self, names: list[str], query: dict[str, list[str]]) -> None:
        """Send one page with links to the others."""
        number = int(query.get("page", ["1"])[0])
        start = self.forge.page * (number - 1)
        form = self.github if self.path.startswith("/api/v3") else self.gitlab
        body = [form(name) for name in names[start : start + self.forge.page]]
        rest = self.path.split("&page=")[0]
        links = [f'<http://{self.forge.host}{rest}&page=1>; rel="first"']
        if start + self.forge.page < len(names):
            links.append(f'<http://{self.forge.host}{rest}&page={number + 1}>; rel="next"')
        self.reply(body, link=", ".join(links))

    def github(self, name: str) -> dict[str, Any]:
        """Return a repository as GitHub lists it."""
        facts = self.forge.repositories[name]
        return {
            "id": 1,
            "full_name": name,
            "clone_url": f"https://elsewhere.invalid/{name}.git",
            "ssh_url": facts.get("ssh_url", ""),
            "topics": facts.get("topics", []),
            "language": facts.get("language"),
            "size": int(facts.get("megabytes", 0) * 1024),
            "archived": facts.get("archived", False),
            "fork": facts.get("fork", False),
            "owner": {"login": name.partition("/")[0]},
        }

    def gitlab(self, name: str) -> dict[str, Any]:
        """Return a repository as GitLab lists it."""
        facts = self.forge.repositories[name]
        found = {
            "id": sorted(self.forge.repositories).index(name),
            "path_with_namespace": name,
            "http_url_to_repo": f"https://elsewhere.invalid/{name}.git",
            "ssh_url_to_repo": facts.get("ssh_url", ""),
            "tag_list": facts.get("topics", []),
            "archived": facts.get("archived", False),
            "statistics": {"repository_size": int(facts.get("megabytes", 0) * (1 << 20))},
        }
        return found | ({"forked_from_project": {"id": 7}} if facts.get("fork") else {})

    def reply(self, document: object, status: int = 0, **headers: str) -> None:
        """Send JSON with a tag, or nothing where the tag is known already."""
        self.send(json.dumps(document).encode(), status or 200, **headers)

    def send(self, body: bytes, status: int = 200, length: int = -1, **headers: str) -> None:
        """Send bytes; ``length`` is what is said of them where that is another."""
        tag = f'W/"{hashlib.sha256(body).hexdigest()}"'
        if status == 200 and self.headers.get("If-None-Match") == tag:
            status, body = 304, b""
        self.forge.seen[-1].status = status
        self.send_response(status)
        if "ETag" not in headers:
            self.send_header("ETag", tag)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(length if length >= 0 else len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = length >= 0

    def git(self) -> None:
        """Let git's own server program answer."""
        wanted = "Basic " + base64.b64encode(f"x-access-token:{self.forge.token}".encode()).decode()
        if self.forge.token and self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        answer = subprocess.run(
            ["git", "http-backend"],
            input=self.body(),
            env=self.variables(),
            check=True,
            capture_output=True,
        ).stdout
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        self.send_response(int(dict(lines).get("Status", "200").split()[0]))
        for name, value in lines:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        """Return what was sent, whole or in pieces."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(pieces)

    def variables(self) -> dict[str, str]:
        """Return the environment of a CGI program."""
        parts = urlsplit(self.path)
        return {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.forge.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "PATH_INFO": unquote(parts.path),
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }

    def log_message(self, *arguments: object) -> None:
        pass
