"""Files of a cell by name, with their digests, and the folder in which they wait for the store, each named by its own.

A waiting file is written beside its name and renamed once it is on the disk: of a process that is killed, no half file
is left under a digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from gnz_track.errors import GnzError
from gnz_track.files import sync_folder
from gnz_track.records import from_plain, to_json

__all__ = [
    "LARGEST_FILE",
    "KeptFile",
    "describe_files",
    "digest_of_bytes",
    "drop_files",
    "files_from_tag",
    "sound_files",
    "spool_files",
    "tag_of_files",
]

# None is written that is larger, and none is read.
LARGEST_FILE = 64 * 2**20
UNFINISHED = ".part"
_DIGEST, _NAME = re.compile(r"[0-9a-f]{64}"), re.compile(r"(?:\w[\w\-]{0,39}/)?\w[\w.\-]{0,79}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class KeptFile:
    """SHA-256 and size of a file."""

    digest: str
    n_bytes: int


def digest_of_bytes(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def describe_files(files: Mapping[str, bytes]) -> dict[str, KeptFile]:
    """Return digest and size of each file, sorted by name."""
    return {
        name: KeptFile(digest=digest_of_bytes(content), n_bytes=len(content)) for name, content in sorted(files.items())
    }


def tag_of_files(files: Mapping[str, KeptFile]) -> str:
    """Return the text under which a run names its files, nothing where it has none."""
    return json.dumps({name: json.loads(to_json(file)) for name, file in files.items()}) if files else ""


def files_from_tag(text: str) -> dict[str, KeptFile]:
    """Return the files that a run names; what was written by somebody else and names none is left out."""
    try:
        found = {name: from_plain(KeptFile, fields) for name, fields in json.loads(text or "{}").items()}
    except (ValueError, TypeError, AttributeError, RecursionError, GnzError):
        return {}
    return {name: file for name, file in found.items() if _NAME.fullmatch(name) and _is_sound(file)}


def _is_sound(file: KeptFile) -> bool:
    is_digest = isinstance(file.digest, str) and _DIGEST.fullmatch(file.digest) is not None
    return is_digest and type(file.n_bytes) is int and file.n_bytes >= 0


def spool_files(folder: Path, files: Mapping[str, bytes], threads: Executor) -> None:
    """Write files into a folder, each under its digest; when this returns, they are on the disk.

    Parameters
    ----------
    folder
        Folder in which they wait; it is made where there is none.
    files
        Contents by name.
    threads
        Threads that write: a disk that is asked at once brings several files to safety in the time of one.
    """
    if not folder.is_dir():
        folder.mkdir(mode=0o700)
        sync_folder(folder.parent)
    named = {digest_of_bytes(content): content for content in files.values()}
    new = {folder / digest: content for digest, content in named.items() if not (folder / digest).exists()}
    if new:
        list(threads.map(_write_through, new, new.values()))
        sync_folder(folder)


def _write_through(path: Path, content: bytes) -> None:
    """Write a file that has its name once its content is on the disk."""
    unfinished = path.with_name(f"{uuid.uuid4().hex}{UNFINISHED}")
    try:
        with unfinished.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def sound_files(folder: Path, files: Mapping[str, KeptFile]) -> tuple[dict[str, Path], dict[str, str]]:
    """Return where files wait, by name, and what is wrong with those that are not what they were."""
    sound, lost = {}, {}
    for name, file in files.items():
        path = folder / file.digest
        try:
            found = digest_of_bytes(path.read_bytes())
        except OSError as error:
            lost[name] = f"cannot be read on this disk ({error.strerror})"
            continue
        if found == file.digest:
            sound[name] = path
        else:
            lost[name] = f"was changed on this disk (digest mismatch: {found[:12]}, not {file.digest[:12]})"
    return sound, lost


def drop_files(folder: Path, digests: Collection[str] | None = None) -> None:
    """Remove files that wait no more; without digests all of them, unfinished ones too, and the folder."""
    if digests is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for digest in digests:
        (folder / digest).unlink(missing_ok=True)
