"""Drive a headless Chromium over its own protocol: open a page, wait for words, take a picture."""

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing leaves this machine
)
_PATIENCE = 120  # seconds; only a page that is broken takes them

# Ends as soon as all words stand on the page, without looking again and again.
_WAIT = """new Promise((done, fail) => {
  const words = %s;
  const look = () => {
    const text = document.body ? document.body.innerText : "";
    if (words.every((word) => text.includes(word))) done(text);
  };
  new MutationObserver(look).observe(
    document, {subtree: true, childList: true, characterData: true, attributes: true});
  setTimeout(() => fail(new Error(document.body.innerText)), %d);
  look();
})"""


class Browser:
    """One tab."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._sent = 0
        self._session: dict[str, str] = {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": found["sessionId"]}
        self.call("Page.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command of the protocol and return its result."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters, **self._session}
        self._connection.send(json.dumps(message))
        answer = self._until(lambda told: told.get("id") == self._sent)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def open(self, address: str, *words: str) -> str:
        """Open a page, wait until all ``words`` stand on it and return its text."""
        self.call("Page.navigate", url=address)
        self._until(lambda told: told.get("method") == "Page.domContentEventFired")
        return self.wait(*words)

    def wait(self, *words: str) -> str:
        """Wait until all ``words`` stand on the page and return its text."""
        program = _WAIT % (json.dumps(words), 1000 * _PATIENCE)
        found = self.run(program)
        assert isinstance(found, str), found
        return found

    def run(self, program: str) -> object:
        """Return what a JavaScript expression gives."""
        found = self.call(
            "Runtime.evaluate", expression=program, awaitPromise=True, returnByValue=True
        )
        return found["result"].get("value", found)

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """Let the page have this size, and pictures of it ``scale`` of that."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def click(self, words: str) -> None:
        """Click the button that says ``words``."""
        program = """(() => {
          const found = [...document.querySelectorAll("button")]
            .find((button) => button.innerText.trim() === %s);
          if (found) found.click();
          return Boolean(found);
        })()"""
        assert self.run(program % json.dumps(words)) is True, f"no button {words!r}"

    def picture(self, place: Path) -> None:
        """Write what is seen as a WebP picture: a tenth of PNG."""
        place.parent.mkdir(parents=True, exist_ok=True)
        data = self.call("Page.captureScreenshot", format="webp", quality=70)["data"]
        place.write_bytes(base64.b64decode(data))

    def _until(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            told: dict[str, Any] = json.loads(self._connection.recv(timeout=_PATIENCE + 10))
            if is_it(told):
                return told


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """Start a browser with an empty profile and open a tab."""
    command = [str(CHROMIUM), *_FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = (line for line in process.stderr if line.startswith("DevTools listening on "))
            address = next(lines).rpartition(" ")[2].strip()
            with connect(address, max_size=None) as connection:
                yield Browser(connection)
        finally:
            process.kill()
