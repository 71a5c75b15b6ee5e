"""The words of the house as frozen, JSON-able records. No torch here.

dataset
    graphs from one source; a :class:`DatasetRow` says where they come from.
task
    a dataset posed as a problem: :class:`Task`.
model
    an architecture; a :class:`ModelRow` says how to construct it.
protocol
    how a cell is trained and scored: :class:`Protocol`.
cell
    one (task, model, hyperparameters, seed) under a protocol: :class:`Cell`; trained, it is a :class:`CellResult`.
score
    the value of a :class:`Metric` at the selected epoch; its :class:`Direction` is part of the metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.kinds import (
    Category,
    Direction,
    Selection,
    Status,
    TaskType,
    is_rule,
    is_tuned,
    tuned_name,
    untuned_name,
)
from gnz_track.origins import Origin
from gnz_track.records import freeze_mappings, later
from gnz_track.settings import Amendment, Optimiser, Protocol, Value

__all__ = [
    "Amendment",
    "Category",
    "Cell",
    "CellResult",
    "DatasetRow",
    "Direction",
    "Failure",
    "Metric",
    "ModelRow",
    "Optimiser",
    "Protocol",
    "Selection",
    "Status",
    "Suite",
    "Task",
    "TaskType",
    "Value",
    "is_rule",
    "is_tuned",
    "tuned_name",
    "untuned_name",
]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric and its direction; the function itself lives with the training room.

    ``low`` and ``high`` are the least and the largest score that it can have, None where there is none.
    """

    name: str
    direction: Direction
    description: str
    low: float | None = later(None)
    high: float | None = later(None)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest score, infinite where there is none."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high


@dataclass(frozen=True, kw_only=True)
class DatasetRow:
    """One row of the catalogue: graphs from one source.

    ``loader`` is ``"package.module:function"``, called as ``loader(**options)`` for generators (with ``seed=`` where
    ``is_seed_aware``) and as ``loader(folder, **options)`` for datasets read from raw files; it returns one PyG
    ``Data`` or a list of them. ``raw`` names the folder below a mirror that holds the raw files; without it the
    dataset is generated and needs no file. ``expected`` holds the sizes that the frozen form must have.
    ``origins`` say how the raw folder is filled where no mirror has it, ``extra`` which optional dependency the loader
    needs, ``retired`` why nobody can fetch the files any more. ``defects`` are known flaws, a sentence each.
    ``references`` are keys of BibTeX entries, those that ``citation`` spells out.
    """

    name: str
    category: Category
    task_types: tuple[TaskType, ...]
    loader: str
    source: str
    licence: str
    citation: str
    options: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    is_seed_aware: bool = False
    expected: Mapping[str, int] = field(default_factory=dict)
    checksum: str = ""
    url: str = ""
    notes: str = ""
    origins: tuple[Origin, ...] = ()
    extra: str = ""
    retired: str = ""
    defects: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_mappings(self, "options", "expected")


@dataclass(frozen=True)
class Task:
    """A dataset posed as a problem.

    ``Task(name, task_type, loader, epochs=...)`` is all that an own task needs: ``loader`` is a callable (or
    ``"package.module:function"``) that returns a PyG dataset, a ``Data`` or a list of them; a loader with a ``seed``
    argument gets the cell's seed. Tasks of the catalogue name a ``dataset`` row instead of a loader.
    ``metric`` left empty means the usual one of the task type.
    """

    name: str
    task_type: TaskType
    loader: Callable[..., Any] | str | None = None
    epochs: int = 30
    dataset: str = ""
    metric: str = ""
    category: Category = Category.custom

    def __post_init__(self) -> None:
        object.__setattr__(self, "task_type", TaskType(self.task_type))
        object.__setattr__(self, "category", Category(self.category))
        object.__setattr__(self, "dataset", self.dataset or self.name)
        if not isinstance(self.epochs, int) or self.epochs < 1:
            raise BadValue("epochs", self.epochs, "a whole number from 1 upwards")


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A named selection of tasks."""

    name: str
    tasks: tuple[str, ...]
    description: str


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """Row of one architecture: how to construct it.

    ``target`` is ``"package.module:Class"`` where the class can be imported; otherwise the class travels by value in
    ``payload`` (a cloudpickle), and ``source_digest`` tells two versions of it apart. ``is_encoder`` says that the
    class is a node encoder which adapters carry to every task type; otherwise it is constructed as it is.
    ``factory`` is a target too: called ``factory(in, hidden, out, task_type=...)`` in place of the class.
    ``options`` are hyperparameters that belong to the name, such as ``edge_features``; a cell may change them.
    ``parts`` are digests of all of the user's code behind ``source_digest``, by ``module:name``, and ``unseen`` says
    where it leads to code that is not followed.
    """

    name: str
    task_types: tuple[TaskType, ...]
    target: str = ""
    factory: str = ""
    payload: bytes = b""
    source_digest: str = ""
    is_encoder: bool = False
    description: str = ""
    options: Mapping[str, Value] = later({})
    parts: Mapping[str, str] = later({})
    unseen: tuple[str, ...] = later(())

    def __post_init__(self) -> None:
        freeze_mappings(self, "options", "parts")
        object.__setattr__(self, "unseen", tuple(self.unseen))

    @property
    def reference(self) -> str:
        """Name of the class in records."""
        return self.factory or self.target or f"by value ({self.source_digest[:12]})"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One (task, model, hyperparameters, seed) under a protocol: names and numbers, ready to travel.

    ``model`` and ``task`` carry their rows, so that a worker needs no registry state of its parent.
    ``hyperparameters`` are sorted (name, value) pairs: ``lr``, ``weight_decay``, ``batch_size``, ``patience``,
    ``min_lr``, ``hidden_channels`` and ``encoding`` override the protocol; others are keywords of the constructor.
    ``dataset_digest`` says which bytes the cell is trained on; ``data`` is the folder where this machine keeps them.
    ``is_blind`` cells are those of a search: test labels are erased before anything is built, and the score is that of
    validation. ``perturbation`` names what is done to the graphs before training; the name of the task then ends in it,
    so that nothing takes a perturbed cell for one on the graphs as they are. ``code`` has (what, digest) for each
    metric, loss or perturbation of the user's that enters the cell's numbers; there is none of the package's own.
    """

    task: Task
    model: ModelRow
    seed: int
    protocol: Protocol
    epochs: int
    dataset_digest: str
    data: str
    hyperparameters: tuple[tuple[str, Value], ...] = ()
    device: str = "cpu"
    is_blind: bool = False
    perturbation: str = ""
    code: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        ending = f"~{self.perturbation}"
        if self.perturbation and not self.task.name.endswith(ending):
            object.__setattr__(self, "task", replace(self.task, name=self.task.name + ending))

    @property
    def source_task(self) -> Task:
        """The task as it is without a perturbation."""
        name = self.task.name.removesuffix(f"~{self.perturbation}") if self.perturbation else self.task.name
        return replace(self.task, name=name)

    @property
    def label(self) -> str:
        """A short text for progress and logs.

        Hyperparameters are shown because two cells may differ by nothing else.
        """
        varied = "".join(f" {name}={value}" for name, value in self.hyperparameters)
        return f"{self.task.name} {self.model.name} s{self.seed}{varied}"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Failure of a cell: the class of the error, its message and the whole traceback."""

    kind: str
    message: str
    traceback: str


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """Result of one trained cell.

    ``series`` maps ``train/loss``, ``val/<metric>`` and ``test/<metric>`` to one value per epoch; ``scores`` holds
    all test metrics at the selected epoch, ``score`` the one of the task. Epochs count from 0. Memory in MiB.
    ``n_train`` and ``n_test`` are the examples of the parts, ``baseline`` the score of whoever has learnt nothing.
    ``seconds`` are of the clock; ``memory_mib`` is what the cell itself held, None where unknown, and ``peak_rss_mib``
    what its process did. ``instructions`` are those of the processor that computed it.
    """

    cell: Cell
    status: Status
    metric: str
    direction: Direction
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    selected_epoch: int | None = None
    n_parameters: int | None = None
    seconds: float = 0.0
    seconds_per_epoch: float | None = None
    cpu_seconds: float = 0.0
    peak_rss_mib: float | None = None
    peak_device_mib: float | None = None
    memory_mib: float | None = None
    instructions: str = ""
    dataset_digest: str = ""
    split_digest: str = ""
    n_train: int | None = None
    baseline: float | None = None
    n_test: int | None = None
    failure: Failure | None = None

    def __post_init__(self) -> None:
        freeze_mappings(self, "scores", "series")

    @property
    def is_finished(self) -> bool:
        """Whether the cell counts."""
        return self.status is Status.finished
