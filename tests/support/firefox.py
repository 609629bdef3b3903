"""A real Firefox, driven by WebDriver BiDi, which it speaks itself: a websocket, JSON, no driver program.

Playwright drives its own build of Firefox only, and Debian has no geckodriver. This client has what the tests need:
open an address, run a function, press keys, click, and wait until something holds.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

_NAMES = ("firefox-esr", "firefox")
_LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
# Code points of keys without a character, from the WebDriver standard.
_KEYS = {
    "Backspace": "\ue003",
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Shift": "\ue008",
    "Control": "\ue009",
    "Escape": "\ue00c",
    "Space": " ",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}
_PATIENCE = 120.0  # seconds, for hangs only: shared machines stall


class Firefox:
    """A running browser and its connection."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = count(1)
        self.complaints: list[str] = []
        """Errors and warnings of the pages since the last `open`."""
        self.call("session.new", capabilities={"alwaysMatch": {}})
        self.call("session.subscribe", events=["log.entryAdded"])

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result; events that arrive meanwhile are noted."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=_PATIENCE))
            if message.get("method") == "log.entryAdded":
                entry = message["params"]
                if entry["level"] in ("error", "warn"):
                    self.complaints.append(str(entry.get("text")))
            if message.get("id") == number:
                if message["type"] == "error":
                    raise AssertionError(f"{method}: {message['message']}")
                return message["result"]

    def open(self, address: str, width: int = 1280, height: int = 900) -> FirefoxPage:
        """Open an address in a new tab with storage of its own."""
        self.complaints.clear()
        user = self.call("browser.createUserContext")["userContext"]
        context = self.call("browsingContext.create", type="tab", userContext=user)["context"]
        self.call("browsingContext.setViewport", context=context, viewport={"width": width, "height": height})
        self.call("browsingContext.navigate", context=context, url=address, wait="complete")
        return FirefoxPage(self, context)


class FirefoxPage:
    """A tab."""

    def __init__(self, browser: Firefox, context: str) -> None:
        self._browser = browser
        self._context = context

    def run(self, function: str, *arguments: Any) -> Any:
        """Call a JavaScript function with JSON arguments and return its result, which must be JSON too."""
        body = f"async () => JSON.stringify(await ({function})(...{json.dumps(arguments)}) ?? null)"
        answer = self._browser.call(
            "script.callFunction", functionDeclaration=body, awaitPromise=True, target={"context": self._context}
        )
        if answer["type"] == "exception":
            raise AssertionError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def wait(self, function: str, *arguments: Any) -> Any:
        """Wait until a function returns something true, and return it."""
        deadline = time.monotonic() + _PATIENCE
        while (found := self.run(function, *arguments)) in (None, False, ""):
            assert time.monotonic() < deadline, (
                f"{function} {arguments} does not hold; the page says: {self.text('main')}"
            )
            time.sleep(0.05)
        return found

    def text(self, selector: str) -> str:
        """Return the text of the first element that matches."""
        return str(self.run("selector => document.querySelector(selector)?.textContent ?? ''", selector))

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that match."""
        found: list[str] = self.run("s => [...document.querySelectorAll(s)].map(one => one.textContent)", selector)
        return found

    def wait_text(self, selector: str, text: str) -> None:
        """Wait until the first element that matches contains a text."""
        self.wait("(s, text) => document.querySelector(s)?.textContent.includes(text)", selector, text)

    def press(self, keys: str, times: int = 1) -> None:
        """Press keys such as ``a`` or ``Shift+ArrowRight``; the last one is held and repeats if ``times`` is more."""
        *held, last = (_KEYS.get(key, key) for key in (keys.split("+") if len(keys) > 1 else keys))
        down = [{"type": "keyDown", "value": key} for key in (*held, *[last] * times)]
        up = [{"type": "keyUp", "value": key} for key in (last, *reversed(held))]
        self._perform({"type": "key", "id": "keys", "actions": [*down, *up]})

    def click(self, selector: str, *, shift: bool = False) -> None:
        """Click the middle of the first element that matches."""
        x, y = self.wait(
            """selector => {
                const found = document.querySelector(selector);
                if (!found) return null;
                found.scrollIntoView({block: 'center'});
                const {left, top, width, height} = found.getBoundingClientRect();
                return [Math.round(left + width / 2), Math.round(top + height / 2)];
            }""",
            selector,
        )
        pressed = {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}
        moves = [{"type": "pointerMove", "x": x, "y": y}, *pressed]
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}
        if not shift:
            return self._perform(pointer)
        pauses = [{"type": "pause"}] * 3
        keys = [{"type": "keyDown", "value": _KEYS["Shift"]}, *pauses[:2], {"type": "keyUp", "value": _KEYS["Shift"]}]
        return self._perform({"type": "key", "id": "keys", "actions": keys}, pointer)

    def go(self, hash_: str) -> None:
        """Go to another view."""
        self.run("hash => { location.hash = hash; }", hash_)

    def close(self) -> None:
        """Close the tab; nothing may have gone wrong in it."""
        self._browser.call("browsingContext.close", context=self._context)
        assert self._browser.complaints == []

    def _perform(self, *actions: dict[str, Any]) -> None:
        self._browser.call("input.performActions", context=self._context, actions=list(actions))


@contextmanager
def running_firefox() -> Iterator[Firefox]:
    """Start Firefox without a window, or skip where there is none."""
    client = pytest.importorskip("websockets.sync.client", reason="no websocket client (pip install websockets)")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no Firefox (install one of {', '.join(_NAMES)})")
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryFile("w+") as log:
        command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HOME": profile})
        try:
            address = f"{_address(process, log)}/session"
            with client.connect(address, max_size=None, open_timeout=_PATIENCE) as socket:
                yield Firefox(socket)
        finally:
            process.terminate()
            process.wait(timeout=_PATIENCE)


def _address(process: subprocess.Popen[bytes], log: Any) -> str:
    """Wait until Firefox says where it listens."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        log.seek(0)
        if found := _LISTENING.search(log.read()):
            return found[1]
        time.sleep(0.05)
    log.seek(0)
    raise AssertionError(f"Firefox did not start: {log.read()}")
