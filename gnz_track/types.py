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

import dataclasses
import enum
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gnz_track.errors import BadValue

__all__ = [
    "CATEGORIES",
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
    "to_json",
]


class TaskType(enum.StrEnum):
    """The kinds of problem."""

    node_cls = "node_cls"
    graph_cls = "graph_cls"
    graph_reg = "graph_reg"
    link_pred = "link_pred"
    edge_cls = "edge_cls"

    @classmethod
    def _missing_(cls, value: object) -> TaskType:
        raise BadValue("task type", value, ", ".join(cls), command="gnz tasks")


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


CATEGORIES: tuple[Category, ...] = tuple(Category)


class Direction(enum.StrEnum):
    """Whether a larger (up) or a smaller (down) score is better."""

    up = "up"
    down = "down"

    def better(self, a: float, b: float) -> bool:
        """Tell whether score ``a`` is strictly better than score ``b``."""
        return a > b if self is Direction.up else a < b


class Status(enum.StrEnum):
    """How a cell ended."""

    finished = "finished"
    failed = "failed"


class Selection(enum.StrEnum):
    """Which epoch a score is read at."""

    last_epoch = "last_epoch"
    best_validation = "best_validation"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric and its direction; the function itself lives with the training room."""

    name: str
    direction: Direction
    description: str


@dataclass(frozen=True, kw_only=True)
class DatasetRow:
    """One row of the catalogue: graphs from one source.

    ``loader`` is ``"package.module:function"``, called as ``loader(**options)`` for generators (with ``seed=`` where
    ``is_seed_aware``) and as ``loader(folder, **options)`` for datasets read from raw files; it returns one PyG
    ``Data`` or a list of them. ``raw`` names the folder below a mirror that holds the raw files; without it the
    dataset is generated and needs no file. ``expected`` holds the sizes that the frozen form must have.
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

    def __post_init__(self) -> None:
        _freeze_mappings(self, "options", "expected")


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
    """How to construct one architecture.

    ``target`` is ``"package.module:Class"`` where the class can be imported; otherwise the class travels by value in
    ``payload`` (a cloudpickle), and ``source_digest`` tells two versions of it apart. ``is_encoder`` says that the
    class is a node encoder which adapters carry to every task type; otherwise it is constructed as it is.
    ``factory`` is a target too: called ``factory(in, hidden, out, task_type=...)`` in place of the class.
    """

    name: str
    task_types: tuple[TaskType, ...]
    target: str = ""
    factory: str = ""
    payload: bytes = b""
    source_digest: str = ""
    is_encoder: bool = False
    description: str = ""

    @property
    def reference(self) -> str:
        """What a record says of where the class comes from."""
        return self.factory or self.target or f"by value ({self.source_digest[:12]})"


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    """Optimiser settings of one task type; batch size 0 means full batch."""

    lr: float
    weight_decay: float = 0.0
    batch_size: int = 0


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How a cell is trained and scored; data, not code.

    ``optimisers`` has one entry per task type. ``patience`` counts epochs without a better validation score before
    training stops; 0 never stops early. ``splits`` and ``features`` name policies of the datasets room.
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

    def __post_init__(self) -> None:
        _freeze_mappings(self, "optimisers")

    @property
    def label(self) -> str:
        """Name and version, as records carry them."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One (task, model, hyperparameters, seed) under a protocol: names and numbers, ready to travel.

    ``model`` and ``task`` carry their rows, so that a worker needs no registry state of its parent.
    ``hyperparameters`` are sorted (name, value) pairs: ``lr``, ``weight_decay``, ``batch_size``,
    ``hidden_channels`` override the protocol; any other name is a keyword of the model's constructor.
    ``data`` names the folder of the frozen dataset.
    """

    task: Task
    model: ModelRow
    seed: int
    protocol: Protocol
    data: str
    epochs: int
    hyperparameters: tuple[tuple[str, int | float | str | bool], ...] = ()
    device: str = "cpu"

    @property
    def label(self) -> str:
        """A short text for progress and logs.

        Hyperparameters are shown because two cells may differ by nothing else.
        """
        varied = "".join(f" {name}={value}" for name, value in self.hyperparameters)
        return f"{self.task.name} {self.model.name} s{self.seed}{varied}"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a cell failed: the class of the error, its message and the whole traceback."""

    kind: str
    message: str
    traceback: str


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """What one trained cell leaves behind.

    ``series`` maps ``train/loss``, ``val/<metric>`` and ``test/<metric>`` to one value per epoch; ``scores`` holds
    all test metrics at the selected epoch, ``score`` the one of the task. Epochs count from 0. Memory in MiB.
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
    dataset_digest: str = ""
    split_digest: str = ""
    failure: Failure | None = None

    def __post_init__(self) -> None:
        _freeze_mappings(self, "scores", "series")

    @property
    def is_finished(self) -> bool:
        """Whether the cell counts."""
        return self.status is Status.finished


def to_json(record: object) -> str:
    """Write any record of this module as one line of JSON, keys sorted.

    >>> to_json(Metric(name="mae", direction=Direction.down, description="mean absolute error"))
    '{"description": "mean absolute error", "direction": "down", "name": "mae"}'
    """
    return json.dumps(_plain(record), sort_keys=True, allow_nan=False)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if callable(value):
        return f"{getattr(value, '__module__', '?')}:{getattr(value, '__qualname__', repr(value))}"
    return value


class _FrozenMapping(dict[Any, Any]):
    """A mapping that cannot be changed, and still pickles (``MappingProxyType`` does not)."""

    def _refuse(self, *_: object, **__: object) -> Any:
        message = "a record is frozen; make another one with dataclasses.replace"
        raise TypeError(message)

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (_FrozenMapping, (dict(self),))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted((str(key), repr(value)) for key, value in self.items())))


def _freeze_mappings(record: object, *names: str) -> None:
    for name in names:
        value = getattr(record, name)
        if not isinstance(value, _FrozenMapping):
            object.__setattr__(record, name, _FrozenMapping(value))
