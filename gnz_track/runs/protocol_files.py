"""Protocols of one's own as YAML files: what they change of a known protocol, under the names of ``--set``.

A file is checked key by key, and its protocol is named by what is in it: ``mine.yaml`` gives ``mine+1f3c9a``, so that
cells of two versions of a file are never taken for one another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from gnz_track.errors import BadValue, UnknownName
from gnz_track.records import to_json
from gnz_track.runs.settings import SETTINGS, Setting
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Optimiser, Override, Protocol, Selection, TaskType, Value
from gnz_track.yaml_files import YamlFile, read_yaml

__all__ = ["find_protocol", "is_file_of_protocol", "read_protocol"]

_SUFFIXES = (".yaml", ".yml")
_USUAL = "graphnetz"
_EXAMPLE = "{like: graphnetz, lr: 0.005, optimisers: {graph_cls: {batch_size: 16}}}"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,40}")
_LABEL_DIGITS = 6
_PATIENCE = "patience"


def is_file_of_protocol(name: str) -> bool:
    """Tell a file from the name of a protocol, whether or not there is one.

    >>> is_file_of_protocol("./mine.yaml"), is_file_of_protocol("graphnetz")
    (True, False)
    """
    return name.endswith(_SUFFIXES)


def find_protocol(name: str) -> Protocol:
    """Return the protocol of a name, or of a file."""
    stem, plus, _ = name.partition("+")
    if plus and not is_file_of_protocol(name) and name not in PROTOCOLS:
        allowed = "the file that it was read from, whose content its name stands for"
        raise BadValue("protocol", name, allowed, command=f"--protocol ./{stem}.yaml")
    return read_protocol(name) if is_file_of_protocol(name) else PROTOCOLS.get(name)


def read_protocol(file: str | Path) -> Protocol:
    """Read a protocol from a YAML file; what it does not say is as in the protocol that it is ``like``."""
    found = read_yaml(file, what="the file of a protocol", example=_EXAMPLE, command="gnz protocols")
    known = (*_KEYS, *_OPTIMISER_NAMES, *_FIELD_NAMES, "optimisers", "options", "by_model", "by_dataset")
    _check_names(found, (), known)
    readers = ((key, *_KEYS[key]) for key in found.keys if key in _KEYS)
    said = {key: found.read_at(key, read=read, allowed=allowed) for key, read, allowed in readers}
    base: Protocol = said.pop("like", PROTOCOLS.get(_USUAL))
    optimisers = _read_optimisers(found, base)
    chosen: dict[str, Any] = {_field(name): _read_field(found, name) for name in found.keys if name in _FIELD_NAMES}
    if "selection" in chosen:
        chosen["selection"] = Selection(chosen["selection"])
    if _PATIENCE in found.keys and not any(map(_has_schedule, optimisers.values())):
        # Without a schedule it is that of early stopping, as everywhere.
        chosen.setdefault(_PATIENCE, _read_field(found, _PATIENCE))
    given: dict[str, Any] = {"name": Path(file).stem, "version": 1, "description": f"of {Path(file).name}", **said}
    protocol = replace(
        base,
        **chosen,
        **given,
        optimisers=optimisers,
        options={**base.options, **_read_values(found, "options")},
        by_model=_join(base.by_model, _read_models(found)),
        by_dataset={**base.by_dataset, **_read_datasets(found)},
    )
    return replace(protocol, name=_name_by_content(found, protocol))


def _name_by_content(found: YamlFile, protocol: Protocol) -> str:
    if not _NAME.fullmatch(protocol.name):
        allowed = "a word of letters, digits, points and dashes, such as slow-rates, at most 41 of them"
        raise BadValue(found.place("name"), protocol.name, allowed)
    text = to_json(replace(protocol, description=""))
    return f"{protocol.name}+{hashlib.sha256(text.encode()).hexdigest()[:_LABEL_DIGITS]}"


def _check_names(found: YamlFile, path: tuple[Any, ...], known: Collection[str]) -> None:
    found.check_keys(*path, kind="key of a protocol", known=known, command="gnz run --show-config")


def _read_setting(found: YamlFile, *path: Any) -> Value:
    row, value = SETTINGS[path[-1]], found.at(*path)
    try:
        return row.read(value)
    except BadValue:
        raise BadValue(found.place(*path), value, row.allowed(), command="gnz run --show-config") from None


def _read_field(found: YamlFile, *path: Any) -> Any:
    """Read a setting as a field of a record holds it: the word for no value is empty there."""
    value, row = _read_setting(found, *path), SETTINGS[path[-1]]
    return "" if row.blank and value == row.blank else value


def _read_values(found: YamlFile, *path: Any) -> dict[str, Value]:
    """Read hyperparameters: settings as such, and options of models as they stand."""
    values: dict[str, Value] = {}
    for name, value in found.mapping_at(*path).items():
        if name in SETTINGS:
            values[name] = _read_setting(found, *path, name)
        elif isinstance(name, str) and isinstance(value, int | float | str | bool) and value == value:  # noqa: PLR0124
            values[name] = value
        else:
            raise BadValue(found.place(*path, name), value, "a number, a word, true or false")
    return values


def _read_models(found: YamlFile, *path: Any) -> dict[str, dict[str, Value]]:
    path = (*path, "by_model")
    return {str(model): _read_values(found, *path, model) for model in found.mapping_at(*path)}


def _join(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    return {**first, **{name: {**first.get(name, {}), **values} for name, values in second.items()}}


def _read_optimisers(found: YamlFile, base: Protocol) -> dict[TaskType, Optimiser]:
    """Return the optimisers by task type: what is said of all, and then of one."""
    of_all = {_field(name): _read_field(found, name) for name in found.keys if name in _OPTIMISER_NAMES}
    patience = of_all.pop(_PATIENCE, None)
    optimisers = {task_type: replace(one, **of_all) for task_type, one in base.optimisers.items()}
    own: dict[TaskType, dict[str, Any]] = {}
    for name in found.mapping_at("optimisers"):
        if name not in tuple(TaskType):
            raise UnknownName(f"task type of a protocol ({found.where('optimisers', name)})", name, TaskType)
        path = ("optimisers", name)
        _check_names(found, path, _OPTIMISER_NAMES)
        own[TaskType(name)] = {_field(key): _read_field(found, *path, key) for key in found.mapping_at(*path)}
        # Of a kind that the protocol trains as another one, that is where it begins.
        usual = replace(base, optimisers=optimisers).optimiser_of(TaskType(name))
        usual = usual or _first_optimiser(found, name, {**of_all, **own[TaskType(name)]})
        optimisers[TaskType(name)] = replace(usual, **own[TaskType(name)])
    for kind, one in optimisers.items():
        if patience is not None and _has_schedule(one) and _PATIENCE not in own.get(kind, {}):
            optimisers[kind] = replace(one, patience=patience)
    return optimisers


def _has_schedule(optimiser: Optimiser) -> bool:
    return optimiser.schedule != "constant"


def _first_optimiser(found: YamlFile, name: str, given: Mapping[str, Any]) -> Optimiser:
    if "lr" not in given:
        raise BadValue(found.place("optimisers", name), None, "a mapping with at least lr: this one has none elsewhere")
    return Optimiser(**given)


def _field(name: str) -> str:
    return SETTINGS[name].place.removeprefix("optimiser.")


def _read_datasets(found: YamlFile) -> dict[str, Override]:
    return {str(name): _read_override(found, "by_dataset", name) for name in found.mapping_at("by_dataset")}


def _read_override(found: YamlFile, *path: Any) -> Override:
    given = found.mapping_at(*path)
    plain = [field.name for field in fields(Override) if field.name in SETTINGS]
    _check_names(found, path, (*_OPTIMISER_NAMES, *plain, "options", "by_model"))
    values = {name: _read_field(found, *path, name) for name in given if name in plain}
    for name, value in values.items():
        if not value:
            raise BadValue(found.place(*path, name), given[name], "another value: one that is empty changes nothing")
    return Override(
        optimiser={_field(name): _read_field(found, *path, name) for name in given if name in _OPTIMISER_NAMES},
        options=_read_values(found, *path, "options"),
        by_model=_read_models(found, *path),
        **values,
    )


def _settings_of(record: type) -> Iterator[Setting]:
    names = {field.name for field in fields(record)}
    return (row for row in SETTINGS.values() if row.place in names)


_OPTIMISER_NAMES = tuple(name for name, row in SETTINGS.items() if row.place.startswith("optimiser."))
# Settings that a protocol has a field for, by the name of --set.
_FIELD_NAMES = (*(row.name for row in _settings_of(Protocol)),)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError
    return value.strip()


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
        raise TypeError
    return value


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise TypeError
    return float(value)


_ALSO = ("best_validation", "training")


def _parts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or any(part not in _ALSO for part in value):
        raise TypeError
    return tuple(value)


# Key that is no setting of a cell -> how it is read, and what is allowed.
_KEYS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "name": (_text, "a word; the name of the file where none is given"),
    "version": (_whole, "a whole number from 1 upwards"),
    "description": (_text, "a sentence"),
    "like": (PROTOCOLS.get, "the name of a known protocol, as graphnetz or best-val"),
    "epochs": (_whole, "a whole number from 1 upwards"),
    "budget": (_whole, "parameters, a whole number from 1 upwards"),
    "tolerance": (_share, "a number between 0 and 1, by which parameters may differ from the budget"),
    "also": (_parts, f"a list of {' and '.join(_ALSO)}"),
}
