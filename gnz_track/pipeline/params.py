"""``params.yaml`` as a typed record: a key that nobody knows, or a value of another type, is told before any work."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gnz_track.errors import BadSeeds, BadValue, TargetMissing, UnknownName
from gnz_track.records import FrozenMapping, freeze_mappings
from gnz_track.runs.settings import SettingChoice, read_choices
from gnz_track.seeds import parse_seeds
from gnz_track.store.cell_files.kept_files import LARGEST_FILE
from gnz_track.text import parse_size, split_names
from gnz_track.types import Cell
from gnz_track.yaml_files import YamlFile, read_yaml

__all__ = ["PARAMS_FILE", "Params", "import_modules", "override", "read_keys", "read_params"]

PARAMS_FILE = "params.yaml"
_EXAMPLE = "{tasks: {cora: {}}, models: [GCN, MLP], seeds: 0-4}"


@dataclass(frozen=True, kw_only=True)
class Params:
    """A benchmark: its cells from ``tasks`` to ``amp``, how they are trained, and how they are compared.

    ``tasks`` are names and epochs, None for the own number of a task. ``modules`` are imported first, and may
    register tasks and models. ``tune`` says how hyperparameters are searched
    (:func:`gnz_track.pipeline.stages.read_settings`), and None that they are not. With ``quality`` the report shows
    the audits of the data. ``settings`` are chosen for all tasks and models, or for one (``settings`` of a task, and
    a model's name among them). ``jobs``, ``timeout``, ``store``, ``keep`` and ``keep_at_most`` (bytes) change no
    result: no stage depends on them.
    """

    tasks: Mapping[str, int | None]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    suite: str = "custom"
    protocol: str = "graphnetz"
    hidden_channels: int | None = None
    device: str = "auto"
    compile: bool = False
    amp: str = ""
    modules: tuple[str, ...] = ()
    jobs: int | None = None
    timeout: float | None = None
    store: str = ""
    keep: str = "predictions"
    keep_at_most: int = Cell.keep_at_most
    alpha: float = 0.05
    margin: float | Mapping[str, float] | None = None
    posthoc: str = "wilcoxon-holm"
    test: str = "t"
    split_sizes: tuple[int, int] | None = None
    tune: Mapping[str, Any] | None = None
    quality: bool = False
    settings: tuple[SettingChoice, ...] = ()

    def __post_init__(self) -> None:
        given = {"margin": self.margin, "tune": self.tune}
        freeze_mappings(self, "tasks", *(name for name, value in given.items() if isinstance(value, Mapping)))


def read_params(file: str | Path = PARAMS_FILE, **given: Any) -> Params:
    """Read a file of parameters; ``given`` are keys put in place of those of the file, where they are not None."""
    values = read_keys(file)
    for field in dataclasses.fields(Params):
        if field.default is dataclasses.MISSING and field.name not in values:
            raise BadValue(f"{Path(file).name}: {field.name}", None, _ALLOWED[field.name])
    return override(Params(**values), **given)


def read_keys(file: str | Path) -> dict[str, Any]:
    """Return the keys of a file of parameters by name, those alone that are in it; what is wrong is told."""
    found = read_yaml(file, what="the file of parameters", example=_EXAMPLE, command="gnz init NAME")
    values = {key: _read_value(str(key), value, found.where(key)) for key, value in found.keys.items()}
    if settings := _read_settings(found, values.get("tasks", {})):
        values["settings"] = settings
    return values


def _read_settings(found: YamlFile, tasks: Iterable[str]) -> tuple[SettingChoice, ...]:
    """Return what is chosen for all tasks, and then for single ones."""
    source, given = f"{found.name}: settings", found.keys.get("tasks")
    choices = list(
        read_choices(found.keys.get("settings"), source=source, is_of_file=True, lines=found.below("settings"))
    )
    for name in tasks:
        facts = (given.get(name) if isinstance(given, Mapping) else None) or {}
        lines = found.below("tasks", name, "settings")
        choices += read_choices(facts.get("settings"), source=source, task=name, is_of_file=True, lines=lines)
    return tuple(choices)


def import_modules(names: Iterable[str]) -> None:
    """Import modules of the user, which may register tasks and models; one that is not there is told."""
    for name in names:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and not (name + ".").startswith(error.name + "."):
                # One of its own imports is missing: the traceback is the user's to see.
                raise
            raise TargetMissing(name, f"there is no module {error.name!r}") from None


def override(params: Params, **given: Any) -> Params:
    """Return parameters with others in their place; those that are None stay as they are."""
    changes = {key: _read_value(key, value, f"--{key}") for key, value in given.items() if value is not None}
    return dataclasses.replace(params, **changes)


def _read_value(key: str, value: Any, place: str) -> Any:
    if key not in _READERS:
        raise UnknownName(f"key of {place}", key, _READERS)
    try:
        return _READERS[key](value)
    except (ValueError, TypeError, BadSeeds):
        name = place if place.startswith("--") else f"{place}: {key}"
        raise BadValue(name, value, _ALLOWED[key]) from None


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _read_texts(value: Any) -> tuple[str, ...]:
    parts = split_names(value) if isinstance(value, str) else [_read_text(part) for part in value or ()]
    return tuple(part.strip() for part in parts if part.strip())


def _read_some_texts(value: Any) -> tuple[str, ...]:
    found = _read_texts(value)
    if not found:
        raise ValueError
    return found


def _read_modules(value: Any) -> tuple[str, ...]:
    found = _read_texts(value)
    if not all(part.isidentifier() for name in found for part in name.split(".")):
        raise ValueError
    return found


def _read_seeds(value: Any) -> tuple[int, ...]:
    # YAML reads 0-4 as a text, 3 as a number and [0, 1] as a list.
    is_bare = isinstance(value, bool) or not isinstance(value, str | int | list | tuple)
    if is_bare or (isinstance(value, list | tuple) and not value):
        raise TypeError
    return parse_seeds(",".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def _read_whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value


def _read_keep(value: Any) -> str:
    from gnz_track.runs.files_of_cell import KEEPS

    if value not in KEEPS:
        raise ValueError
    return _read_text(value)


def _read_size(value: Any) -> int:
    n_bytes = parse_size(_read_text(value))
    if not 0 < n_bytes <= LARGEST_FILE:
        raise ValueError
    return n_bytes


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _read_positive(value: Any) -> float:
    number = _read_number(value)
    if number <= 0:
        raise ValueError
    return number


def _read_margin(value: Any) -> float | FrozenMapping:
    if isinstance(value, Mapping):
        return FrozenMapping({_read_text(name): _read_positive(number) for name, number in value.items()})
    return _read_positive(value)


def _read_mapping(value: Any) -> FrozenMapping:
    if not isinstance(value, Mapping):
        raise TypeError
    return FrozenMapping({_read_text(name): item for name, item in value.items()})


def _read_nothing(value: Any) -> tuple[SettingChoice, ...]:
    """Return nothing: settings are read with those of tasks."""
    if not isinstance(value or {}, Mapping):
        raise TypeError
    return ()


def _read_pair(value: Any) -> tuple[int, int]:
    first, second = value
    return _read_whole(first), _read_whole(second)


def _read_tasks(value: Any) -> FrozenMapping:
    if isinstance(value, str):
        value = dict.fromkeys(_read_some_texts(value))
    if not isinstance(value, Mapping) or not value:
        raise TypeError
    return FrozenMapping({_read_text(name): _read_epochs(name, facts or {}) for name, facts in value.items()})


_OF_TASK = ("epochs", "settings")


def _read_epochs(name: str, facts: Any) -> int | None:
    if not isinstance(facts, Mapping):
        raise TypeError
    for key in facts:
        if key not in _OF_TASK:
            raise UnknownName(f"key of the task {name}", key, _OF_TASK)
    epochs: int | None = _or_none(_read_whole)(facts.get("epochs"))
    return epochs


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


# Key -> how its value is read, and what is allowed, as a part of a sentence.
_KEYS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "suite": (_read_text, "a word: the first part of the names of experiments"),
    "tasks": (
        _read_tasks,
        "a mapping from names of tasks to {epochs: 50, settings: {lr: 0.1}}, or to {} for a task as it is",
    ),
    "models": (_read_some_texts, "a list of names, as [GCN, MLP, mynets:Net]"),
    "seeds": (_read_seeds, "seeds from 0 upwards, each once, as 0-4 or [0, 1, 5]"),
    "protocol": (_read_text, "the name of a protocol; see gnz protocols"),
    "hidden_channels": (_or_none(_read_whole), "a whole number from 1 upwards, or null for the protocol's own"),
    "device": (_read_text, "auto, cpu, cuda, cuda:1, ..."),
    "compile": (_read_flag, "true where Torch is to compile the models, or false"),
    "amp": (_read_text, 'the half precision of the models, bfloat16 or float16, or "" for single precision'),
    "modules": (_read_modules, "a list of modules that register tasks and models, importable from here, as [bench]"),
    "jobs": (_or_none(_read_whole), "a whole number from 1 upwards, or null for as many as there are cores"),
    "timeout": (_or_none(_read_positive), "seconds for one cell, or null for no limit"),
    "store": (_read_text, 'a file, sqlite:///FILE, postgresql://... or http://..., or "" for GNZ_STORE'),
    "keep": (_read_keep, "predictions, weights, best or nothing: the files that a cell leaves beside its run"),
    "keep_at_most": (_read_size, "a size such as 16MiB, above which a file of a cell is not kept; at most 64MiB"),
    "alpha": (_read_number, "a number between 0 and 1, such as 0.05"),
    "margin": (_or_none(_read_margin), "a positive number in units of the metric, one by task or metric, or null"),
    "posthoc": (_read_text, "wilcoxon-holm or nemenyi"),
    "test": (_read_text, "t, wilcoxon, sign_flip, nadeau_bengio, anytime or fixed_looks"),
    "tune": (
        _or_none(_read_mapping),
        "a mapping such as {trials: 30, kind: per-task}, or null to leave models as they are",
    ),
    "quality": (_read_flag, "true where data are to be audited, or false"),
    "settings": (_read_nothing, "a mapping, as {lr: [0.01, 0.001], GAT: {heads: [4, 8]}}, or null"),
    "split_sizes": (_or_none(_read_pair), "[examples in training, examples in test], or null"),
}
_READERS = {key: read for key, (read, _) in _KEYS.items()}
_ALLOWED = {key: allowed for key, (_, allowed) in _KEYS.items()}
