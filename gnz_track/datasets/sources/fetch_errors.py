"""Errors between an origin of raw files and the raw folder, and on the way to a remote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnz_track.errors import DataMissing, GnzError

__all__ = ["ArchiveUnusable", "DataRetired", "DownloadFailed", "ExtraMissing", "FetchFailed", "ProgramFailed"]

# A raw folder may want hundreds of files, and a sentence holds a few.
_MOST_NAMES = 8


class DownloadFailed(GnzError):
    """An address that did not give the file that was asked for; it is shown as given, so it must be masked."""

    def __init__(self, address: object, reason: str) -> None:
        super().__init__(
            f"cannot fetch {address}: {reason}. Try again later, or give a mirror: gnz data get NAME --mirror FOLDER"
        )
        self.address, self.reason = address, reason


class ArchiveUnusable(GnzError):
    """An archive that cannot be read, lacks a member, or asks to write where it may not."""

    def __init__(self, archive: object, reason: str) -> None:
        super().__init__(f"the archive {archive} cannot be used: {reason}. Remove it, then type: gnz data get NAME")
        self.archive, self.reason = archive, reason


class FetchFailed(DataMissing):
    """Raw files that no place gave; ``looked_in`` are (place, reason) pairs, ``by_hand`` says where to put what."""

    def __init__(
        self, dataset: str, wanted: Iterable[str], looked_in: Iterable[tuple[object, str]], *, by_hand: Sequence[str]
    ) -> None:
        places = "; ".join(f"{place} ({reason})" for place, reason in looked_in) or "nowhere, as it names no origin"
        remedy = ", or ".join(by_hand)
        GnzError.__init__(
            self,
            f"the raw files of {dataset!r} cannot be fetched. Wanted: {_name_some(wanted)}. Looked in: {places}. "
            f"By hand: {remedy}; then type: gnz data get {dataset}",
        )
        self.dataset = dataset


class DataRetired(DataMissing):
    """A dataset that nobody can fetch any more; a mirror that has its files still serves."""

    def __init__(self, dataset: str, reason: str, folder: object) -> None:
        GnzError.__init__(
            self,
            f"the dataset {dataset!r} is retired: {reason}. Who has its raw files puts them into {folder}, "
            f"or types: gnz data get {dataset} --mirror FOLDER",
        )
        self.dataset = dataset


class ExtraMissing(GnzError):
    """A dataset whose loader needs a library that is not installed."""

    def __init__(self, dataset: str, extra: str, missing: str) -> None:
        super().__init__(
            f"the dataset {dataset!r} needs {missing}, which is not installed. "
            f"Install it with: pip install 'gnz-track[{extra}]'"
        )
        self.dataset, self.extra = dataset, extra


def _name_some(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "the files of its raw folder") + more


class ProgramFailed(GnzError):
    """Another program that ended with an error of its own."""

    def __init__(self, program: str, code: int, reason: str) -> None:
        super().__init__(f"{program!r} ended with code {code}: {reason}. See more with: {program} --verbose")
        self.program, self.code = program, code
