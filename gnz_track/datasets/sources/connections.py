"""Responses of http and https servers, and of files: which certificates, redirects and credentials are taken."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from gnz_track import __version__
from gnz_track.datasets.sources.fetch_errors import DownloadFailed
from gnz_track.errors import BadValue

__all__ = ["Dropped", "Response", "is_web_address", "open_address", "path_of", "without_credentials"]

CERTIFICATES = ("REQUESTS_CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE")
MOST_REDIRECTS = 10
# Answers of servers that may say something else a moment later.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_WEB = ("http", "https")
_LOST = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError, http.client.IncompleteRead)


class Dropped(Exception):
    """An attempt that ended early and is worth another one.

    ``wait`` is what the server asked for, in seconds; ``has_no_rest`` says that it knows no such part of the file.
    """

    def __init__(self, reason: str, *, wait: float = 0.0, has_no_rest: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.has_no_rest = wait, has_no_rest


@dataclass(frozen=True, kw_only=True)
class Response:
    """Content of an address: a stream of bytes, its status (200 for files), its headers, and where it came from."""

    body: IO[bytes] | http.client.HTTPResponse
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    address: str = ""


def is_web_address(address: object) -> bool:
    """Tell whether something is an http or https address, also where a path swallowed one of its slashes.

    >>> is_web_address("https://example.org"), is_web_address(Path("https://example.org")), is_web_address("http")
    (True, True, False)
    """
    return str(address).lower().startswith(("http:/", "https:/"))


def without_credentials(address: str) -> str:
    """Return an address without name and password, to be shown.

    >>> without_credentials("https://me:secret@example.org/simple")
    'https://example.org/simple'
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return address.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def path_of(address: str) -> Path:
    """Return the path of a ``file:`` address of this machine."""
    parts = urlsplit(address)
    if parts.netloc not in {"", "localhost"}:
        raise DownloadFailed(address, f"it names a file of another machine, {parts.netloc!r}")
    return Path(urllib.request.url2pathname(parts.path))


@contextlib.contextmanager
def open_address(address: str, *, headers: Mapping[str, str], timeout: float) -> Iterator[Response]:
    """Give the response of an http, https or file address.

    Raises :class:`Dropped` where another attempt may help, :class:`DownloadFailed` where none will.

    Parameters
    ----------
    address, headers
    timeout
        Seconds.
    """
    kind = _KINDS.get(address.partition("://")[0].lower())
    if kind is None:
        raise DownloadFailed(without_credentials(address), "only http, https and file addresses are fetched")
    with kind(address, headers, timeout) as response:
        yield response


@contextlib.contextmanager
def _open_file(address: str, headers: Mapping[str, str], timeout: float) -> Iterator[Response]:
    del headers, timeout
    path = path_of(address)
    try:
        file = path.open("rb")
    except OSError as error:
        raise DownloadFailed(address, error.strerror or str(error)) from error
    with file:
        yield Response(body=file, headers={"content-length": str(path.stat().st_size)}, address=address)


@contextlib.contextmanager
def _open_web(address: str, headers: Mapping[str, str], timeout: float) -> Iterator[Response]:
    response = _respond(address, headers, timeout)
    with contextlib.closing(response):
        lowered = {name.lower(): value for name, value in response.headers.items()}
        yield Response(body=response, status=response.status, headers=lowered, address=response.url)


_KINDS = {"http": _open_web, "https": _open_web, "file": _open_file}


def _respond(address: str, headers: Mapping[str, str], timeout: float) -> Any:
    shown = without_credentials(address)
    try:
        return _opener().open(_request(address, headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        reason = " ".join(f"{error.code} {error.reason}".split())
        if error.code in PASSING:
            raise Dropped(reason, wait=_parse_seconds(error.headers.get("Retry-After"))) from error
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise Dropped(reason, has_no_rest=True) from error
        raise DownloadFailed(shown, reason) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        reason = str(cause) or type(cause).__name__
        if isinstance(cause, _LOST):
            raise Dropped(reason) from error
        raise DownloadFailed(shown, reason) from error


def _request(address: str, headers: Mapping[str, str]) -> urllib.request.Request:
    parts = urlsplit(address)
    own = {"User-Agent": f"gnz-track/{__version__}", "Accept-Encoding": "identity", **headers}
    request = urllib.request.Request(without_credentials(address), headers=own)  # noqa: S310  (http or https: _KINDS)
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        # Not among the headers that every redirect carries on: another host must not learn it.
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())
    return request


def _parse_seconds(text: str | None) -> float:
    return float(text) if text and text.isdecimal() else 0.0


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https, and never from https to http."""

    max_redirections = MOST_REDIRECTS

    def redirect_request(
        self,
        request: urllib.request.Request,
        body: Any,
        code: int,
        message: str,
        headers: http.client.HTTPMessage,
        address: str,
    ) -> urllib.request.Request | None:
        old, new = urlsplit(request.full_url), urlsplit(address)
        if new.scheme not in _WEB or (old.scheme == "https" and new.scheme != "https"):
            reason = f"{message}, a redirect from {old.scheme} to {new.scheme}, which is refused"
            raise urllib.error.HTTPError(request.full_url, code, reason, headers, body)
        following = super().redirect_request(request, body, code, message, headers, address)
        secret = request.unredirected_hdrs.get("Authorization")
        if following is not None and secret and (old.scheme, old.netloc) == (new.scheme, new.netloc):
            following.add_unredirected_header("Authorization", secret)
        return following


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for http and https only, through the proxies of the environment."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=_trusted_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _trusted_context() -> ssl.SSLContext:
    """Return what the system trusts, and the certificates that the environment names."""
    places = {name: os.environ[name] for name in CERTIFICATES if os.environ.get(name)}
    for name, place in places.items():
        if not Path(place).exists():
            raise BadValue(name, place, "a file or a folder with certificates")
    return _load_context(tuple(dict.fromkeys(places.values())))


@functools.cache
def _load_context(places: tuple[str, ...]) -> ssl.SSLContext:
    """Make a context once: reading all certificates of a system takes a tenth of a second."""
    context = ssl.create_default_context()
    for place in places:
        is_folder = Path(place).is_dir()
        context.load_verify_locations(cafile=None if is_folder else place, capath=place if is_folder else None)
    return context
