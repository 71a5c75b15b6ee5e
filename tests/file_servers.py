"""Real HTTP servers of this machine, honest ones and others."""

from __future__ import annotations

import contextlib
import http.server
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

Headers = dict[str, str]
Act = Callable[["Request"], None]


class Request(http.server.BaseHTTPRequestHandler):
    """One request, with words for what a server may do to it."""

    routes: dict[str, Act]
    seen: list[tuple[str, Headers]]

    def do_GET(self) -> None:
        self.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        act = self.routes.get(self.path)
        with contextlib.suppress(ConnectionError):
            if act is None:
                self.answer(404)
            else:
                act(self)

    def answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        """Answer with headers, ``content_length`` among them where it is to be another than the true one."""
        self.send_response(status)
        for name, value in {"content_length": str(len(content)), **headers}.items():
            if value:
                self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@dataclass(frozen=True)
class FileServer:
    """A server that runs: its address, what it does at which path, and what it was asked."""

    address: str
    routes: dict[str, Act]
    seen: list[tuple[str, Headers]] = field(default_factory=list)

    def paths(self) -> list[str]:
        return [path for path, _ in self.seen]

    def ranges(self) -> list[str]:
        return [headers.get("range", "") for _, headers in self.seen]


@contextlib.contextmanager
def run_server(*, certificate: Path | None = None) -> Iterator[FileServer]:
    """Run a server with routes that a test fills in."""
    routes: dict[str, Act] = {}
    seen: list[tuple[str, Headers]] = []
    kind = type("Served", (Request,), {"routes": routes, "seen": seen})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = "https"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield FileServer(f"{scheme}://127.0.0.1:{server.server_address[1]}", routes, seen)
        finally:
            server.shutdown()
            thread.join(10)


def give(content: bytes, **headers: str) -> Act:
    """Return what an honest server without ranges does."""
    return lambda request: request.answer(200, content, **headers)


def give_ranges(content: bytes, *, drops_after: int = 0, tag: str = '"one"') -> Act:
    """Return what an honest server with ranges does; with ``drops_after`` it hangs up after so many bytes."""

    def act(request: Request) -> None:
        wanted = request.headers.get("Range", "")
        is_same = request.headers.get("If-Range", tag) == tag
        begin = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted and is_same else 0
        if begin and begin >= len(content):
            request.answer(416, content_range=f"bytes */{len(content)}")
            return
        rest = content[begin:]
        sent = rest[:drops_after] if drops_after else rest
        place = {"content_range": f"bytes {begin}-{len(content) - 1}/{len(content)}"} if begin else {}
        request.answer(206 if begin else 200, sent, content_length=str(len(rest)), etag=tag, **place)

    return act


def redirect(address: str, status: int = 302) -> Act:
    """Return what a server does that sends one elsewhere."""
    return lambda request: request.answer(status, location=address)


def in_turn(*acts: Act) -> Act:
    """Return what a server does that acts otherwise each time, and from then on as the last time."""
    left = list(acts)

    def act(request: Request) -> None:
        now = left.pop(0) if len(left) > 1 else left[0]
        now(request)

    return act


def make_certificate(folder: Path) -> Path:
    """Make a certificate of 127.0.0.1, with its key, that nobody else trusts."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("no openssl program to make a certificate with")
    file, key = folder / "certificate.pem", folder / "key.pem"
    command = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + key.read_bytes())
    return file
