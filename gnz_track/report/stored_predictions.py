"""Predictions behind a report: which tasks have any, and what they say, judged when a task is first asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from gnz_track.errors import GnzError, StoreUnusable
from gnz_track.predictions.facts import TaskPredictions
from gnz_track.report.sources import with_score
from gnz_track.store.address import Address
from gnz_track.store.cell_files.joined_predictions import Predictions, read_predictions
from gnz_track.store.cell_files.kept_files import files_from_tag
from gnz_track.store.reader import open_reader
from gnz_track.store.schema import PREDICTIONS_FILE
from gnz_track.text import remake_command
from gnz_track.types import Direction

__all__ = ["StoredPredictions"]

LOG = logging.getLogger(__name__)


class StoredPredictions(Mapping[str, TaskPredictions]):
    """Task -> what the predictions of its runs say, for tasks of which at least one run has some.

    Stores are asked once which runs have predictions; these are read, and judged, a task at a time.
    """

    def __init__(self, rows: pd.DataFrame, addresses: Sequence[Address]) -> None:
        self._rows = rows
        self._addresses = tuple(addresses)
        self._runs: dict[str, tuple[Address, frozenset[str]]] | None = None
        self._found: dict[str, TaskPredictions] = {}

    def __getitem__(self, task: str) -> TaskPredictions:
        if task not in self._found:
            self._found[task] = _judge(self._rows[self._rows["task"] == task], *self._kept[task])
        return self._found[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def _kept(self) -> dict[str, tuple[Address, frozenset[str]]]:
        """Task -> the store with most of its predictions, and the runs that have them."""
        if self._runs is None:
            self._runs = _find_runs(with_score(self._rows), self._addresses) if len(self._rows) else {}
        return self._runs


def _find_runs(rows: pd.DataFrame, addresses: Sequence[Address]) -> dict[str, tuple[Address, frozenset[str]]]:
    run_ids = [str(run_id) for run_id in rows["run_id"] if run_id] if "run_id" in rows else []
    kept: list[tuple[Address, frozenset[str]]] = []
    for address in addresses if run_ids else ():
        try:
            tags = open_reader(address).kept_files(run_ids)
        except StoreUnusable as error:
            # Scores are here already: a report of them needs no store.
            LOG.warning("predictions are left out: %s", error)
            continue
        kept.append((address, frozenset(run_id for run_id, _, tag in tags if PREDICTIONS_FILE in files_from_tag(tag))))
    found = {}
    for task in dict.fromkeys(rows["task"]):
        runs = frozenset(rows[rows["task"] == task]["run_id"])
        chosen = max(((address, ids & runs) for address, ids in kept), key=lambda one: len(one[1]), default=None)
        if chosen is not None and chosen[1]:
            found[str(task)] = chosen
    return found


def _judge(rows: pd.DataFrame, address: Address, kept: frozenset[str]) -> TaskPredictions:
    from gnz_track.predictions.analysis import analyse
    from gnz_track.predictions.descriptors import find_data

    rows = with_score(rows)
    missing = [str(run_id) for run_id in rows["run_id"] if run_id not in kept]
    known = rows[rows["run_id"].isin(kept)]
    task, first = str(known["task"].iloc[0]), known.iloc[0]
    labels = dict(zip(known["run_id"], known["label"], strict=True))
    try:
        test = _read(address, task, "test", labels)
        try:
            validation = _read(address, task, "val", labels)
        except GnzError as error:
            LOG.info("%s has no predictions of validation: %s", task, error)
            validation = None
        facts = analyse(
            test,
            task_type=str(first["task_type"]),
            metric=str(first["metric"]),
            validation=validation,
            dataset=find_data(task, str(first["dataset"]), str(first["dataset_digest"])),
            missing=missing,
        )
    except GnzError as error:
        return _nothing(task, str(first["metric"]), str(error))
    return replace(facts, command=remake_command(facts.missing[0], address)) if facts.missing else facts


def _read(address: Address, task: str, part: str, labels: Mapping[str, str]) -> Predictions:
    """Return the predictions of some runs, models by the labels that they have in the report."""
    found = read_predictions(address, task=task, part=part, where={"run_id": tuple(labels)})
    names = tuple(next(labels[run_id] for run_id in row if run_id) for row in found.run_ids)
    return replace(found, models=names) if len(set(names)) == len(names) else found


def _nothing(task: str, metric: str, reason: str) -> TaskPredictions:
    return TaskPredictions(
        task=task,
        kind="",
        metric=metric,
        score="",
        direction=Direction.up,
        alpha=0.05,
        n_examples=0,
        seeds=(),
        has_one_split=False,
        left_out=(f"its predictions cannot be joined: {reason}",),
    )
