"""Downloads: one address into one file, resumed where it broke off, checked, and there only once it is right.

Addresses are those of http and https servers, and of files; certificates, redirects and credentials are looked after.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from gnz_track import __version__
from gnz_track.errors import BadValue, DownloadFailed

__all__ = [
    "PATIENCE",
    "Dropped",
    "Patience",
    "Response",
    "TellBytes",
    "download",
    "is_web_address",
    "open_address",
    "part_of",
    "path_of",
    "without_credentials",
]

CERTIFICATES = ("REQUESTS_CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE")
MOST_REDIRECTS = 10
# Answers of servers that may say something else a moment later.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_WEB = ("http", "https")
_LOST = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError, http.client.IncompleteRead)
_PIECE = 1 << 18
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zip", ".whl")
TellBytes = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Waiting times for servers, and how much to take from them.

    ``attempts`` counts those in a row that brought nothing new. ``most_bytes`` holds where no size is declared.
    """

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 30.0
    timeout: float = 30.0
    most_bytes: int = 8 << 30


PATIENCE = Patience()


def part_of(target: Path) -> Path:
    """Return the file that holds what has arrived so far."""
    return target.with_name(target.name + ".part")


def download(
    address: str,
    target: Path,
    *,
    sha256: str = "",
    n_bytes: int = 0,
    tell: TellBytes | None = None,
    patience: Patience = PATIENCE,
) -> None:
    """Stream an http, https or file address to a file, which appears when it is complete and right.

    An interrupted download leaves a ``.part`` beside the target, and the next call goes on from there. Raises
    :class:`DownloadFailed`.

    Parameters
    ----------
    address, target
    sha256, n_bytes
        The file must have these, where they are given.
    tell
        Is called with bytes that are here and bytes in all; what it raises ends the download and keeps the part.
    patience
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _Transfer(address, target, sha256.lower(), n_bytes, tell or _ignore, patience).run()


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


def is_web_address(address: object) -> bool:
    """TellBytes whether something is an http or https address, also where a path swallowed one of its slashes.

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


def _ignore(n_bytes: int, n_total: int | None) -> None:
    del n_bytes, n_total


class _Transfer:
    """One download over as many attempts as it takes."""

    def __init__(
        self, address: str, target: Path, sha256: str, n_bytes: int, tell: TellBytes, patience: Patience
    ) -> None:
        self.address, self.shown, self.target = address, without_credentials(address), target
        self.sha256, self.n_bytes, self.tell, self.patience = sha256, n_bytes, tell, patience
        self.part = part_of(target)
        self.notes = self.part.with_name(self.part.name + ".json")

    def run(self) -> None:
        is_resumed = self._size() > 0
        if not is_resumed or self._size() != self.n_bytes:
            self._receive_all()
        try:
            self._check()
        except DownloadFailed:
            self._discard()
            if not is_resumed:
                raise
            # What an earlier call had kept may have been of another version.
            self._receive_all()
            self._check_last()
        self.part.replace(self.target)
        self.notes.unlink(missing_ok=True)

    def _receive_all(self) -> None:
        n_failed, furthest = 0, self._size()
        while True:
            try:
                self._receive()
            except Dropped as drop:
                if drop.has_no_rest:
                    self._discard()
                n_failed = n_failed + 1 if self._size() <= furthest else 1
                furthest = max(furthest, self._size())
                if n_failed >= self.patience.attempts:
                    raise DownloadFailed(self.shown, f"{drop}, after {n_failed} attempts") from drop
                wait = max(drop.wait, self.patience.first_wait * 2 ** (n_failed - 1))
                time.sleep(min(wait, self.patience.longest_wait))
            else:
                return

    def _receive(self) -> None:
        """Make one attempt; raise ``Dropped`` where another one may help."""
        headers, offset = self._ask_for_rest()
        with open_address(self.address, headers=headers, timeout=self.patience.timeout) as answer:
            offset = self._place_of(answer, offset)
            total = self._check_total(answer, offset)
            if not offset:
                self._write_note(answer)
            with self.part.open("r+b" if offset else "wb") as file:
                file.seek(offset)
                for piece in _read_pieces(answer):
                    offset += len(piece)
                    self._check_limit(offset)
                    file.write(piece)
                    self.tell(offset, total)
        if total is not None and offset < total:
            raise Dropped(f"the connection ended after {offset} of {total} bytes")

    def _ask_for_rest(self) -> tuple[Mapping[str, str], int]:
        """Return the headers that ask for what is missing, and the bytes that are here."""
        size, notes = self._size(), self._read_notes()
        if not size or self.address.startswith("file:"):
            return {}, 0
        if notes.get("address") == self.shown and notes.get("validator"):
            return {"Range": f"bytes={size}-", "If-Range": notes["validator"]}, size
        # Without a word of the server on the version, only a checksum can tell that the halves belong together.
        return ({"Range": f"bytes={size}-"}, size) if self.sha256 else ({}, 0)

    def _place_of(self, answer: Response, offset: int) -> int:
        """Return where the bytes of an answer begin; a server that ignores ranges begins anew."""
        if answer.status != http.client.PARTIAL_CONTENT:
            return 0
        begin = answer.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
        validator = self._read_notes().get("validator")
        if begin != str(offset) or (validator and _validator(answer) not in {"", validator}):
            self._discard()
            raise Dropped("the server sent another part than the one asked for")
        return offset

    def _check_total(self, answer: Response, offset: int) -> int | None:
        """Return the size of the whole file as the server says, or as declared; refuse what cannot be right."""
        packing = answer.headers.get("content-encoding", "identity")
        if packing != "identity" and not urlsplit(self.address).path.endswith(_PACKED):
            raise DownloadFailed(self.shown, f"the server packs it with {packing!r}, although asked not to")
        length = answer.headers.get("content-length", "")
        total = offset + int(length) if length.isdecimal() else None
        if total is not None and self.n_bytes and total != self.n_bytes:
            self._discard()
            reason = f"the server says that it has {total} bytes, expected are {self.n_bytes}"
            raise DownloadFailed(self.shown, reason)
        self._check_limit(total or 0)
        return total if total is not None else self.n_bytes or None

    def _check_limit(self, n_bytes: int) -> None:
        most = self.n_bytes or self.patience.most_bytes
        if n_bytes > most:
            self._discard()
            raise DownloadFailed(self.shown, f"it has more than {most} bytes, which is the most that is taken")

    def _check(self) -> None:
        if self.n_bytes and self._size() != self.n_bytes:
            reason = f"it has {self._size()} bytes, expected are {self.n_bytes}"
            raise DownloadFailed(self.shown, reason)
        if self.sha256:
            with self.part.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != self.sha256:
                raise DownloadFailed(self.shown, f"its sha256 is {found}, expected is {self.sha256}")

    def _check_last(self) -> None:
        try:
            self._check()
        except DownloadFailed:
            self._discard()
            raise

    def _write_note(self, answer: Response) -> None:
        """Keep what the server says of the version, for a later call that goes on from here."""
        self.notes.write_text(json.dumps({"address": self.shown, "validator": _validator(answer)}))

    def _read_notes(self) -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError, ValueError):
            found = json.loads(self.notes.read_text())
            return found if isinstance(found, dict) else {}
        return {}

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self.notes.unlink(missing_ok=True)


def _validator(answer: Response) -> str:
    """Return what names the version in an ``If-Range``: a strong ETag, else the date of the last change."""
    tag = answer.headers.get("etag", "")
    return tag if tag and not tag.startswith("W/") else answer.headers.get("last-modified", "")


def _read_pieces(answer: Response) -> Iterator[bytes]:
    while True:
        try:
            piece = answer.body.read(_PIECE)
        except (OSError, http.client.HTTPException) as error:
            raise Dropped(f"the connection broke: {error or type(error).__name__}") from error
        if not piece:
            return
        yield piece


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
