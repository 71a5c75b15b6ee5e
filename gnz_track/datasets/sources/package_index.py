"""Places of a release's file: on the package indexes and in the folders of links that pip is configured with.

Only pages are read, never a package: nothing is built, installed or run. JSON pages are those of PEP 691, HTML pages
those of PEP 503.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from gnz_track.datasets.sources.connections import Dropped, Response, open_address, path_of, without_credentials
from gnz_track.datasets.sources.fetch_errors import DownloadFailed

__all__ = ["PUBLIC_INDEX", "Listed", "PipPlaces", "find_file", "read_pip_places"]

PUBLIC_INDEX = "https://pypi.org/simple"
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_MOST_PAGE_BYTES = 64 << 20
_ATTEMPTS = 3
_TIMEOUT = 60.0


@dataclass(frozen=True, kw_only=True)
class PipPlaces:
    """Places where pip looks: ``links`` have files of all projects, ``indexes`` a page for each project."""

    indexes: tuple[str, ...] = (PUBLIC_INDEX,)
    links: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A file as a place lists it; ``sha256`` is empty where the place says none."""

    address: str
    sha256: str
    place: str


def read_pip_places(environment: Mapping[str, str] | None = None) -> PipPlaces:
    """Return the places of pip's configuration files and, above them, of the environment."""
    environment = os.environ if environment is None else environment
    found = _from_files(environment)
    for name, value in environment.items():
        if name.startswith("PIP_") and value:
            found[_option_key(name.removeprefix("PIP_"))] = value
    is_offline = found.get("no-index", "").lower() in {"1", "true", "yes", "on", "y", "t"}
    indexes = [found.get("index-url", PUBLIC_INDEX), *found.get("extra-index-url", "").split()]
    return PipPlaces(
        indexes=() if is_offline else tuple(dict.fromkeys(index.strip().rstrip("/") for index in indexes)),
        links=tuple(dict.fromkeys(found.get("find-links", "").split())),
    )


def find_file(project: str, file: str, *, places: PipPlaces, looked_in: list[tuple[object, str]]) -> Iterator[Listed]:
    """Yield each place that lists a file of exactly this name.

    Parameters
    ----------
    project, file, places
    looked_in
        Gets the places that do not list it, each with a reason.
    """
    folder = re.sub(r"[-_.]+", "-", project).lower()
    pages = [*((link, link) for link in places.links), *((index, f"{index}/{folder}/") for index in places.indexes)]
    for place, page in pages:
        shown = without_credentials(place)
        try:
            listed = _files_at(page)
        except (Dropped, DownloadFailed) as error:
            looked_in.append((shown, getattr(error, "reason", str(error))))
            continue
        if file in listed:
            address, sha256 = listed[file]
            yield Listed(address=_with_credentials(address, place), sha256=sha256, place=shown)
        else:
            looked_in.append((shown, f"it lists {len(listed)} files here, and none is {file}"))


def _from_files(environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings for downloads, later files above earlier ones."""
    found: dict[str, str] = {}
    for section in ("global", "download"):
        for path in _config_files(environment):
            parser = configparser.RawConfigParser(strict=False)
            try:
                parser.read(path, encoding="utf-8")
            except (configparser.Error, UnicodeDecodeError, OSError) as error:
                raise DownloadFailed(path, f"pip's configuration file cannot be read: {error}") from error
            if parser.has_section(section):
                found.update({_option_key(name): value for name, value in parser.items(section)})
    return found


def _config_files(environment: Mapping[str, str]) -> list[Path]:
    own = environment.get("PIP_CONFIG_FILE", "")
    if own == os.devnull:
        return []
    home = Path(environment.get("HOME") or Path.home())
    shared = [Path(folder) for folder in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep) if folder]
    of_machine = [*(folder / "pip" / "pip.conf" for folder in shared), Path("/etc/pip.conf")]
    of_user = [home / ".pip/pip.conf", Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf"]
    if sys.platform == "darwin":
        of_machine.insert(0, Path("/Library/Application Support/pip/pip.conf"))
        of_user.append(home / "Library/Application Support/pip/pip.conf")
    is_given = bool(own) and Path(own).exists()
    return [
        *of_machine,
        *([] if is_given else of_user),
        Path(sys.prefix) / "pip.conf",
        *([Path(own)] if is_given else []),
    ]


def _option_key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _files_at(page: str) -> dict[str, tuple[str, str]]:
    """Return file names to (address, sha256) of a page or a folder."""
    if "://" in page and not page.startswith("file:"):
        return _on_page(page)
    path = path_of(page) if page.startswith("file:") else Path(page).expanduser().absolute()
    if path.is_dir() and not (path / "index.html").is_file():
        return {entry.name: (entry.as_uri(), "") for entry in path.iterdir() if entry.is_file()}
    return _on_page((path / "index.html" if path.is_dir() else path).as_uri())


def _on_page(page: str) -> dict[str, tuple[str, str]]:
    for attempt in range(_ATTEMPTS):
        try:
            with open_address(page, headers={"Accept": _ACCEPT}, timeout=_TIMEOUT) as answer:
                return _parse_page(answer, page)
        except Dropped:
            if attempt == _ATTEMPTS - 1:
                raise
    return {}


def _parse_page(answer: Response, page: str) -> dict[str, tuple[str, str]]:
    try:
        content = answer.body.read(_MOST_PAGE_BYTES + 1)
    except OSError as error:
        raise Dropped(f"the connection broke: {error}") from error
    declared = answer.headers.get("content-length", "")
    if declared.isdecimal() and len(content) < min(int(declared), _MOST_PAGE_BYTES):
        raise Dropped(f"the connection ended after {len(content)} of {declared} bytes")
    if len(content) > _MOST_PAGE_BYTES:
        raise DownloadFailed(without_credentials(page), f"its page has more than {_MOST_PAGE_BYTES} bytes")
    kind = answer.headers.get("content-type", "text/html").partition(";")[0].strip()
    read = _read_json if kind.endswith("json") else _read_html
    try:
        links = read(content.decode("utf-8", "replace"), answer.address)
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadFailed(
            without_credentials(page), f"its page does not read as a list of files: {error}"
        ) from error
    return {unquote(urlsplit(address).path.rpartition("/")[2]): (address, sha256) for address, sha256 in links}


def _read_json(text: str, address: str) -> list[tuple[str, str]]:
    return [(urljoin(address, file["url"]), file["hashes"].get("sha256", "")) for file in json.loads(text)["files"]]


def _read_html(text: str, address: str) -> list[tuple[str, str]]:
    parser = _Anchors(address)
    parser.feed(text)
    parser.close()
    return [(plain, _sha256_in(fragment)) for plain, fragment in map(urldefrag, parser.addresses)]


def _sha256_in(fragment: str) -> str:
    return fragment.removeprefix("sha256=").partition("&")[0] if fragment.startswith("sha256=") else ""


class _Anchors(HTMLParser):
    """Collects where the anchors of a page lead to."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._here, self.addresses = address, list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target: Any = dict(attrs).get("href")
        if target and tag == "base":
            self._here = urljoin(self._here, target)
        elif target and tag == "a":
            self.addresses.append(urljoin(self._here, target))


def _with_credentials(address: str, place: str) -> str:
    """Return an address with the credentials of its index where both are on one host, as pip does."""
    file, index = urlsplit(address), urlsplit(place)
    secret, mark, host = index.netloc.rpartition("@")
    is_same = mark and (file.scheme, file.netloc) == (index.scheme, host)
    return urlunsplit(file._replace(netloc=f"{secret}@{host}")) if is_same else address
