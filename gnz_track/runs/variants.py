"""Cells as users chose their settings: every combination of the values is a variant of its own.

A setting that changes nothing of a cell, such as the number of heads of a model without attention, makes no variant of
it; where that is so for all cells of a task, a sentence says why. What nothing takes is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gnz_track.datasets.frozen import open_frozen
from gnz_track.datasets.scales import has_real_features
from gnz_track.errors import BadValue, NothingToRun, SplitImpossible
from gnz_track.runs.plan import Plan, Skipped, find_limits, reason_against_sampling, refuse_sampling
from gnz_track.runs.protocol_resolution import find_override, settings_of, width_of
from gnz_track.runs.settings import (
    SETTINGS,
    SettingChoice,
    choices_for,
    own_names,
    products,
    read_values,
    rows_of,
    value_at,
)
from gnz_track.text import first_names
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellSettings, ModelRow, Protocol, Selection, Task, TaskType, Value
from gnz_track.variant_labels import label_variants

if TYPE_CHECKING:
    from gnz_track.datasets.frozen import FrozenDataset

__all__ = ["Origin", "count_variants", "label_cells", "trace_settings", "vary_plan"]

Variant = dict[str, Value]
MOST_TASKS = 4
BUDGET, WIDTH, EPOCHS = "budget", "hidden_channels", "epochs"


def count_variants(choices: Sequence[SettingChoice], model: ModelRow, task: Task) -> int:
    """Return how many variants of a model there are on a task at most, without making any.

    Parameters
    ----------
    choices
        All that was chosen.
    model, task
        The pair.
    """
    named = choices_for(choices, model, task.name)
    return math.prod(len(named[name].values) for name in rows_of(model, named))


def vary_plan(plan: Plan, choices: Sequence[SettingChoice]) -> Plan:
    """Return a plan with a cell for each combination of chosen values, in place of each of its cells.

    Under a budget a variant has the width at which it has as many parameters, unless its width is chosen.
    """
    if not choices:
        return plan
    varied = _Varied(skipped=list(plan.skipped))
    for cells in _pairs_of(plan.cells).values():
        varied.take(cells, choices)
    for choice in choices:
        if not choice.is_of_file and choice not in varied.taken:
            reasons = {reason: None for (name, reason) in varied.unused if name == choice.name}
            allowed = f"what changes a cell of this call: {'; '.join(reasons) or 'another choice stands in its place'}"
            raise BadValue(choice.where + choice.name, ", ".join(map(str, choice.values)), allowed)
    if not varied.cells:
        raise NothingToRun([f"{item.task} x {item.model}: {item.reason}" for item in varied.skipped])
    notices = (
        f"{name} changes nothing on {first_names(tuple(tasks), MOST_TASKS, 'tasks')}: {reason}"
        for (name, reason), tasks in varied.unused.items()
    )
    return Plan(
        cells=tuple(varied.cells),
        skipped=tuple(varied.skipped),
        notices=tuple(dict.fromkeys((*plan.notices, *notices, *varied.notices))),
    )


@dataclass
class _Varied:
    """A plan as it becomes: cells, pairs without any, choices that some cell took, and why others took none."""

    skipped: list[Skipped]
    cells: list[Cell] = field(default_factory=list)
    taken: list[SettingChoice] = field(default_factory=list)
    unused: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def take(self, cells: Sequence[Cell], choices: Sequence[SettingChoice]) -> None:
        """Take the cells of a task and a model, one for each seed, in all variants."""
        first = cells[0]
        dataset, named = open_frozen(first.data), choices_for(choices, first.model, first.task.name)
        rows = rows_of(first.model, named)
        if {BUDGET, WIDTH} <= rows.keys():
            allowed = "nothing beside a budget, by which widths are found"
            raise BadValue(named[WIDTH].where + WIDTH, ", ".join(map(str, named[WIDTH].values)), allowed)
        values = {name: read_values(named[name], row) for name, row in rows.items()}
        found: dict[str, Variant] = {}
        for variant in products(values):
            used = self._used(first, variant, dataset)
            found[json.dumps(used, sort_keys=True)] = used
            self.taken += [named[name] for name in used if named[name] not in self.taken]
        for variant in found.values():
            try:
                changed = _changes_of(first, variant, dataset)
            except (BadValue, SplitImpossible) as error:
                name = _label(first.model.name, variant)
                self.skipped.append(Skipped(task=first.task.name, model=name, reason=str(error)))
                continue
            epochs = int(variant.get(EPOCHS, first.epochs))
            self.cells += [replace(cell, hyperparameters=changed, epochs=epochs) for cell in cells]
            if "encoding" in variant:
                protocol = replace(first.protocol, encoding=_settings(first, variant, dataset).encoding)
                self.notices += find_limits(first.task, protocol, dataset, first.seed)

    def _used(self, cell: Cell, variant: Variant, dataset: FrozenDataset) -> Variant:
        """Return what changes a cell; why the rest does not is kept."""
        settings = _settings(cell, variant, dataset)
        reasons = _reasons(settings, cell.model, variant, dataset)
        for name, reason in reasons.items():
            self.unused.setdefault((name, reason), {})[cell.task.name] = None
        return {name: value for name, value in variant.items() if name not in reasons}


def _pairs_of(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.task.name, cell.model.name), []).append(cell)
    return found


def _settings(cell: Cell, variant: Variant, dataset: FrozenDataset) -> CellSettings:
    varied = replace(cell, hyperparameters=_merge(cell, variant))
    return settings_of(varied, is_multi_label=dataset.is_multi_label)


def _merge(cell: Cell, variant: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """Return the hyperparameters of a cell with others; epochs are a field of a cell."""
    own = own_names(variant, cell.model)
    chosen = {name: value for name, value in variant.items() if name != EPOCHS or name in own}
    return tuple(sorted({**dict(cell.hyperparameters), **chosen}.items()))


def _changes_of(cell: Cell, variant: Variant, dataset: FrozenDataset) -> tuple[tuple[str, Value], ...]:
    """Return the hyperparameters of a variant, the width of its budget included; what cannot be is an error."""
    if "neighbours" in variant:
        refuse_sampling(cell.task, cell.model, dataset, _settings(cell, variant, dataset).neighbours)
    if "train_size" in variant:
        from gnz_track.problems.catalogue import count_training

        count_training(dataset, _settings(cell, variant, dataset))
    budget = int(variant.get(BUDGET, cell.protocol.budget))
    is_changed = bool(set(variant) - {EPOCHS})
    if not budget or not is_changed or WIDTH in variant:
        return _merge(cell, variant)
    from gnz_track.models.budgets import refuse_beyond

    given = {name: value for name, value in _merge(cell, variant) if name not in (WIDTH, BUDGET)}
    found = width_of(cell.model, cell.source_task, dataset, replace(cell.protocol, budget=budget), given)
    refuse_beyond(found, cell.model.name, tolerance=cell.protocol.tolerance)
    width = {} if found.is_of_rule else {WIDTH: found.hidden_channels}
    return tuple(sorted({**given, BUDGET: budget, **width}.items()))


def _reasons(settings: CellSettings, model: ModelRow, variant: Variant, dataset: FrozenDataset) -> dict[str, str]:
    """Return why settings of a variant change nothing, by name; those that change something are left out."""
    own = own_names(variant, model)
    found = {
        name: _WITHOUT_USE[name](settings, dataset) for name in variant if name in _WITHOUT_USE and name not in own
    }
    return {name: reason for name, reason in found.items() if reason}


def _of_schedule(settings: CellSettings, _: FrozenDataset) -> str:
    return "the schedule is constant; choose it with --set schedule=plateau" if _is_constant(settings) else ""


def _of_stopping(settings: CellSettings, _: FrozenDataset) -> str:
    needed = "training stops early where validation selects the epoch: --set selection=best_validation"
    return "" if settings.selection is Selection.best_validation else needed


def _of_patience(settings: CellSettings, dataset: FrozenDataset) -> str:
    return _of_stopping(settings, dataset) if _is_constant(settings) else ""


def _is_constant(settings: CellSettings) -> bool:
    return settings.optimiser.schedule == "constant"


def _of_batches(settings: CellSettings, dataset: FrozenDataset) -> str:
    if settings.task_type.unit in ("node", "edge") and len(dataset) == 1:
        return "" if settings.neighbours else "its one graph is a batch"
    is_relational = settings.task_type is TaskType.link_pred and dataset.is_relational
    return "all triples are a batch" if is_relational else ""


def _of_loss(settings: CellSettings, dataset: FrozenDataset) -> str:
    from gnz_track.problems.catalogue import losses_of

    losses = losses_of(dataset, settings)
    fits = settings.optimiser.loss in ("", *losses)
    return "" if losses and fits else f"its losses are {', '.join(('usual', *losses))}"


def _of_size(settings: CellSettings, _: FrozenDataset) -> str:
    return "links are not drawn by number" if settings.task_type is TaskType.link_pred else ""


def _of_features(_: CellSettings, dataset: FrozenDataset) -> str:
    return "its nodes have features" if dataset.n_features else ""


def _of_scale(_: CellSettings, dataset: FrozenDataset) -> str:
    return "" if has_real_features(dataset) else "its nodes have no features that are real numbers"


def _of_neighbours(settings: CellSettings, dataset: FrozenDataset) -> str:
    return reason_against_sampling(settings.task_type, dataset)


def _of_codes(settings: CellSettings, _: FrozenDataset) -> str:
    return "" if settings.task_type is TaskType.link_pred else "codes are of links"


# Setting -> why it changes nothing of cells with such settings and data; an empty text where it does.
_WITHOUT_USE = {
    "factor": _of_schedule,
    "min_lr": _of_schedule,
    "patience": _of_patience,
    "stop_patience": _of_stopping,
    "batch_size": _of_batches,
    "loss": _of_loss,
    "train_size": _of_size,
    "features": _of_features,
    "scale": _of_scale,
    "code_channels": _of_codes,
    "neighbours": _of_neighbours,
}


def _label(model: str, variant: Mapping[str, Value]) -> str:
    return model + "".join(f" {name}={value}" for name, value in sorted(variant.items()))


def label_cells(cells: Sequence[Cell]) -> list[str]:
    """Return the label of each cell as tables of the same cells have it."""
    return label_variants(
        [cell.model.name for cell in cells],
        tasks=[cell.task.name for cell in cells],
        protocols=[cell.protocol.label for cell in cells],
        hyperparameters=[json.dumps(dict(cell.hyperparameters), sort_keys=True) for cell in cells],
    )


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A setting of some cells: its value, where that comes from, and the tasks and models of the cells."""

    name: str
    value: Value
    source: str
    tasks: tuple[str, ...]
    models: tuple[str, ...]


def trace_settings(
    plan: Plan, choices: Sequence[SettingChoice], *, elsewhere: Mapping[str, str] | None = None
) -> list[Origin]:
    """Return every setting of the cells of a plan that can be chosen, each value once, with where it comes from.

    Parameters
    ----------
    plan
        Cells, varied by the choices.
    choices
        All that was chosen.
    elsewhere
        Settings that were asked for otherwise, and where.
    """
    pairs: dict[tuple[str, Value, str], list[tuple[str, str]]] = {}
    labels = label_cells(plan.cells)
    seen: set[tuple[str, str]] = set()
    for cell, label in zip(plan.cells, labels, strict=True):
        if (cell.task.name, label) not in seen:
            seen.add((cell.task.name, label))
            for name, value, source in _trace_cell(cell, choices, elsewhere or {}):
                pairs.setdefault((name, value, source), []).append((cell.task.name, label))
    order = [*SETTINGS, *(name for name, _, _ in pairs)]
    return [
        Origin(
            name=name,
            value=value,
            source=source,
            tasks=tuple(dict.fromkeys(task for task, _ in found)),
            models=tuple(dict.fromkeys(model for _, model in found)),
        )
        for (name, value, source), found in sorted(pairs.items(), key=lambda item: order.index(item[0][0]))
    ]


def _trace_cell(
    cell: Cell, choices: Sequence[SettingChoice], elsewhere: Mapping[str, str]
) -> Iterator[tuple[str, Value, str]]:
    """Yield (name, value, source) of each setting of a cell."""
    from gnz_track.models.building import options_of

    settings = settings_of(cell, is_multi_label=open_frozen(cell.data).is_multi_label)
    protocol = next((one for one in PROTOCOLS.rows() if one.label == cell.protocol.label), cell.protocol)
    usual, sources = f"protocol {protocol.name}", _sources_of(cell, protocol, choices, elsewhere)
    for name, row in SETTINGS.items():
        if row.place:
            yield name, value_at(settings, row), sources.get(name, usual)
    yield EPOCHS, cell.epochs, sources.get(EPOCHS, usual if protocol.epochs else "the task")
    if budget := dict(cell.hyperparameters).get(BUDGET, cell.protocol.budget):
        yield BUDGET, budget, sources.get(BUDGET, usual)
    for name, value in {**options_of(cell.model).defaults, **settings.options}.items():
        if isinstance(value, int | float | str):
            of_name = f"the model's own ({cell.model.name})" if name in cell.model.options else "the model's own"
            yield name, value, sources.get(name, of_name)


def _sources_of(
    cell: Cell, protocol: Protocol, choices: Sequence[SettingChoice], elsewhere: Mapping[str, str]
) -> dict[str, str]:
    """Return where the settings of a cell come from by name, as far as the protocol does not give them to all."""
    given, override = dict(cell.hyperparameters), find_override(protocol, cell.task)
    of_dataset = [name for name in ("encoding", "splits", "epochs", "hours") if vars(override)[name]]
    found = dict.fromkeys((*override.optimiser, *of_dataset), f"protocol {protocol.name}, for this dataset")
    found |= dict.fromkeys(given, f"protocol {protocol.name}, for this model or dataset")
    found |= elsewhere
    budget = given.get(BUDGET) or cell.protocol.budget
    found |= {WIDTH: f"budget of {budget:,} parameters"} if budget and WIDTH in given else {}
    chosen = choices_for(choices, cell.model, cell.source_task.name)
    return found | {name: one.source for name, one in chosen.items() if name in given or name == EPOCHS}
