"""Files that lie with a run, wherever its store keeps them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from gnz_track.store.address import Address
from gnz_track.store.connection import says_in_one_line, set_up

__all__ = ["fetch_artifact", "read_artifact"]


def fetch_artifact(address: Address, place: str, name: str, folder: Path) -> Path | None:
    """Return an artifact as a file on this machine, fetched into a folder where it lies elsewhere; None: it is gone.

    ``place`` is where the artifacts of the run lie, as its store says.
    """
    parts = urlsplit(place)
    if parts.scheme in {"", "file"}:
        file = Path(url2pathname(parts.path)) / name
        return file if file.is_file() else None
    set_up()
    from mlflow.exceptions import MlflowException
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    with says_in_one_line(address):
        try:
            # Files that lie behind a server are out of reach for whoever asks its database.
            repository = get_artifact_repository(place, tracking_uri=address.uri)
            return Path(repository.download_artifacts(name, str(folder)))  # type: ignore[no-untyped-call]
        except (MlflowException, OSError):
            # Whoever asks can do without, or says in its own words what is gone.
            return None


def read_artifact(address: Address, place: str, name: str) -> str | None:
    """Return an artifact as text; None where it is gone, or is no text."""
    with tempfile.TemporaryDirectory() as temporary:
        file = fetch_artifact(address, place, name, Path(temporary))
        try:
            return None if file is None else file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
