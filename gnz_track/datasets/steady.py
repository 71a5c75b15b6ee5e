"""Frozen data that stay what they were while they are used: read whole once, then looked at for the price of a stat.

A digest says what the bytes of a file were when they were read. Data are mapped, so whoever writes into their file, or
puts another in its place, changes what a training reads from then on. What a look at a file tells (size, times, inode)
stands for its bytes as long as it stays the same; where it does not, every byte is read again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnz_track.datasets.card import Card
from gnz_track.datasets.frozen import (
    CARD,
    TENSORS,
    FrozenDataset,
    check_bytes,
    check_facts,
    open_frozen,
    rebuilding_command,
)
from gnz_track.datasets.mapped_tensors import digest_of_file
from gnz_track.errors import DataCorrupted

__all__ = ["hold_steady", "open_steady", "read_again"]

# Clocks of file systems tick: who writes twice within a tick leaves no trace by the second time. The coarsest common
# one (FAT) ticks every two seconds. What was written just now is read again until the tick is over.
NANOSECONDS_TO_SETTLE = 2_000_000_000


@dataclass(frozen=True)
class _Look:
    """A file as its directory entry describes it; all 0 where there is none."""

    device: int = 0
    inode: int = 0
    size: int = 0
    written: int = 0
    changed: int = 0

    @property
    def is_settled(self) -> bool:
        return time.time_ns() - self.changed > NANOSECONDS_TO_SETTLE


# Of the tensors and of the card.
_Looks = tuple[_Look, _Look]
# Folder -> what its files looked like when every byte was read and was what the card says, for this process.
_READ: dict[Path, _Looks] = {}
# The same where the bytes were read, and nobody has looked yet whether the card is right about what they mean.
_READ_BYTES: dict[Path, _Looks] = {}


def open_steady(folder: str | Path, *, has_facts: bool = True) -> FrozenDataset:
    """Open a frozen folder whose bytes are those that its card names.

    The first time in a process they are read; later only where the files look otherwise than then.

    ``has_facts=False`` leaves what the card says of the tensors to whoever uses these: no Torch is needed.
    """
    return _open_looked_at(Path(folder).absolute(), has_facts=has_facts)[0]


@contextmanager
def hold_steady(folder: str | Path, *, digest: str, name: str = "") -> Iterator[FrozenDataset]:
    """Give a frozen dataset of this digest for as long as it is used, and raise where it is another one by the end.

    What was computed meanwhile then comes from data that nobody can name, whatever else went wrong on the way.

    Parameters
    ----------
    folder, digest
    name
        For messages; that of the card where left out.
    """
    folder = Path(folder).absolute()
    *held, looks = _open_looked_at(folder)
    card = held[0].card
    if card.digest != digest:
        raise _changed_error(name or card.name, folder, digest, card.digest)
    is_settled = folder in _READ
    try:
        # Whoever is given it may drop it, and with it what lies in memory: nothing is kept here.
        yield held.pop()
    except (Exception, SystemExit):
        _require_unchanged(card, folder, looks, is_settled=is_settled)
        raise
    else:
        _require_unchanged(card, folder, looks, is_settled=is_settled)


def read_again(folder: str | Path, *, digest: str, name: str) -> str:
    """Read every byte of a frozen folder again; return a sentence where it is another dataset by now, else nothing.

    Raises :class:`DataCorrupted` where the files look as they did when they were read and have other bytes: then
    whoever looked in between has seen nothing. A write through a shared mapping leaves no trace in a file of a memory
    file system, and on a disk none until the page is written back.

    Parameters
    ----------
    folder, digest, name
    """
    folder = Path(folder).absolute()
    found = _digest_now(folder)
    if found == digest:
        return ""
    if _look_at_both(folder) in (_READ.get(folder), _READ_BYTES.get(folder)):
        unseen = f"{found}, though nothing but its bytes changed: what was trained on it in this process is in doubt"
        raise _changed_error(name, folder, digest, unseen)
    return str(_changed_error(name, folder, digest, found))


def _open_looked_at(folder: Path, *, has_facts: bool = True) -> tuple[FrozenDataset, _Looks]:
    looks = _look_at_both(folder)
    dataset = open_frozen(folder)
    known = _READ if has_facts else _READ_BYTES
    if looks not in (_READ.get(folder), _READ_BYTES.get(folder)):
        check_bytes(folder, dataset.card, dataset.tensors)
    if has_facts and _READ.get(folder) != looks:
        check_facts(folder, dataset.card, dataset.tensors)
    if _look_at_both(folder) != looks:
        found = f"{_digest_now(folder)}, while its files are being written"
        raise _changed_error(dataset.name, folder, dataset.digest, found)
    if all(look.is_settled for look in looks):
        known[folder] = looks
    else:
        _forget(folder)
    return dataset, looks


def _forget(folder: Path) -> None:
    _READ.pop(folder, None)
    _READ_BYTES.pop(folder, None)


def _require_unchanged(card: Card, folder: Path, before: _Looks, *, is_settled: bool) -> None:
    """Raise unless the files hold what they held, and held it all the while."""
    now = _look_at_both(folder)
    if now == before and is_settled:
        return
    _forget(folder)
    found = _digest_now(folder)
    if found != card.digest:
        raise _changed_error(card.name, folder, card.digest, found)
    # A link or a change of rights touches no byte; of bytes that were written nobody knows what they were meanwhile.
    if _contents(now) != _contents(before) or open_frozen(folder).card != card:
        raise _changed_error(card.name, folder, card.digest, f"{found} again, after its files were written anew")


def _contents(looks: _Looks) -> list[tuple[int, ...]]:
    return [(look.device, look.inode, look.size, look.written) for look in looks]


def _digest_now(folder: Path) -> str:
    try:
        return digest_of_file(folder / TENSORS)
    except FileNotFoundError:
        return "no file"
    except (ValueError, OSError) as error:
        return f"a file that does not read ({error})"


def _changed_error(name: str, folder: Path, expected: str, found: str) -> DataCorrupted:
    command = rebuilding_command(name, folder)
    return DataCorrupted(name, folder / TENSORS, expected=expected, found=found, command=command)


def _look_at_both(folder: Path) -> _Looks:
    return _look_at(folder / TENSORS), _look_at(folder / CARD)


def _look_at(file: Path) -> _Look:
    try:
        found = file.stat()
    except FileNotFoundError:
        return _Look()
    return _Look(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
