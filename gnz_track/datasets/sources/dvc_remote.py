"""Frozen folders in a DVC remote: plain files, added, pushed and pulled by the program ``dvc``. No torch here.

DVC versions the folder of frozen data inside a DVC repository; a ``.dvc`` file beside each frozen folder is what
belongs into Git. https://dvc.org/doc
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from gnz_track.datasets.card import CARD
from gnz_track.datasets.homes import folder_name
from gnz_track.errors import BadValue, DataMissing, ProgramFailed

__all__ = ["find_repository", "frozen_folders", "pull", "push", "tracked_folders"]

_SUFFIX = ".dvc"


def find_repository(home: Path, *, start: Path | None = None) -> Path:
    """Return the DVC repository of the working folder; frozen data that lie outside of it are an error."""
    start = (start or Path.cwd()).resolve()
    found = next((place for place in (start, *start.parents) if (place / ".dvc").is_dir()), None)
    if found is None:
        raise BadValue("the working folder", str(start), "one inside of a DVC repository", command="dvc init")
    if not home.resolve().is_relative_to(found):
        allowed = f"a folder inside of the DVC repository {found}"
        raise BadValue("the folder of frozen data", str(home), allowed, command="--home data or GNZ_DATA=data")
    return found


def frozen_folders(home: Path, names: Sequence[str]) -> list[Path]:
    """Return the frozen folders of some datasets, of all without names; a dataset that has none is an error."""
    return _find_each(home, names, lambda place: sorted(path.parent for path in place.rglob(CARD)), "is not frozen")


def tracked_folders(home: Path, names: Sequence[str]) -> list[Path]:
    """Return the folders, there or not, of some datasets that a ``.dvc`` file stands for; of all without names."""

    def tracked(place: Path) -> list[Path]:
        beside = place.with_name(place.name + _SUFFIX)
        files = [*([beside] if beside.is_file() else []), *sorted(place.rglob(f"?*{_SUFFIX}"))]
        return [path.with_suffix("") for path in files]

    return _find_each(home, names, tracked, f"has no {_SUFFIX} file (fetch it with Git)")


def _find_each(home: Path, names: Sequence[str], find: Callable[[Path], list[Path]], lacking: str) -> list[Path]:
    """Return what is found for each name; nothing is an error that names the first dataset without."""
    found: list[Path] = []
    for place in [home / folder_name(name) for name in names] or [home]:
        folders = find(place)
        if not folders:
            what, name = (place.name, place.name) if names else ("any dataset", "NAME")
            raise DataMissing(what, [place], command=f"gnz data get {name}", reason=f"it {lacking}")
        found += folders
    return found


def push(folders: Iterable[Path], *, repository: Path, remote: str = "") -> None:
    """Track frozen folders, and copy them to a remote.

    Parameters
    ----------
    folders, repository
    remote
        Its name; DVC's default where left out.
    """
    folders = list(folders)
    _run_dvc(["add", "--quiet", *map(str, folders)], repository)
    _run_dvc(["push", *_remote_option(remote), *(f"{folder}{_SUFFIX}" for folder in folders)], repository)


def pull(folders: Iterable[Path], *, repository: Path, remote: str = "") -> None:
    """Copy tracked folders from a remote.

    Parameters
    ----------
    folders, repository
    remote
        Its name; DVC's default where left out.
    """
    _run_dvc(["pull", *_remote_option(remote), *(f"{folder}{_SUFFIX}" for folder in folders)], repository)


def _remote_option(remote: str) -> list[str]:
    return ["--remote", remote] if remote else []


def _run_dvc(arguments: Sequence[str], repository: Path) -> None:
    """Run dvc in its repository; what it complains about is the reason of the error."""
    beside = Path(sys.executable).with_name("dvc")
    program = str(beside) if beside.is_file() else shutil.which("dvc")
    if program is None:
        raise BadValue("the program dvc", None, "an installed one", command="pip install 'gnz-track[dvc]'")
    environment = {**os.environ, "DVC_NO_ANALYTICS": "1"}
    ended = subprocess.run(  # noqa: S603  (no shell, and paths are arguments of their own)
        [program, *arguments], cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.strip()]
        complaints = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["it said nothing"]
        raise ProgramFailed(f"dvc {arguments[0]}", ended.returncode, complaints[0].removeprefix("ERROR: "))
