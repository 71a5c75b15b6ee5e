"""Files that lie with a run, wherever its store keeps them."""

from __future__ import annotations

import logging
import shutil
import stat
import tempfile
import uuid
from pathlib import Path
from typing import Any

from gnz_track.errors import StoreUnusable
from gnz_track.store.address import Address
from gnz_track.store.connection import says_in_one_line
from gnz_track.store.mlflow_import import set_up
from gnz_track.store.places import check_name, file_in, find_place, is_behind_server

__all__ = ["fetch_artifact", "keep_artifact", "read_artifact"]

LOG = logging.getLogger(__name__)
# The book of a hundred thousand cells has a twentieth of it.
MOST_BYTES = 2**30
# Said once for a store, and not for each of its runs.
_TOLD: set[str] = set()


def fetch_artifact(address: Address, place: str, name: str, folder: Path) -> Path | None:
    """Return an artifact as a file on this machine, fetched into a folder where it lies elsewhere; None: it is gone.

    What :func:`find_place` refuses is not there either, and a warning says so.

    Parameters
    ----------
    address
        Store of the run.
    place
        Where the artifacts of the run lie, as its store says.
    name
        Name of the artifact.
    folder
        Where a fetched file goes.
    """
    try:
        found = find_place(address, place)
        if isinstance(found, Path):
            return _existing(file_in(address, found, name))
        check_name(address, name)
    except StoreUnusable as error:
        _warn_of_refused(address, place, error)
        return None
    from mlflow.exceptions import MlflowException

    with says_in_one_line(address):
        try:
            return _existing(Path(_repository(address, found).download_artifacts(name, str(folder))))
        except (MlflowException, OSError):
            # Whoever asks can do without, or says in its own words what is gone.
            return None


def read_artifact(address: Address, place: str, name: str) -> str | None:
    """Return an artifact as text; None where it is gone, or is no text.

    Parameters
    ----------
    address, place, name
        Those of :func:`fetch_artifact`.
    """
    with tempfile.TemporaryDirectory() as temporary:
        file = fetch_artifact(address, place, name, Path(temporary))
        try:
            return None if file is None else file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None


def keep_artifact(address: Address, place: str, name: str, source: Path) -> None:
    """Copy a file to the artifacts of a run.

    Parameters
    ----------
    address, place
        Those of :func:`fetch_artifact`.
    name
        Name of the artifact, which may hold folders.
    source
        File to copy.
    """
    found = find_place(address, place, is_read=False)
    if isinstance(found, str):
        folder = str(Path(name).parent)
        with tempfile.TemporaryDirectory() as temporary:
            copy = Path(shutil.copyfile(source, Path(temporary) / Path(name).name))
            _repository(address, found).log_artifact(str(copy), None if folder == "." else folder)
        return
    file = file_in(address, found, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    # Of another name first: readers see the file as it was, or whole.
    unfinished = file.with_name(f"{file.name}.{uuid.uuid4().hex[:8]}.new")
    try:
        shutil.copyfile(source, unfinished)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _existing(file: Path) -> Path | None:
    """Return a file where it is one, and no larger than any that was ever written; pipes are not waited for."""
    try:
        found = file.lstat()
    except OSError:
        return None
    return file if stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES else None


def _repository(address: Address, uri: str) -> Any:
    set_up()
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    return get_artifact_repository(uri, tracking_uri=address.uri)


def _warn_of_refused(address: Address, place: str, error: StoreUnusable) -> None:
    if is_behind_server(address, place) or str(error) in _TOLD:
        return
    _TOLD.add(str(error))
    LOG.warning("plans and tables beside the runs are left out: %s", error)
