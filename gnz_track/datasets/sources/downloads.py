"""One address into one file: resumed where it broke off, checked, and there only once it is complete and right."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gnz_track.datasets.sources.connections import Dropped, Response, open_address, without_credentials
from gnz_track.datasets.sources.fetch_errors import DownloadFailed

__all__ = ["PATIENCE", "Patience", "Tell", "download", "part_of"]

Tell = Callable[[int, int | None], None]

_PIECE = 1 << 18
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zip", ".whl")


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
    tell: Tell | None = None,
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


def _ignore(n_bytes: int, n_total: int | None) -> None:
    del n_bytes, n_total


class _Transfer:
    """One download over as many attempts as it takes."""

    def __init__(self, address: str, target: Path, sha256: str, n_bytes: int, tell: Tell, patience: Patience) -> None:
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
