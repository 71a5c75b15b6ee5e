"""Address of a store: ``--store`` read, checked and shown without its password, and the file system that it lies on."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from gnz_track.errors import StoreUnusable
from gnz_track.store.files.sqlite import START, file_of, remains_of, set_aside, unusable, uri_of

__all__ = ["NETWORK_FILE_SYSTEMS", "Address", "file_system_of", "mask", "parse_address", "store_home"]


NETWORK_FILE_SYSTEMS = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "davfs",
        "fuse.ceph",
        "fuse.davfs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "smbfs",
        "wekafs",
    }
)
MOUNTS = Path("/proc/mounts")


def file_system_of(path: Path, mounts: str | None = None) -> str:
    r"""Return the type of the innermost mount that holds a path, nothing where the system does not say.

    ``mounts`` is a text like ``/proc/mounts``, which is read where it is not given.

    >>> file_system_of(Path("/home/me/gnz.db"), "/dev/sda / ext4 rw 0 0\nsrv:/home /home nfs4 rw 0 0")
    'nfs4'
    """
    if mounts is None:
        mounts = MOUNTS.read_text(errors="replace") if MOUNTS.exists() else ""
        path = path.resolve()
    found, depth = "", -1
    for fields in (line.split() for line in mounts.splitlines()):
        if len(fields) < 3:
            continue
        place = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), fields[1]))
        # Of several mounts on one place the last one hides the others.
        if path.is_relative_to(place) and len(place.parts) >= depth:
            found, depth = fields[2], len(place.parts)
    return found


STORE_VARIABLE = "GNZ_STORE"
FILE_NAME, ARTIFACT_FOLDER = "gnz.db", "artifacts"
SQLITE, POSTGRESQL, SERVER = "sqlite", "postgresql", "server"
DRIVER = "postgresql+psycopg"

# Scheme as typed -> (kind of store, scheme as used). SQLAlchemy 2.0 took psycopg2 for a plain postgresql://.
SCHEMES = {
    "sqlite": (SQLITE, "sqlite"),
    "postgres": (POSTGRESQL, DRIVER),
    "postgresql": (POSTGRESQL, DRIVER),
    DRIVER: (POSTGRESQL, DRIVER),
    "http": (SERVER, "http"),
    "https": (SERVER, "https"),
}
# What begins so is a path, whatever else stands in it.
PATHS = ("/", "./", "../", "~/")
ALLOWED = "give a file (runs/gnz.db), sqlite:///FILE, postgresql://USER@HOST/DATABASE or http(s)://HOST:PORT"


@dataclass(frozen=True)
class Address:
    """A store: its URI as MLflow takes it, its kind, and the folder for artifacts that this machine writes."""

    uri: str
    kind: str
    artifacts: Path | None = None

    def __repr__(self) -> str:
        return f"Address({self.masked!r}, {self.kind!r})"

    def __str__(self) -> str:
        return self.masked

    @property
    def masked(self) -> str:
        """The URI without its password, to be shown; a file has none, whatever its name looks like."""
        return self.uri if self.kind == SQLITE else mask(self.uri)

    @property
    def is_database(self) -> bool:
        """Whether the tables can be read by SQL."""
        return self.kind != SERVER

    @property
    def file(self) -> Path:
        """The file of an sqlite store."""
        return file_of(self.uri)


def store_home() -> Path:
    """Return the folder of the default store: below the user's data, never below the working folder."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "gnz_track"


def parse_address(text: str = "", *, home: Path | None = None) -> Address:
    """Read a store's address; nothing means ``GNZ_STORE``, and without that ``sqlite:///<home>/gnz.db``.

    A path without scheme is an sqlite file, to the letter; in ``sqlite:///`` addresses ``%25`` stands for a percent
    sign, as it does for SQLAlchemy and MLflow. Artifacts of databases lie beside the file, or below ``home``.
    """
    home = (home or store_home()).expanduser().absolute()
    given = text if text.strip() else os.environ.get(STORE_VARIABLE, "")
    given = given if given.strip() else str(home / FILE_NAME)
    if given.startswith(PATHS):
        return _sqlite(given, given)
    scheme, colon, rest = given.partition("://")
    if not colon:
        if _looks_like_address(given):
            shown = re.sub(r"\S*@", "***@", given)
            raise StoreUnusable(shown, "it looks like an address, and has no ://", remedy=ALLOWED)
        return _sqlite(given, given)
    kind, used = SCHEMES.get(scheme.strip().lower(), ("", ""))
    if not kind:
        raise StoreUnusable(mask(given), f"nothing is known of the scheme {scheme!r}", remedy=ALLOWED)
    if kind == SQLITE:
        return _sqlite(_path_in(rest, given), given)
    rest = rest.strip()
    if kind == POSTGRESQL and find_spec("psycopg") is None:
        remedy = "install it with: pip install 'gnz-track[postgres]'"
        raise StoreUnusable(mask(given), "the driver psycopg is not installed", remedy=remedy)
    if not _has_host(f"{used}://{rest}"):
        raise StoreUnusable(mask(given), "it names no host", remedy=ALLOWED)
    if _has_bare_sign(rest):
        reason = "its user or password holds an @, so that nobody can tell where the host begins"
        raise StoreUnusable(
            mask(given), reason, remedy="write it as %40, or leave the password to PGPASSWORD or ~/.pgpass"
        )
    artifacts = home / ARTIFACT_FOLDER if kind == POSTGRESQL else None
    return Address(f"{used}://{rest}".rstrip("/") if kind == SERVER else f"{used}://{rest}", kind, artifacts)


def mask(text: str) -> str:
    """Return a URI, or any text that holds one, without passwords.

    >>> mask("postgresql://me:secret@host/db?password=secret")
    'postgresql://me:***@host/db?password=***'
    """
    # Greedy up to the last @: a password may hold @, : and / that nobody escaped. Better too much than too little.
    text = re.sub(r"(://[^:/@\s]*):\S*@", r"\1:***@", text)
    return re.sub(r"(?i)\b((?:ssl)?password|passwd|pwd|token)=[^&\s'\"]+", r"\1=***", text)


def check_place(address: Address) -> None:
    """Refuse an sqlite file where it cannot live: on a network, in the place of a folder, beside what another left."""
    if address.kind != SQLITE:
        return
    nearest = next(place for place in (address.file, *address.file.parents) if place.exists())
    file_system = file_system_of(nearest)
    if file_system in NETWORK_FILE_SYSTEMS:
        reason = f"it lies on a network file system ({file_system}), where sqlite loses data"
        remedy = "choose a local folder, postgresql://... or a server's http://..."
        raise StoreUnusable(address, reason, remedy=remedy)
    if address.file.exists() and not (address.file.is_file() or address.file.is_dir()):
        raise StoreUnusable(address, "it is a device, a pipe or a socket", remedy="name a file")
    if address.file.is_dir():
        raise StoreUnusable(address, "it is a folder", remedy=f"name a file in it: {address.file / FILE_NAME}")
    if nearest != address.file and not nearest.is_dir():
        raise StoreUnusable(address, f"{nearest} is no folder", remedy="choose another path")
    if remains := remains_of(address.file):
        named = ", ".join(path.name for path in remains)
        reason = f"its file is gone or empty, and {named} beside it may hold results, or be in use still"
        remedy = f"put the file back; or set them aside to begin anew: {set_aside(remains)}"
        raise StoreUnusable(address, reason, remedy=remedy)


def _path_in(rest: str, given: str) -> str:
    """Return the path in an ``sqlite:///`` address: three slashes, then the path; a fourth one makes it absolute."""
    if not rest.startswith("/") or rest in {"/", "/:memory:"}:
        raise StoreUnusable(given, "it names no file", remedy="give sqlite:///FILE")
    if "?" in rest:
        remedy = "give sqlite:///FILE; where the name itself holds a question mark, write %3F"
        raise StoreUnusable(given, "options behind a ? are not taken", remedy=remedy)
    return str(file_of(START + rest[1:]))


def _sqlite(path: str, given: str) -> Address:
    with contextlib.suppress(RuntimeError):
        # The home of a user that is not known: as in a shell, the name stays as it is.
        path = str(Path(path).expanduser())
    if reason := unusable(os.path.abspath(path)):  # noqa: PTH100  (a path that Path could not ask the system about)
        raise StoreUnusable(given, reason, remedy="choose another path with --store")
    file = Path(path).absolute()
    if file.is_symlink():
        # A store that is made is moved to its name, which would take the place of the link.
        file = Path(os.path.realpath(file))
        if file.is_symlink():
            reason = "it is a symbolic link that leads back to itself"
            raise StoreUnusable(given, reason, remedy="remove the link, or choose another path with --store")
    return Address(uri_of(file), SQLITE, file.parent / ARTIFACT_FOLDER)


def _looks_like_address(text: str) -> bool:
    """Tell whether a text without :// is no name of a file: it would become one, password and all."""
    begins = text.partition(":")[0].lower() if ":" in text else ""
    return begins in SCHEMES or re.match(r"[^/\s]*:[^\s]*@[^\s]*", text) is not None


def _has_bare_sign(rest: str) -> bool:
    return re.split(r"[/?#]", rest, maxsplit=1)[0].count("@") > 1


def _has_host(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        # A database may be reached by a socket, whose folder is an option.
        return bool(parts.hostname or "host=" in parts.query) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
