"""An embeddings server on this machine that answers at once, so that only our side is measured.

``python -m bench.stub_server`` prints its port and serves until its standard input closes.
"""

import base64
import json
import sys
import threading
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import numpy as np

DIMENSION: Final = 384


def vector(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Return the vector of ``text``: noise that is the same every time."""
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)


class Handler(BaseHTTPRequestHandler):
    """Answers ``POST /v1/embeddings`` as OpenAI does; ``GET /counts`` tells what was asked."""

    protocol_version = "HTTP/1.1"
    texts = 0
    requests = 0
    lock = threading.Lock()

    def do_POST(self) -> None:  # http.server's name
        """Embed the texts of one request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        with Handler.lock:
            Handler.texts += len(texts)
            Handler.requests += 1
        is_packed = request.get("encoding_format") == "base64"
        rows = [vector(text) for text in texts]
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(row.tobytes()).decode()
                if is_packed
                else row.tolist(),
            }
            for index, row in enumerate(rows)
        ]
        tokens = sum(map(len, texts)) // 4
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        self._answer({"object": "list", "data": data, "model": "stub", "usage": usage})

    def do_GET(self) -> None:  # http.server's name
        """Tell how many texts and requests there were."""
        self._answer({"texts": Handler.texts, "requests": Handler.requests})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # http.server's name
        """Say nothing."""

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until standard input closes."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
