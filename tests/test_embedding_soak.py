"""Many texts through a service that fails one request in five."""

import base64
import itertools
import json
import os
import random
import threading
import tracemalloc
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from codelake.embedding import embed_texts
from codelake.settings import EmbeddingSettings
from resources.embedders.openai import open_compatible
from resources.embedders.providers import Answer, Kind, Limits, ProviderError
from resources.embedders.remote import RemoteEmbedder
from resources.embedders.sending import Clock, Service


class OneInFive:
    """Fails every fifth request; counts the texts it has answered."""

    name = "one in five"
    limits = Limits(text_tokens=8191, batch_tokens=300_000, batch_texts=256)

    def __init__(self) -> None:
        self.calls = itertools.count(1)
        self.answered = 0

    def request(self, texts: Sequence[str], kind: Kind) -> Answer:
        assert kind == "document"
        if next(self.calls) % 5 == 0:
            message = "broken"
            raise ProviderError(message, status=500)
        self.answered += len(texts)
        numbers = np.array([float(text.split()[1]) for text in texts], dtype=np.float32)
        vectors = np.stack([np.cos(numbers), np.sin(numbers)], axis=1)
        return Answer(list(enumerate(vectors)), tokens=len(texts))

    def close(self) -> None:
        """Nothing is open."""


def test_nothing_is_lost_or_embedded_twice_and_memory_stays_flat() -> None:
    count, provider = 20_000, OneInFive()
    time = itertools.count()
    clock = Clock(lambda: float(next(time)), lambda _: None)
    noise = random.Random(1)  # noqa: S311 # the same waits every time
    service = Service(provider, clock=clock, noise=noise)
    embedder = RemoteEmbedder(service, "soak-2", is_remote=True, known_dimension=2)
    seen = np.zeros(count, dtype=np.int8)
    peaks: list[int] = []
    tracemalloc.start()
    for part in embed_texts(((str(i), f"text {i}") for i in range(count)), embedder):
        assert not part.failures
        seen[[int(text_hash) for text_hash in part.table["text_hash"].to_pylist()]] += 1
        peaks.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert (seen == 1).all()
    assert provider.answered == count
    middle = len(peaks) // 2
    assert max(peaks[middle:]) < max(peaks[:middle]) + 2_000_000


class _Flaky(BaseHTTPRequestHandler):
    """Answers as OpenAI does, but every fifth request with a fault, each kind in its turn."""

    protocol_version = "HTTP/1.1"
    calls = itertools.count(1)
    faults = itertools.cycle(["500", "429", "cut", "503"])
    answered = np.zeros(0, np.uint8)
    lock = threading.Lock()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # http.server's name
        """Say nothing."""

    def do_POST(self) -> None:  # http.server's name
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        fault = next(self.faults) if next(self.calls) % 5 == 0 else ""
        if fault == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.close_connection = True
            return
        places = [int(text.split()[1]) for text in texts]
        data = []
        if not fault:
            with self.lock:
                np.add.at(self.answered, places, 1)
            data = [
                {"index": i, "embedding": base64.b64encode(_turned(place).tobytes()).decode()}
                for i, place in enumerate(places)
            ]
        body = json.dumps({"data": data, "usage": {"total_tokens": len(texts)}}).encode()
        self.send_response(int(fault or 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _turned(place: int) -> np.ndarray:
    return np.array([np.cos(place), np.sin(place)], dtype="<f4")


@pytest.fixture
def flaky() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Flaky)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def _memory() -> int:
    """Return the resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
def test_two_hundred_thousand_texts_through_a_real_server(flaky: str) -> None:
    count = 200_000
    _Flaky.answered = np.zeros(count, np.uint8)
    settings = EmbeddingSettings(embedder="openai-compatible", base_url=flaky, model="soak")
    embedder = open_compatible(settings, {})
    embedder.known_dimension = 2
    time = itertools.count()
    embedder.service.clock = Clock(lambda: float(next(time)), lambda _: None)
    stored = np.zeros(count, np.uint8)
    memory: list[int] = []
    for part in embed_texts(((str(i), f"text {i}") for i in range(count)), embedder):
        assert not part.failures
        places = np.array([int(text_hash) for text_hash in part.table["text_hash"].to_pylist()])
        vectors = np.array(part.table["vector"].to_pylist(), np.float32)
        np.testing.assert_allclose(vectors[:, 0], np.cos(places.astype(np.float32)), atol=0.01)
        np.add.at(stored, places, 1)
        memory.append(_memory())
    embedder.close()
    assert (stored == 1).all(), "a text was lost or stored twice"
    assert (_Flaky.answered == 1).all(), "a text was paid for twice"
    requests = count // embedder.service.provider.limits.batch_texts
    assert embedder.usage.retries > requests // 5
    middle = len(memory) // 2
    assert max(memory[middle:]) < max(memory[:middle]) + 20_000_000
