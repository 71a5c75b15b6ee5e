"""Files that a past run left, set against those of its repetition: to the byte, and where these differ, by content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gnz_track.errors import GnzError
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.cell_files.joined_predictions import read_kept_file
from gnz_track.store.cell_files.kept_files import KeptFile, digest_of_bytes, files_from_tag
from gnz_track.store.cell_files.predictions import decode_predictions
from gnz_track.store.cell_files.series import decode_series
from gnz_track.store.cell_files.weights import decode_weights
from gnz_track.store.row_filters import PastRun

__all__ = ["FileDifference", "compare_files"]


@dataclass(frozen=True, kw_only=True)
class FileDifference:
    """A file that came out otherwise: what is otherwise, and by how much its numbers differ at most, where they do."""

    name: str
    reason: str
    largest: float | None = None


def compare_files(
    run: PastRun, now: Mapping[str, bytes], address: Address
) -> tuple[tuple[str, ...], tuple[FileDifference, ...]]:
    """Return the names of the files that were compared, and those whose content came out otherwise.

    Another version of a library may write equal content in other bytes: that is no difference.

    Parameters
    ----------
    run
        The past run.
    now
        Files of its repetition.
    address
        Store of the run.
    """
    then = {name: file for name, file in files_from_tag(run.tags.get(schema.FILES, "")).items() if name in _COMPARED}
    found = [_compare(run, name, file, now.get(name), address) for name, file in then.items()]
    return tuple(then), tuple(difference for difference in found if difference)


def _compare(run: PastRun, name: str, file: KeptFile, content: bytes | None, address: Address) -> FileDifference | None:
    if content is None:
        return FileDifference(name=name, reason="there is none now")
    if digest_of_bytes(content) == file.digest:
        return None
    try:
        before = read_kept_file(address, run.run_id, run.artifacts, name, file)
        if before is None:
            return FileDifference(name=name, reason="its digest is another one, and the file of then is gone")
        return _COMPARED[name](name, before, content)
    except GnzError as error:
        return FileDifference(name=name, reason=str(error))


def _compare_predictions(name: str, before: bytes, content: bytes) -> FileDifference | None:
    then, now = decode_predictions(before), decode_predictions(content)
    same = [(one.part, one.kind, one.outputs.shape) for one in then]
    if same != [(one.part, one.kind, one.outputs.shape) for one in now]:
        return FileDifference(name=name, reason="it has other parts, or outputs of another form")
    pairs = list(zip(then, now, strict=True))
    if not all(np.array_equal(a.numbers["id"], b.numbers["id"]) for a, b in pairs):
        return FileDifference(name=name, reason="its examples are others")
    if not all(np.array_equal(a.targets, b.targets, equal_nan=a.targets.dtype.kind == "f") for a, b in pairs):
        return FileDifference(name=name, reason="its targets are others")
    unequal = [~((a.outputs == b.outputs) | (np.isnan(a.outputs) & np.isnan(b.outputs))) for a, b in pairs]
    n = sum(int(rows.any(axis=1).sum()) for rows in unequal)
    if not n:
        return None
    gaps = [np.abs(a.outputs.astype(float) - b.outputs)[rows] for (a, b), rows in zip(pairs, unequal, strict=True)]
    total = sum(len(rows) for rows in unequal)
    return FileDifference(
        name=name, reason=f"outputs of {n} of {total} examples differ", largest=float(np.nanmax(np.concatenate(gaps)))
    )


def _compare_series(name: str, before: bytes, content: bytes) -> FileDifference | None:
    then, now = decode_series(before), decode_series(content)
    unequal = [one for one in sorted({*then, *now}) if not _are_equal(then.get(one, ()), now.get(one, ()))]
    return FileDifference(name=name, reason=f"{', '.join(unequal)} differ") if unequal else None


def _are_equal(then: tuple[float, ...], now: tuple[float, ...]) -> bool:
    return np.array_equal(np.array(then), np.array(now), equal_nan=True)


def _compare_weights(name: str, before: bytes, content: bytes) -> FileDifference | None:
    then, now = decode_weights(before, name=name)[0], decode_weights(content, name=name)[0]
    if {key: one.shape for key, one in then.items()} != {key: one.shape for key, one in now.items()}:
        return FileDifference(name=name, reason="its weights have other names or shapes")
    pairs = {key: (then[key], now[key]) for key in then}
    unequal = {
        key: pair for key, pair in pairs.items() if not np.array_equal(*pair, equal_nan=pair[0].dtype.kind == "f")
    }
    if not unequal:
        return None
    gaps = [np.abs(a.astype(float) - b.astype(float)) for a, b in unequal.values()]
    largest = float(np.nanmax(np.concatenate([one.ravel() for one in gaps])))
    return FileDifference(name=name, reason=f"{len(unequal)} of {len(pairs)} weights differ", largest=largest)


# Settings are compared one by one, as what has changed.
_COMPARED: dict[str, Callable[[str, bytes, bytes], FileDifference | None]] = {
    schema.PREDICTIONS_FILE: _compare_predictions,
    schema.SERIES_FILE: _compare_series,
    schema.WEIGHTS_FILE: _compare_weights,
    schema.LAST_FILE: _compare_weights,
}
