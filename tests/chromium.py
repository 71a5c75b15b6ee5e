"""A real browser for tests: Chromium without a window, told what to do through a pipe."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SECONDS_TO_ANSWER = 60.0
# The browser reads commands from 3 and answers on 4.
PIPES = 'exec "$@" 3<&"$GNZ_IN" 4>&"$GNZ_OUT"'
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")


class Pipe:
    """Commands to the browser, and what it says of its own accord."""

    def __init__(self, commands: Any, answers: Any) -> None:
        self._commands, self._answers = commands, answers
        self._numbers = itertools.count(1)
        # Errors of scripts and of pages, addresses that were asked for, and sessions of frames of other origins.
        self.said: list[str] = []
        self.asked: list[str] = []
        self.frames: list[str] = []

    def call(self, session: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                found: dict[str, Any] = answer["result"]
                return found

    def _read(self) -> dict[str, Any]:
        read = bytearray()
        while not read.endswith(b"\0"):
            one = self._answers.read(1)
            assert one, "the browser has gone"
            read += one
        message: dict[str, Any] = json.loads(read[:-1])
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.said.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.said.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Target.attachedToTarget" and params["targetInfo"]["type"] == "iframe":
            self.frames.append(params["sessionId"])


class Tab:
    """One page of the browser, or a frame within it."""

    def __init__(self, pipe: Pipe, session: str = "") -> None:
        self.pipe = pipe
        if not session:
            target = pipe.call("", "Target.createTarget", {"url": "about:blank"})["targetId"]
            attached = pipe.call("", "Target.attachToTarget", {"targetId": target, "flatten": True})
            session = attached["sessionId"]
        self._session = session
        for part in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{part}.enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Tell the page to do something, and return its answer."""
        return self.pipe.call(self._session, method, params)

    def frame(self) -> Tab:
        """Return the newest frame of another origin, as soon as there is one."""
        until = time.monotonic() + SECONDS_TO_ANSWER
        while not self.pipe.frames:
            assert time.monotonic() < until, "there is no frame"
            self.ask("0")
            time.sleep(0.1)
        return Tab(self.pipe, self.pipe.frames[-1])

    def open(self, address: str) -> None:
        """Open an address and wait until it is whole."""
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str, *, seconds: float = SECONDS_TO_ANSWER) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.ask(expression):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.1)

    def click(self, selector: str) -> None:
        """Press the mouse on the middle of an element."""
        self.ask(
            f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center', inline: 'center'}})"
        )
        box = self.ask(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def press(self, key: str, *, code: int, text: str = "") -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        """Make the window as large as that of a phone, or of a screen."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def shoot(self, path: Path, *, whole: bool = False) -> None:
        """Take a picture of what is seen, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))


@contextlib.contextmanager
def open_browser() -> Iterator[Tab]:
    """Start the browser and open a tab; skip the test where there is none."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(PROGRAMS)} is on PATH")
    inner_in, outer_out = os.pipe()
    outer_in, inner_out = os.pipe()
    with tempfile.TemporaryDirectory(prefix="gnz-browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                "/bin/bash",
                "-c",
                PIPES,
                "browser",
                program,
                *OPTIONS,
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
            ],
            env={**os.environ, "GNZ_IN": str(inner_in), "GNZ_OUT": str(inner_out)},
            pass_fds=(inner_in, inner_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(inner_in)
        os.close(inner_out)
        try:
            with os.fdopen(outer_out, "wb") as commands, os.fdopen(outer_in, "rb") as answers:
                yield Tab(Pipe(commands, answers))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait(30)
