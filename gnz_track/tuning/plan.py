"""The searches of a benchmark before any trial: what each is for, its cells and its space; their winners as cells."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gnz_track.datasets.frozen import FrozenDataset, open_frozen
from gnz_track.datasets.splits.links import split_links, split_triples
from gnz_track.datasets.splits.nodes_and_graphs import split_edges, split_graphs, split_nodes
from gnz_track.errors import NothingToRun, SplitImpossible, UnknownName
from gnz_track.models.building import options_of
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Plan, Skipped
from gnz_track.store.searches import SearchRecord
from gnz_track.text import first_names, plural
from gnz_track.training.metrics import metric_of
from gnz_track.tuning.default_spaces import ALL, defaults_of, space_of
from gnz_track.tuning.settings import SearchSettings, Shares
from gnz_track.tuning.spaces import Space, Value
from gnz_track.tuning.study_terms import StudyTerms
from gnz_track.types import Cell, Metric, ModelRow, Task, TaskType, tuned_name

__all__ = [
    "Search",
    "SearchPlan",
    "cells_of_trial",
    "changed",
    "note_on_lengths",
    "plan_searches",
    "searches_by_cell",
    "terms_of",
    "with_tuned_cells",
    "with_values",
]

# Searches that a note names.
NAMED = 5


def _reason_against_search(cell: Cell) -> str:
    """Return why the task of a cell cannot be searched on, nothing where it can: it needs examples to validate by."""
    dataset = open_frozen(cell.data)
    kind = "triples" if cell.task.task_type is TaskType.link_pred and dataset.is_relational else cell.task.task_type
    try:
        n_examples = _COUNTS[kind](dataset, cell)
    except SplitImpossible as error:
        return str(error)
    return "" if n_examples else f"dataset {dataset.name!r} has no validation part by which a search could choose"


def _count_links(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_links(dataset, policy=cell.protocol.splits, seed=cell.seed).val.labels.numel())


def _count_triples(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_triples(dataset, seed=cell.seed).val.edge_type.numel())


def _count_nodes(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_nodes(dataset, policy=cell.protocol.splits, seed=cell.seed).val.numel())


def _count_graphs(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_graphs(dataset, policy=cell.protocol.splits, seed=cell.seed).val.numel())


def _count_edges(dataset: FrozenDataset, cell: Cell) -> int:
    return int(split_edges(dataset, policy=cell.protocol.splits, seed=cell.seed).val.numel())


_COUNTS: dict[str, Callable[[FrozenDataset, Cell], int]] = {
    TaskType.node_cls: _count_nodes,
    TaskType.graph_cls: _count_graphs,
    TaskType.graph_reg: _count_graphs,
    TaskType.link_pred: _count_links,
    TaskType.edge_cls: _count_edges,
    TaskType.node_reg: _count_nodes,
    TaskType.edge_reg: _count_edges,
    "triples": _count_triples,
}


NOTHING = "no hyperparameter that is to be searched changes it: gnz run and gnz report compare it as it is"


@dataclass(frozen=True, kw_only=True)
class Search:
    """One search: ``cells`` are blind ones with the default hyperparameters, one for each tuning seed.

    ``seed`` is the one that it is for, None where its winner is for all seeds that are reported.
    """

    cells: tuple[Cell, ...]
    space: Space
    default: Mapping[str, Value]
    metric: Metric
    kind: str
    seed: int | None = None

    @property
    def task(self) -> Task:
        """The task."""
        return self.cells[0].task

    @property
    def model(self) -> ModelRow:
        """The model."""
        return self.cells[0].model

    @property
    def label(self) -> str:
        """Name of its task and model, in words; its proposals are derived from it."""
        return f"{self.task.name} {self.model.name} {self.kind}" + ("" if self.seed is None else f" s{self.seed}")

    @property
    def study_name(self) -> str:
        """The name of its study: another one wherever the cells are others, be it by data, protocol or code."""
        text = "".join(sorted(fingerprint(cell) for cell in self.cells))
        return f"{self.label} {hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """The searches wanted, in order, with the trials that each may have, and what cannot be searched."""

    searches: tuple[Search, ...]
    skipped: tuple[Skipped, ...]
    n_trials: int


def plan_searches(plan: Plan, settings: SearchSettings, shares: Shares) -> SearchPlan:
    """Return the searches of every (task, model) of a plan.

    Parameters
    ----------
    plan
        Cells with all seeds that are tuned on.
    settings
        Spaces, budget and sampler.
    shares
        Seeds that are tuned on, by the one that they are for.
    """
    _check_spaces(settings.spaces, (cell.model.name for cell in plan.cells))
    by_pair: dict[tuple[str, str], dict[int, Cell]] = {}
    for cell in plan.cells:
        by_pair.setdefault((cell.task.name, cell.model.name), {})[cell.seed] = cell
    searches, skipped, reasons = [], list(plan.skipped), dict[str, str]()
    first = next(iter(shares.values()))[0]
    for (task, model), cells in by_pair.items():
        if task not in reasons:
            reasons[task] = _reason_against_search(cells[first])
        if reasons[task]:
            skipped.append(Skipped(task=task, model=model, reason=reasons[task]))
            continue
        shell = _shell(next(iter(cells.values())), settings)
        if not shell.space:
            skipped.append(Skipped(task=task, model=model, reason=NOTHING))
            continue
        for reported, seeds in shares.items():
            blind = tuple(replace(cells[seed], is_blind=True) for seed in seeds)
            searches.append(replace(shell, cells=blind, seed=reported))
    if not searches:
        raise NothingToRun([f"{item.task} x {item.model}: {item.reason}" for item in skipped])
    for search in searches:
        # A search that cannot be is told here, before anything is opened.
        terms_of(search, settings)
    return SearchPlan(searches=tuple(searches), skipped=tuple(skipped), n_trials=settings.trials)


def note_on_lengths(plan: SearchPlan, found: Sequence[SearchRecord]) -> str:
    """Return a sentence on searches that had more trials before than are asked for now; nothing where none had.

    No trial is forgotten, so a later search with a smaller budget is not set beside them as an equal.
    """
    longer = [record for record in found if len(record.trials) > plan.n_trials]
    if not longer:
        return ""
    had = first_names([f"{record.title} {len(record.trials)}" for record in longer], NAMED, "searches")
    most = max(len(record.trials) for record in longer)
    return (
        f"more than {plural(plan.n_trials, 'trial')} were done before, and all of them count: {had}; "
        f"equal budgets take {most} trials of every search, or fresh ones"
    )


def terms_of(search: Search, settings: SearchSettings) -> StudyTerms:
    """Return the terms of the study of a search."""
    facts = {
        "task": search.task.name,
        "task type": str(search.task.task_type),
        "model": search.model.name,
        "metric": search.metric.name,
    }
    return StudyTerms(
        space=search.space,
        direction=search.metric.direction,
        budget=settings.budget,
        label=search.label,
        sampler=settings.sampler,
        pruner=settings.pruner,
        seed=settings.seed,
        default=search.default,
        n_steps=len(search.cells),
        price=sum(cell.epochs for cell in search.cells),
        facts=facts,
    )


def cells_of_trial(search: Search, values: Mapping[str, Value]) -> dict[int, Cell]:
    """Return the cells of a trial by seed."""
    return {cell.seed: with_values(cell, values, search.default) for cell in search.cells}


def with_values(cell: Cell, values: Mapping[str, Value], default: Mapping[str, Value]) -> Cell:
    """Return a cell with other hyperparameters; it names none that has its default, as if nobody had searched.

    Parameters
    ----------
    cell
        The cell.
    values
        Hyperparameters found.
    default
        Default of each.
    """
    found = {**dict(cell.hyperparameters), **changed(values, default)}
    return replace(cell, hyperparameters=tuple(sorted(found.items())))


def changed(values: Mapping[str, Value], default: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values that are not the default ones."""
    return {name: value for name, value in values.items() if name not in default or value != default[name]}


def _check_spaces(spaces: Mapping[str, Space], models: Iterable[str]) -> None:
    """Raise where a space is given for a model that nobody knows; a file may hold more models than are searched."""
    known = [*dict.fromkeys((*models, *MODELS.names())), ALL]
    for name in spaces:
        if name not in known:
            raise UnknownName("model among the search spaces", name, known, command="gnz models")


def _shell(cell: Cell, settings: SearchSettings) -> Search:
    """Return the search of a cell's task and model, with no cells yet."""
    task_type = cell.task.task_type
    options = options_of(cell.model)
    space = space_of(cell.model, options, cell.protocol, task_type, settings.spaces)
    usual = {**defaults_of(options, cell.protocol, task_type), **dict(cell.hyperparameters)}
    return Search(
        cells=(),
        space=space,
        default={name: usual[name] for name in sorted(space) if name in usual},
        metric=metric_of(cell.task, is_multi_label=open_frozen(cell.data).is_multi_label),
        kind=settings.kind,
    )


def with_tuned_cells(plan: Plan, records: Sequence[SearchRecord]) -> Plan:
    """Return a plan with the cells of all winners behind the default ones.

    They are cells of a model of another name: in a report it stands beside the default one, on every task, whatever was
    found there. Where the default won, the same numbers come twice.
    """
    tuned = [
        _tuned(cell, record)
        for record in records
        if record.best
        for cell in plan.cells
        if _is_about(record, cell, record.model)
    ]
    lost = [record for record in records if not record.best]
    return Plan(cells=(*plan.cells, *tuned), skipped=(*plan.skipped, *map(_skipped, lost)))


def searches_by_cell(plan: Plan, records: Iterable[SearchRecord]) -> dict[str, str]:
    """Return the name of the search that chose a cell of such a plan, by the cell's fingerprint."""
    return {
        fingerprint(cell): record.name
        for record in records
        for cell in plan.cells
        if _is_about(record, cell, tuned_name(record.model))
    }


def _tuned(cell: Cell, record: SearchRecord) -> Cell:
    row = replace(cell.model, name=tuned_name(cell.model.name))
    return replace(with_values(cell, record.best, record.default), model=row)


def _is_about(record: SearchRecord, cell: Cell, model: str) -> bool:
    return (cell.task.name, cell.model.name) == (record.task, model) and record.seed in (None, cell.seed)


def _skipped(record: SearchRecord) -> Skipped:
    reasons = [trial.reason for trial in record.trials if trial.reason]
    of_seed = "" if record.seed is None else f" for seed {record.seed}"
    reason = f"all {len(record.trials)} trials of its search{of_seed} failed: {reasons[0] if reasons else 'no score'}"
    return Skipped(task=record.task, model=tuned_name(record.model), reason=reason)
