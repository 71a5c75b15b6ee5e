"""Files that the raw folder of a dataset holds, and what of them a folder lacks. Nothing is fetched here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gnz_track.datasets.sources.connections import is_web_address
from gnz_track.errors import BadValue
from gnz_track.origins import Origin, PackageFile
from gnz_track.types import DatasetRow

__all__ = ["files_of", "find_complete", "holds", "lack_of", "parse_mirror", "raw_folder", "wanted_files"]


def parse_mirror(mirror: str | Path | None = None) -> Path | str | None:
    """Return the folder or the address of raw files: the argument, else ``GNZ_MIRROR``; None without one."""
    given = str(mirror or os.environ.get("GNZ_MIRROR") or "")
    if not given:
        return None
    if is_web_address(given):
        kind, _, rest = given.partition(":")
        return f"{kind.lower()}://{rest.strip('/')}"
    folder = Path(given).expanduser().absolute()
    if not folder.is_dir():
        allowed = "a folder with raw files, or an http(s) address of one, laid out as PyG's raw folders"
        raise BadValue("the mirror", given, allowed)
    return folder


def raw_folder(row: DatasetRow, home: Path) -> Path:
    """Return where the fetched raw files of a row lie, whether they are there or not."""
    return home / "raw" / row.raw


def files_of(origin: Origin) -> Mapping[str, str]:
    """Return what an origin gives: paths below the raw folder to members, which are empty for the file itself."""
    if origin.members:
        return origin.members
    if isinstance(origin, PackageFile):
        return {origin.file: ""}
    return {origin.path or unquote(urlsplit(origin.url).path.rpartition("/")[2]): ""}


def wanted_files(row: DatasetRow) -> dict[str, str]:
    """Return all paths below the raw folder that the origins of a row name, with the member of the first of them."""
    wanted: dict[str, str] = {}
    for origin in row.origins:
        for path, member in files_of(origin).items():
            wanted.setdefault(path, member)
    return wanted


def lack_of(row: DatasetRow, place: Path) -> str:
    """Return what a raw folder lacks, as a part of a sentence; nothing where it is complete."""
    if not place.is_dir():
        return "there is no such folder"
    if not any(place.iterdir()):
        return "it is empty"
    missing = [path for path, member in wanted_files(row).items() if not holds(place, path, member)]
    return f"it lacks {_list_some(missing)}" if missing else ""


def holds(place: Path, path: str, member: str) -> bool:
    """Tell whether a folder has a file; for a folder of an archive, whether it has any.

    Parameters
    ----------
    place, path
    member
        The member that the path comes from; a folder's ends in ``/``.
    """
    found = place / path
    return found.is_dir() and any(found.iterdir()) if member.endswith("/") else found.is_file()


def find_complete(row: DatasetRow, *, home: Path, mirror: Path | str | None) -> Path | None:
    """Return the raw folder of a row that lacks nothing, of the mirror or else of the home; None without one.

    Parameters
    ----------
    row, home
    mirror
        Its folder; one at an address is not asked.
    """
    roots = [mirror / row.raw] if isinstance(mirror, Path) else []
    return next((place for place in [*roots, raw_folder(row, home)] if not lack_of(row, place)), None)


def _list_some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more files" if len(names) > 3 else "")
