"""The tasks that parameters name, and where the stages of each keep their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import BadValue, TargetMissing, UnknownName
from gnz_track.models.catalogue import describe
from gnz_track.pipeline.params import PARAMS_FILE, Params
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import ModelRow, Protocol, Task

__all__ = ["CURVES", "DATA", "REPORT", "RESULTS", "SEARCHES", "Chosen", "choose", "require"]

DATA, SEARCHES, RESULTS, CURVES, REPORT = map(Path, ("data", "searches", "results", "curves", "report"))


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The rows that the names of parameters stand for."""

    tasks: Mapping[str, Task]
    models: tuple[ModelRow, ...]
    protocol: Protocol

    def task(self, name: str) -> Task:
        """Return a task by its name in the parameters."""
        if name not in self.tasks:
            raise UnknownName(f"task of {PARAMS_FILE}", name, self.tasks)
        return self.tasks[name]


def choose(params: Params) -> Chosen:
    """Look up every name of the parameters, so that a slip is told before the first stage and not at its own.

    Modules of the user are imported first, since they may register what is named.
    """
    _import_modules(params.modules)
    return Chosen(
        tasks={name: TASKS.get(name) for name in params.tasks},
        models=tuple(describe(model) for model in params.models),
        protocol=PROTOCOLS.get(params.protocol),
    )


def _import_modules(names: tuple[str, ...]) -> None:
    for name in names:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and not (name + ".").startswith(error.name + "."):
                # One of its own imports is missing: the traceback is the user's to see.
                raise
            raise TargetMissing(name, f"there is no module {error.name!r}") from None


def require(place: Path, stage: str) -> Path:
    """Return a file or a folder that an earlier stage leaves; where it is missing, say which stage that is."""
    if not place.exists():
        raise BadValue("what the pipeline needs", str(place), f"what {stage} leaves", command=f"dvc repro {stage}")
    return place
