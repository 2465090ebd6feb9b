"""A real server on this machine that speaks the services' wire formats and misbehaves.

It embeds as OpenAI and VoyageAI do and reranks as VoyageAI, Cohere and TEI do.

Each request takes the next step of a script; when it is empty everything goes well.
"""

import base64
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

DIMENSION = 8
POISON = "POISON"  # a request with such a text is refused


def vector(text: str, dimension: int = DIMENSION) -> np.ndarray:
    """Return the unit vector the server gives for ``text``."""
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    values = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    return values / np.linalg.norm(values)


def score(text: str) -> float:
    """Return the score the server gives ``text``, between 0 and 1."""
    return float(vector(text)[0] + 1) / 2


def texts_of(body: dict[str, Any]) -> list[str]:
    """Return the texts of a request, whatever the service calls them."""
    return list(body.get("input") or body.get("documents") or body["texts"])


class Closable(Protocol):
    """What has connections."""

    def close(self) -> None: ...


@dataclass
class Seen:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def texts(self) -> list[str]:
        """Return the texts that were sent."""
        return texts_of(self.body)


@dataclass
class EmbeddingServer:
    """Serves while it is entered.

    Args:
        script: what happens to the requests to come, one word each.
        most_texts: a request with more is answered 413.
        most_characters: a request with a longer text is answered 400.
        seen: every request that arrived.
        clients: what is closed before the server is.
    """

    script: list[str] = field(default_factory=list)
    most_texts: int = 10_000
    most_characters: int = 1_000_000
    seen: list[Seen] = field(default_factory=list)
    clients: list[Closable] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        owner = self

        class Handler(_Handler):
            server_state = owner

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self.clients:
            client.close()
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def url(self) -> str:
        """Return the base URL for clients."""
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def sent(self) -> list[str]:
        """Return every text that arrived, as often as it did."""
        return [text for seen in self.seen for text in seen.texts]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: EmbeddingServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # http.server's name
        """Say nothing."""

    def do_POST(self) -> None:  # http.server's name
        state = self.server_state
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with state.lock:
            state.seen.append(Seen(self.path, body, headers))
            step = state.script.pop(0) if state.script else "ok"
        texts = texts_of(body)
        if any(POISON in text for text in texts):
            self.fail(400, "the input is not acceptable")
        elif len(texts) > state.most_texts:
            self.fail(413, f"batch size {len(texts)} > maximum allowed {state.most_texts}")
        elif any(len(text) > state.most_characters for text in texts):
            self.fail(400, "this model's maximum context length is exceeded")
        else:
            self.take(step, texts, body)

    def take(self, step: str, texts: list[str], body: dict[str, Any]) -> None:
        """Do what the step says."""
        word, _, value = step.partition(":")
        if word == "429":
            self.fail(429, "slow down", {"retry-after": value} if value else {})
        elif word == "quota":
            self.fail(429, "insufficient_quota: you have no money left")
        elif word == "401":
            self.fail(401, f"wrong key {self.headers.get('Authorization')}")
        elif word == "307":
            self.fail(307, "over there", {"location": value})
        elif word.isdecimal():
            self.fail(int(word), value or "something broke")
        elif word == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"data": [')
            self.wfile.flush()
            self.close_connection = True
        elif word == "hang":
            self.server_state.closing.wait()
            self.close_connection = True
        elif word == "html":
            self.answer(200, b"<html>It works!</html>", {"content-type": "text/html"})
        elif word == "nothing":
            self.answer(200, b'{"object": "list"}')
        else:
            self.succeed(word, texts, body)

    def succeed(self, word: str, texts: list[str], body: dict[str, Any]) -> None:
        """Answer what was asked, spoilt as ``word`` says."""
        answer = self.rerank if self.path.endswith("/rerank") else self.embed
        answer(word, texts, body)

    def rerank(self, word: str, texts: list[str], body: dict[str, Any]) -> None:
        """Answer with scores, the best first, spoilt as ``word`` says."""
        name = "score" if "texts" in body else "relevance_score"
        items: list[dict[str, Any]] = [
            {"index": i, name: score(text)} for i, text in enumerate(texts)
        ]
        items = _SPOIL_DATA.get(word, _same)(items)
        number = {"raw": 3.5, "nan": float("nan"), "words": "high"}.get(word)
        items[0][name] = items[0][name] if number is None else number
        items.sort(key=lambda item: str(item[name]), reverse=True)
        if "texts" in body:
            answer: object = items
        elif "top_n" in body:
            answer = {"id": "1", "results": items, "meta": {"billed_units": {"search_units": 1}}}
        else:
            answer = {"object": "list", "data": items, "usage": {"total_tokens": 3}}
        self.answer(200, json.dumps(answer).encode())

    def embed(self, word: str, texts: list[str], body: dict[str, Any]) -> None:
        """Answer with vectors, spoilt as ``word`` says."""
        dimension = body.get("dimensions") or body.get("output_dimension") or DIMENSION
        rows = _SPOIL_ROWS.get(word, _same)([vector(text, dimension) for text in texts])
        rows = [_FORMS[body.get("output_dtype") or "float"](row) for row in rows]
        is_packed = body.get("encoding_format") == "base64" and word != "floats"
        data = [
            {
                "object": "embedding",
                "index": i,
                "embedding": _pack(row) if is_packed else row.tolist(),
            }
            for i, row in enumerate(rows)
        ]
        data = _SPOIL_DATA.get(word, _same)(data)
        tokens = sum(len(text) // 4 + 1 for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        answer = {"object": "list", "data": data, "model": body["model"], "usage": usage}
        self.answer(200, json.dumps(answer).encode())

    def fail(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        """Answer with an error in both providers' shapes."""
        body = {"error": {"message": message, "type": "error"}, "detail": message}
        self.answer(status, json.dumps(body).encode(), headers)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Send one answer."""
        self.send_response(status)
        sent = {"content-type": "application/json", **(headers or {})}
        for name, value in sent.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _pack(row: np.ndarray) -> str:
    return base64.b64encode(row.tobytes()).decode()


# What VoyageAI documents of its output types.
_FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "float": lambda row: row.astype("<f4"),
    "int8": lambda row: np.rint(row * 127).astype(np.int8),
    "binary": lambda row: (np.packbits(row > 0).astype(np.int16) - 128).astype(np.int8),
}


def _same(items: list[Any]) -> list[Any]:
    return items


def _first_number(rows: list[np.ndarray], number: float) -> list[np.ndarray]:
    rows[0][3] = number
    return rows


_SPOIL_ROWS: dict[str, Callable[[list[np.ndarray]], list[np.ndarray]]] = {
    "wrongdim": lambda rows: [rows[0][:-1], *rows[1:]],
    "otherdim": lambda rows: [row[:-1] for row in rows],
    "nan": lambda rows: _first_number(rows, np.nan),
    "infinite": lambda rows: _first_number(rows, np.inf),
    "zero": lambda rows: [rows[0] * 0, *rows[1:]],
}
_SPOIL_DATA: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "shuffle": lambda data: data[::-1],
    "short": lambda data: data[:-1],
    # the first is missing and the others moved up
    "renumbered": lambda data: [{**item, "index": i} for i, item in enumerate(data[1:])],
    "twice": lambda data: [{**data[0], "index": len(data) - 1}, *data[1:]],
    "garbage": lambda data: [{**data[0], "embedding": "???"}, *data[1:]],
}
