"""Checks of a frozen dataset: that it is whole, that its parts are apart, what gives labels away, what raw files say.

A check is a function of a :class:`Subject`; to add one, add it to :data:`CHECKS`. A fault is something wrong with the
frozen data or their parts; a note is a property of the dataset that readers of its scores should know.
"""

from __future__ import annotations

import enum
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gnz_track.datasets.checks.leaks import (
    SCREENS,
    find_answered,
    find_inverses,
    find_reversed,
    find_shared,
    find_twins,
)
from gnz_track.datasets.frozen import CARD, TENSORS, FrozenDataset
from gnz_track.datasets.preparation import freeze_row
from gnz_track.datasets.splits.links import split_links, split_triples
from gnz_track.datasets.splits.nodes_and_graphs import Parts, split_edges, split_graphs, split_nodes
from gnz_track.errors import DataMissing, SplitImpossible
from gnz_track.files import have_same_bytes
from gnz_track.types import DatasetRow, TaskType

__all__ = ["CHECKS", "CheckFinding", "Level", "Subject", "check", "compare_with_raw"]


class Level(enum.StrEnum):
    """Severity of a finding."""

    ok = "ok"
    note = "note"
    fault = "fault"


@dataclass(frozen=True)
class CheckFinding:
    """Result of one check, in a sentence."""

    check: str
    level: Level
    sentence: str


@dataclass(frozen=True, eq=False)
class Subject:
    """A frozen dataset posed as one type of task, with the parts of one seed."""

    dataset: FrozenDataset
    row: DatasetRow
    task_type: TaskType
    seed: int = 0

    @property
    def kind(self) -> str:
        """The task type; "triples" for links of a knowledge graph."""
        is_triples = self.task_type is TaskType.link_pred and self.dataset.is_relational
        return "triples" if is_triples else str(self.task_type)

    @cached_property
    def split(self) -> Any:
        """Parts of the seed, in the published policy."""
        options = {} if self.kind == "triples" else {"policy": "published"}
        return _SPLITTERS[self.kind](self.dataset, seed=self.seed, **options)

    @cached_property
    def labels(self) -> Tensor:
        """Classes of nodes, graphs or edges ``[n]``, or numbers to predict; the first column of several."""
        found = self.dataset.tensors[_LABELS.get(self.kind, "y")]
        n = self.dataset.n_nodes if self.task_type.unit == "node" else len(self.dataset)
        return found.flatten() if self.task_type.unit == "edge" else found.reshape(n, -1)[:, 0]


_SPLITTERS: dict[str, Callable[..., Any]] = {
    "node_cls": split_nodes,
    "graph_cls": split_graphs,
    "graph_reg": split_graphs,
    "edge_cls": split_edges,
    "multi_task": split_graphs,
    "link_pred": split_links,
    "triples": split_triples,
    "node_reg": split_nodes,
    "edge_reg": split_edges,
}
# Where labels are, if not in y; of two kinds of targets, those of graphs.
_LABELS = {"edge_cls": "edge_label", "edge_reg": "edge_label", "multi_task": "graph_y"}
_OF_GRAPHS = ("graph_cls", "graph_reg", "multi_task")
_SPLIT_BY_INDEX = (*_OF_GRAPHS, "node_cls", "edge_cls", "node_reg", "edge_reg")
_CLASSES = ("node_cls", "graph_cls", "edge_cls")
# Share of the way from the most frequent class to no error, and what it amounts to; a note from the second line up.
TOLD = ((0.75, "nearly tells"), (0.25, "tells much of"), (-float("inf"), "tells little of"))
TELLING = TOLD[1][0]
Result = tuple[Level, str] | None


def check(subject: Subject) -> Iterator[CheckFinding]:
    """Run all checks that concern the kind of task; where the data cannot be split, that is the last finding."""
    for name, kinds, find in CHECKS:
        if subject.kind not in kinds:
            continue
        try:
            result = find(subject)
        except SplitImpossible as error:
            yield CheckFinding(name, Level.fault, str(error))
            return
        if result is not None:
            yield CheckFinding(name, *result)


def compare_with_raw(dataset: FrozenDataset, row: DatasetRow, *, home: Path, mirror: str | Path | None) -> CheckFinding:
    """Freeze a row again, elsewhere, and compare digest and bytes; without its raw files that is a note.

    Parameters
    ----------
    dataset, row, home, mirror
    """
    with tempfile.TemporaryDirectory() as folder:
        elsewhere = Path(folder)
        if (home / "raw").is_dir():
            (elsewhere / "raw").symlink_to(home / "raw")
        try:
            again = freeze_row(row, seed=dataset.card.seed or 0, home=elsewhere, mirror=mirror)
        except DataMissing as error:
            return CheckFinding("raw files", Level.note, f"not compared: {error}")
        if again.digest != dataset.digest:
            told = f"the raw files freeze to {again.digest}, the frozen data have {dataset.digest}"
            return CheckFinding("raw files", Level.fault, told)
        differing = [
            name for name in (CARD, TENSORS) if not have_same_bytes(again.folder / name, dataset.folder / name)
        ]
    if differing:
        return CheckFinding("raw files", Level.fault, f"frozen again, other bytes in {', '.join(differing)}")
    return CheckFinding("raw files", Level.ok, "frozen again from the raw files, the same bytes")


def _check_sizes(subject: Subject) -> Result:
    sizes, expected = subject.dataset.card.sizes, subject.row.expected
    odd = [f"{name} is {sizes.get(name)}, not {size}" for name, size in expected.items() if sizes.get(name) != size]
    if odd:
        return Level.fault, f"other sizes than the catalogue's: {', '.join(odd)}"
    return Level.ok, ", ".join(f"{size:,} {name.removeprefix('n_')}" for name, size in sizes.items() if size)


def _check_parts(subject: Subject) -> Result:
    """Count the parts; :mod:`splits` itself refuses parts that overlap or are empty."""
    parts: Parts = subject.split
    sizes = {name: part.numel() for name, part in parts.items().items()}
    total, listed = sum(sizes.values()), " / ".join(f"{size:,}" for size in sizes.values())
    labels = subject.labels
    is_labelled = ~labels.isnan() if labels.is_floating_point() else labels >= 0
    n_labelled = len(subject.dataset) if subject.kind in _OF_GRAPHS else int(is_labelled.sum())
    if total < n_labelled:
        return Level.note, f"{listed} (train / val / test), disjoint; {n_labelled - total:,} labelled ones are in none"
    return Level.ok, f"{listed} (train / val / test), disjoint and covering"


def _check_classes(subject: Subject) -> Result:
    if subject.labels.is_floating_point():
        return None
    held_out = torch.cat([subject.split.val, subject.split.test])
    unseen = set(subject.labels[held_out].tolist()) - set(subject.labels[subject.split.train].tolist())
    share = subject.labels[subject.split.test].bincount().max() / subject.split.test.numel()
    if unseen:
        return Level.note, f"classes of validation or test that training never shows: {sorted(unseen)[:10]}"
    return Level.ok, f"training shows all classes; the most frequent one has {share:.1%} of the test part"


def _check_twin_graphs(subject: Subject) -> Result:
    n_test = subject.split.test.numel()
    n_twins, n_contradicted, n_undecided = find_twins(subject.dataset, subject.split, subject.labels)
    if not n_twins and not n_undecided:
        return Level.ok, f"none of {n_test:,} test graphs is isomorphic to a training graph, features included"
    undecided = f"; {n_undecided:,} more look alike to Weisfeiler and Leman" if n_undecided else ""
    return Level.note, (
        f"{n_twins:,} of {n_test:,} test graphs ({n_twins / n_test:.1%}) are isomorphic to a training graph, features "
        f"included, {n_contradicted:,} of them to ones with another label only{undecided}"
    )


def _check_twin_nodes(subject: Subject) -> Result:
    x = subject.dataset.tensors.get("x")
    if x is None or x.dim() != 2 or x.size(1) < 2:
        return None
    rows = torch.cat([subject.split.train, subject.split.test])
    codes = torch.unique(x[rows], dim=0, return_inverse=True)[1]
    n_train = subject.split.train.numel()
    is_shared = torch.isin(codes[n_train:], codes[:n_train])
    n_shared, n_test = int(is_shared.sum()), is_shared.numel()
    level = Level.note if n_shared else Level.ok
    return (
        level,
        f"{n_shared:,} of {n_test:,} test nodes ({n_shared / n_test:.1%}) have the features of a training node",
    )


def _check_reversed_links(subject: Subject) -> Result:
    n_present, n_reversed = find_reversed(subject.split)
    n = int((subject.split.test.labels == 1).sum())
    if n_present:
        # Published parts are what they are: those who wrote together before may do so again.
        level = Level.note if subject.split.is_published else Level.fault
        return level, f"{n_present:,} of {n:,} test edges pass messages in training"
    level = Level.note if n_reversed else Level.ok
    return level, f"{n_reversed:,} of {n:,} test edges ({n_reversed / n:.1%}) are in training the other way"


def _check_shared_triples(subject: Subject) -> Result:
    (n_repeated, n_unseen), n_test = find_shared(subject.split), subject.split.test.edge_type.numel()
    level = Level.note if n_repeated or n_unseen else Level.ok
    return level, (
        f"{n_repeated:,} of {n_test:,} test triples are in training or validation too; "
        f"{n_unseen:,} name an entity or relation that training never shows"
    )


def _check_answered_triples(subject: Subject) -> Result:
    (n_linked, n_backwards), n_test = find_answered(subject.split), subject.split.test.edge_type.numel()
    level = Level.note if n_linked else Level.ok
    return level, (
        f"{n_linked:,} of {n_test:,} test pairs ({n_linked / n_test:.1%}) are linked in training, by "
        f"another relation or backwards ({n_backwards:,})"
    )


def _check_inverse_relations(subject: Subject) -> Result:
    (n_pairs, n_solved), n_test = find_inverses(subject.split), subject.split.test.edge_type.numel()
    if not n_pairs:
        return Level.ok, "no relation is nearly the inverse or the copy of another"
    return Level.note if n_solved else Level.ok, (
        f"{n_pairs} pairs of relations are nearly inverses or copies (Toutanova, Chen, 2015); a rule that swaps "
        f"them answers {n_solved:,} of {n_test:,} test triples ({n_solved / n_test:.1%})"
    )


def _screened(name: str) -> Callable[[Subject], Result]:
    """Return the check of a screen: how far one thing alone goes from the most frequent class to no error."""

    def find(subject: Subject) -> Result:
        found = SCREENS[name](subject.dataset, subject.kind, subject.split, subject.labels)
        if found is None:
            return None
        thing, accuracy, majority = found
        gain = (accuracy - majority) / max(1 - majority, 1e-9)
        level = Level.note if gain >= TELLING and majority < 1 else Level.ok
        told = next(words for least, words in TOLD if gain >= least)
        scores = f"accuracy {accuracy:.3f} on test, where the class most frequent in training has {majority:.3f}"
        return level, f"a small tree on {thing} alone {told} the label: {scores}"

    return find


Find = Callable[[Subject], Result]
_ALL = tuple(_SPLITTERS)
CHECKS: tuple[tuple[str, tuple[str, ...], Find], ...] = (
    ("sizes", _ALL, _check_sizes),
    ("parts", _SPLIT_BY_INDEX, _check_parts),
    ("classes", _CLASSES, _check_classes),
    ("isomorphic graphs", _OF_GRAPHS, _check_twin_graphs),
    ("equal nodes", ("node_cls", "node_reg"), _check_twin_nodes),
    ("test links in training", ("link_pred",), _check_reversed_links),
    ("repeated triples", ("triples",), _check_shared_triples),
    ("linked pairs", ("triples",), _check_answered_triples),
    ("inverse relations", ("triples",), _check_inverse_relations),
    *((name, _CLASSES if name != "graph size" else ("graph_cls",), _screened(name)) for name in SCREENS),
)
