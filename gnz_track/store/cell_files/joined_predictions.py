"""Predictions of many runs of a task, joined into one array: what can be asked of past runs without training.

Examples are joined by their ids. Models that were tested on other examples are never joined: of each seed all models
have one split. Where the split depends on the seed, a mask says which examples are in the part under which seed.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import fetch_artifact, refuse_behind_server
from gnz_track.store.cell_files.kept_files import LARGEST_FILE, KeptFile, digest_of_bytes, files_from_tag
from gnz_track.store.cell_files.predictions import RANKS, PartPredictions, decode_predictions
from gnz_track.store.reader import OF_TENSOR, check_known, open_reader, read_table
from gnz_track.store.results_table import ResultsTensor, tensor_of
from gnz_track.store.row_filters import NAMES, Where, asked_names, read_where
from gnz_track.store.schema import OF_MODEL, PREDICTIONS_FILE
from gnz_track.text import REMAKE_SWEEP, remake_command, visible

__all__ = ["Predictions", "read_kept_file", "read_predictions"]

LOG = logging.getLogger(__name__)
PARTS = ("val", "test")
ENDS = frozenset({"head", "relation", "tail"})
MOST_NAMED = 5
NOT_KEPT = "no predictions"


@dataclass(frozen=True, eq=False)
class Predictions:
    """Outputs of models for the examples of one part of a task: ``outputs [models, seeds, examples, width]``.

    Outputs are logits or values; NaN where ``mask [models, seeds, examples]`` is False: no run, or an example that is
    not in the part under this seed. ``targets`` are classes ``[examples]`` or numbers ``[examples, k]``. ``ids`` are
    numbers in the dataset, of what ``kind`` says; ``ends`` those of the ends of edges, links and triples. ``ranks`` has
    ``rank_of_tail`` and ``rank_of_head`` ``[models, seeds, examples]`` of true triples among their candidates, NaN for
    others. ``run_ids [models, seeds]`` and ``split_digests [seeds]`` say where it comes from. ``left_out`` has the runs
    whose predictions are not there, with the reason: none were kept, or the file is not what it was, or too large.
    """

    outputs: NDArray[np.float32]
    mask: NDArray[np.bool_]
    targets: NDArray[np.generic]
    ids: NDArray[np.int64]
    ends: Mapping[str, NDArray[np.int64]]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    run_ids: NDArray[np.object_]
    split_digests: tuple[str, ...]
    task: str
    part: str
    kind: str
    ranks: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Reasons of runs that have a file, which cannot be used."""
        return tuple(reason for reason in self.left_out.values() if reason != NOT_KEPT)


def read_predictions(
    uri: str | Address = "",
    *,
    task: str = "",
    model: str | Collection[str] = "",
    part: str = "test",
    kind: str = "",
    sweep: str = "",
    where: Where | None = None,
) -> Predictions:
    """Return what models predicted for the examples of a task, from the files of past runs; nothing is trained.

    Runs that have no predictions, and those whose file was changed, cut off or is too large, are left out and named in
    a warning, with the command that makes them; where no run is left, that is an error. Runs on other data, or with
    other splits of a seed, are always an error.

    Parameters
    ----------
    uri
        Address of the store; empty: the default store.
    task, model, sweep
        Names that runs must have: of one task, and of one model or several.
    part
        ``"test"`` or ``"val"``.
    kind
        Kind of example where a task has several: ``"node"`` or ``"graph"``.
    where
        Columns of the results table, and the value or collection of values that rows must have.
    """
    if part not in PARTS:
        raise BadValue("part", part, ", ".join(PARTS))
    address, values = uri if isinstance(uri, Address) else parse_address(uri), read_where(where)
    values |= read_where({"model": model}) if model else {}
    asked = asked_names(values, sweep=sweep, task=task)
    columns = [*OF_TENSOR, "dataset_digest", "split_digest", *(name for name in NAMES if name in asked)]
    rows = read_table(address, sweep=sweep, task=task, where=values, columns=tuple(dict.fromkeys(columns)))
    check_known(address, asked, rows)
    rows = rows[rows["status"] == "finished"]
    tasks = sorted(set(rows["task"]))
    if len(tasks) != 1:
        shown = ", ".join(tasks[:MOST_NAMED]) or "none that is finished"
        raise BadValue("tasks of the runs", shown, "one", command=f"task={(tasks or ['NAME'])[0]!r}")
    tensor = tensor_of(rows)
    splits = _splits_of(rows, tensor)
    found, left_out = _read_all(address, tensor, part, kind)
    return replace(_joined(tensor, found, splits, part), left_out=left_out)


def read_kept_file(address: Address, run_id: str, place: str, name: str, file: KeptFile) -> bytes | None:
    """Return a file of a run as bytes if it is what the run says; None where it is gone, and not behind a server.

    Parameters
    ----------
    address
        Store of the run.
    run_id, place
        The run, and where its files lie, as the store says.
    name, file
        Name of the file, and what the run says of it.
    """
    with tempfile.TemporaryDirectory() as temporary:
        return _read_kept_file(address, (run_id, place), (name, file), Path(temporary))


def _read_kept_file(
    address: Address, run: tuple[str, str], named: tuple[str, KeptFile | None], temporary: Path
) -> bytes | None:
    (run_id, place), (name, file) = run, named
    if file is None:
        return None
    if file.n_bytes > LARGEST_FILE:
        raise BadValue(f"size of {name} of run {run_id}", f"{file.n_bytes} bytes", f"at most {LARGEST_FILE}")
    path = fetch_artifact(address, place, name, temporary)
    if path is None:
        refuse_behind_server(address, place)
        return None
    n_bytes = path.stat().st_size
    content = path.read_bytes() if n_bytes == file.n_bytes else b""
    digest = digest_of_bytes(content) if content else f"{n_bytes} bytes"
    if digest != file.digest:
        raise BadValue(
            f"digest of {name} of run {run_id}",
            digest,
            f"{file.digest}, {file.n_bytes} bytes: digest mismatch, the file was changed or cut off",
            command=remake_command(run_id, address, keep="weights" if name in OF_MODEL else "predictions"),
        )
    return content


def _splits_of(rows: pd.DataFrame, tensor: ResultsTensor) -> dict[int, str]:
    """Return seed -> digest of its split; runs on other data, or in other splits of one seed, are refused."""
    datasets = sorted(set(rows["dataset_digest"]))
    if len(datasets) > 1:
        raise BadValue(
            f"data of {tensor.tasks[0]}",
            f"datasets of the digests {', '.join(datasets)}",
            "one",
            command=f"where={{'dataset_digest': {datasets[-1]!r}}}",
        )
    found: dict[int, str] = {}
    for seed, group in rows.groupby("seed"):
        digests = sorted(set(group["split_digest"]))
        if len(digests) > 1:
            raise BadValue(
                f"splits of {tensor.tasks[0]} under seed {seed}",
                f"test sets of the digests {', '.join(digests)}",
                "one test set for all models of a seed: predictions of others are not joined",
                command=f"where={{'split_digest': {digests[-1]!r}}}, or a protocol or sweep",
            )
        found[int(seed)] = digests[0]
    return found


# (model, seed) by their places -> what the run predicted.
_Found = dict[tuple[int, int], PartPredictions]


def _read_all(address: Address, tensor: ResultsTensor, part: str, kind: str) -> tuple[_Found, dict[str, str]]:
    """Return the predictions of each run, and why others have none."""
    runs = {run_id: place for place, run_id in np.ndenumerate(tensor.run_ids[0]) if run_id}
    found: _Found = {}
    left_out: dict[str, str] = {}
    targets: set[int] = set()
    with tempfile.TemporaryDirectory() as temporary:
        for run_id, place, tag in open_reader(address).kept_files(list(runs)):
            at, file = runs[run_id], files_from_tag(tag).get(PREDICTIONS_FILE)
            # Targets and ends are the same for all models of a seed.
            columns = ("id", *RANKS) if at[1] in targets else ()
            run, named = (run_id, place), (PREDICTIONS_FILE, file)
            try:
                content = _read_kept_file(address, run, named, Path(temporary))
                parts = [] if content is None else decode_predictions(content, parts=(part,), columns=columns)
            except BadValue as error:
                left_out[run_id] = f"{'' if run_id in str(error) else f'run {run_id}: '}{error}"
                continue
            if content is None:
                left_out[run_id] = NOT_KEPT
                continue
            found[at[0], at[1]] = _one_kind(parts, run_id, part, kind)
            targets.add(at[1])
    if left_out:
        _tell_left_out(left_out, tensor.tasks[0], address, has_others=bool(found))
    return found, left_out


def _tell_left_out(left_out: Mapping[str, str], task: str, address: Address, *, has_others: bool) -> None:
    """Name the runs whose predictions are not there in a warning, or in an error where no others are."""
    missing = [run_id for run_id, reason in left_out.items() if reason == NOT_KEPT]
    said = [reason for reason in left_out.values() if reason != NOT_KEPT]
    command = remake_command((missing or list(left_out))[0], address)
    if missing:
        named = ", ".join(run_id[:12] for run_id in missing[:MOST_NAMED]) + (", ..." if missing[MOST_NAMED:] else "")
        if not (has_others or said):
            raise BadValue("predictions of the runs", f"none (runs {named})", "those that were kept", command=command)
        more = f"; {REMAKE_SWEEP}" if len(missing) > 1 else ""
        LOG.warning("%d runs of %s have no predictions: %s. Try: %s%s", len(missing), task, named, command, more)
    if said and not has_others:
        raise BadValue("predictions of the runs", f"none that can be read ({said[0]})", "whole files", command=command)
    for reason in said[:MOST_NAMED]:
        LOG.warning("a run of %s is left out: %s", task, reason)
    if said[MOST_NAMED:]:
        LOG.warning("and %d more runs of %s, whose files are no better", len(said) - MOST_NAMED, task)


def _one_kind(parts: Sequence[PartPredictions], run_id: str, part: str, kind: str) -> PartPredictions:
    kinds = [one.kind for one in parts]
    chosen = [one for one in parts if kind in {"", one.kind}]
    if len(chosen) != 1:
        allowed = f"one of {visible(', '.join(kinds))}" if kinds else f"a part that run {run_id} has: it has no {part}"
        command = f"kind={kinds[-1]!r}" if kinds else ""
        raise BadValue("kind of example", kind or "not chosen", allowed, command=command)
    return chosen[0]


def _joined(tensor: ResultsTensor, found: _Found, splits: Mapping[int, str], part: str) -> Predictions:
    whole = _by_seed(found)
    ids, first = np.unique(np.concatenate([one.numbers["id"] for one in whole.values()]), return_index=True)
    width = _check_forms(tensor, found, whole)
    shape = (len(tensor.models), len(tensor.seeds), len(ids))
    outputs, mask = np.empty((*shape, width), dtype=np.float32), np.zeros(shape, dtype=bool)
    # Not every metric counts ranks: then they are NaN throughout, and left out.
    counted = [name for name in RANKS if any(np.isfinite(one.ranks.get(name, np.nan)).any() for one in found.values())]
    ranks = {name: np.full(shape, np.nan) for name in counted}
    places = {seed: np.searchsorted(ids, one.numbers["id"]) for seed, one in whole.items()}
    for (model, seed), one in found.items():
        if not np.array_equal(one.numbers["id"], whole[seed].numbers["id"]):
            run_id = tensor.run_ids[0][model, seed]
            raise BadValue(f"examples of run {run_id}", f"split {splits[tensor.seeds[seed]]}", "those of its split")
        mask[model, seed, places[seed]] = True
        if not mask[model, seed].all():
            outputs[model, seed] = np.nan
        outputs[model, seed, places[seed]] = one.outputs
        for name in counted:
            ranks[name][model, seed, places[seed]] = one.ranks.get(name, np.nan)
    outputs[~mask.any(axis=2)] = np.nan
    rows = {"target": np.concatenate([one.targets for one in whole.values()])}
    names = next(iter(whole.values())).numbers.keys() & ENDS
    rows |= {name: np.concatenate([one.numbers[name] for one in whole.values()]) for name in sorted(names)}
    return Predictions(
        outputs=outputs,
        mask=mask,
        targets=rows.pop("target")[first],
        ids=ids,
        ends={name: values[first] for name, values in rows.items()},
        models=tensor.models,
        seeds=tensor.seeds,
        run_ids=tensor.run_ids[0],
        split_digests=tuple(splits[seed] for seed in tensor.seeds),
        task=tensor.tasks[0],
        part=part,
        kind=next(iter(whole.values())).kind,
        ranks=ranks,
    )


def _check_forms(tensor: ResultsTensor, found: _Found, whole: Mapping[int, PartPredictions]) -> int:
    """Return the width of the outputs, which all runs have; examples are of one kind, with targets of one form."""
    widths = {one.outputs.shape[1] for one in found.values()}
    if len(widths) > 1:
        raise BadValue(f"outputs of {tensor.tasks[0]}", sorted(widths), "of one width")
    forms = {(one.kind, one.targets.shape[1:], *sorted(one.numbers.keys() & ENDS)) for one in whole.values()}
    if len(forms) > 1:
        raise BadValue(f"examples of {tensor.tasks[0]}", sorted(forms), "of one kind, with targets of one form")
    return int(widths.pop())


def _by_seed(found: _Found) -> dict[int, PartPredictions]:
    """Return one of the predictions of each seed that has the targets."""
    return {seed: one for (_, seed), one in sorted(found.items(), key=lambda item: item[0]) if len(one.targets)}
