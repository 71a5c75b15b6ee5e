"""Settings of training and scoring, as records: optimisers, protocols, and what these amend. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gnz_track.kinds import Selection, TaskType
from gnz_track.records import freeze_mappings, later

__all__ = ["Amendment", "Optimiser", "Protocol", "Value"]

# What a hyperparameter can be.
Value = int | float | str | bool


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    """Optimiser settings of one task type; batch size 0 means full batch.

    ``loss`` names another loss than the usual one of the task type. Under ``schedule="plateau"`` the learning rate is
    multiplied by ``factor`` after more than ``patience`` epochs without a smaller validation loss, and training stops
    once it is below ``min_lr``; under "score_plateau" without a better score on validation.
    """

    lr: float
    weight_decay: float = 0.0
    batch_size: int = 0
    loss: str = later("")
    schedule: str = later("constant")
    factor: float = later(0.5)
    patience: int = later(0)
    min_lr: float = later(0.0)


@dataclass(frozen=True, kw_only=True)
class Amendment:
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
    every model that has them, ``by_model`` to models by name, ``by_dataset`` amends all of it. A plan resolves these
    into its cells. ``scoring`` is ``whole``, or ``per_batch`` for the mean over batches. ``also`` names what is scored
    beside the selected epoch: ``best_validation``, ``training``. ``code_channels`` is the width of the codes of nodes
    where links are predicted; 0 is that of the layers.
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
    by_dataset: Mapping[str, Amendment] = later({})
    scoring: str = later("whole")
    also: tuple[str, ...] = later(())
    code_channels: int = later(0)

    def __post_init__(self) -> None:
        freeze_mappings(self, "optimisers", "options", "by_model", "by_dataset")
        object.__setattr__(self, "also", tuple(self.also))

    @property
    def label(self) -> str:
        """Name and version, as records carry them."""
        return f"{self.name}@{self.version}"

    def amendment_for(self, dataset: str) -> Amendment:
        """Return what is otherwise for a dataset.

        Its name is looked up, then what comes before each underscore: ``sbm_pattern_tiny`` is a ``sbm_pattern``.
        """
        words = dataset.split("_")
        names = ["_".join(words[:n_words]) for n_words in range(len(words), 0, -1)]
        return next((self.by_dataset[name] for name in names if name in self.by_dataset), Amendment())

    def optimiser_for(self, task_type: TaskType, dataset: str) -> Optimiser | None:
        """Return the optimiser of a task type on a dataset; None where there is none for the task type."""
        usual = self.optimisers.get(task_type)
        return None if usual is None else replace(usual, **self.amendment_for(dataset).optimiser)  # type: ignore[arg-type]
