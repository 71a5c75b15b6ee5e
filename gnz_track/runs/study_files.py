"""Studies as YAML files: factors and their levels, crossed on tasks, models and seeds.

A factor is a setting by the name of ``--set``, its levels are values of it, and one of them is the reference that the
others are held against. All combinations of levels are trained, as any grid of settings is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gnz_track.errors import BadValue, UnknownName
from gnz_track.runs.settings import ALIASES, SETTINGS, SettingChoice, read_choices, read_values, rows_of
from gnz_track.seeds import format_seeds, parse_seeds
from gnz_track.text import split_names
from gnz_track.types import ModelRow, Value
from gnz_track.yaml_files import YamlFile, read_yaml

__all__ = [
    "COMPONENTS",
    "SIZES",
    "FactorStudy",
    "find_study",
    "is_shipped",
    "list_studies",
    "read_levels",
    "read_study",
]

FULL, TINY = "full", "tiny"
EFFECTS, COMPONENTS = "effects", "components"
# What a study asks of its factors -> what it is.
ANALYSES = {
    EFFECTS: "what each level does against the reference of its factor",
    COMPONENTS: "how much of the spread of scores comes from each factor, whose levels are drawn as seeds are",
}
# Size -> what it is.
SIZES = {FULL: "all that the study asks", TINY: "what a try in minutes has otherwise"}
_SHIPPED = Path(__file__).with_name("studies")
_SUFFIXES = (".yaml", ".yml")
_EXAMPLE = "{tasks: [cycles_tiny], models: [GIN], seeds: 0-4, factors: {encoding: [none, lap8]}}"
_LIST = "gnz study"


@dataclass(frozen=True, kw_only=True)
class FactorStudy:
    """A study of one size; of each factor the first value is the reference.

    ``analysis`` says what is asked of the factors: effects of levels, or components of the spread of scores.
    ``perturb`` is a perturbation of all graphs. ``factors`` and ``settings`` are choices as ``--set`` makes them: the
    first have several values, of which all combinations are trained, and the latter one.
    """

    name: str
    description: str
    size: str
    tasks: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    protocol: str
    epochs: int | None
    analysis: str
    perturb: str
    factors: tuple[SettingChoice, ...]
    settings: tuple[SettingChoice, ...]

    @property
    def n_combinations(self) -> int:
        """Number of combinations of levels."""
        found = 1
        for factor in self.factors:
            found *= len(factor.values)
        return found

    @property
    def written_seeds(self) -> str:
        """Seeds as options write them."""
        return format_seeds(self.seeds)

    @property
    def choices(self) -> list[SettingChoice]:
        """All that the study chooses."""
        return [*self.settings, *self.factors]


def list_studies() -> list[str]:
    """Return the names of the studies that come with the package."""
    return sorted(file.stem for file in _SHIPPED.glob("*.yaml"))


def is_shipped(name: str) -> bool:
    """Tell the name of a study that comes with the package from a file."""
    return name in list_studies()


def find_study(name: str, *, size: str = FULL) -> FactorStudy:
    """Return the study of a name, or of a file, in a size."""
    if is_shipped(name):
        return read_study(_SHIPPED / f"{name}.yaml", size=size)
    if name.endswith(_SUFFIXES) or Path(name).is_file():
        return read_study(name, size=size)
    raise UnknownName("study", name, list_studies(), command=f"{_LIST}, or {_LIST} ./FILE.yaml")


def read_study(file: str | Path, *, size: str = FULL) -> FactorStudy:
    """Read a study from a YAML file; a slip is told with file, line and key."""
    if size not in SIZES:
        raise UnknownName("size of a study", size, SIZES)
    found = read_yaml(file, what="the file of a study", example=_EXAMPLE, command=_LIST)
    _check_keys(found, (), (*_KEYS, *_MAPPINGS, TINY))
    small = found.mapping_at(TINY)
    _check_keys(found, (TINY,), (*_SIZED, *_MAPPINGS))
    if size == TINY and not small:
        raise BadValue(
            found.place(TINY), None, f"a mapping of what is otherwise at that size, as {{{TINY}: {{seeds: 0-2}}}}"
        )
    # A slip is told whichever size is asked for.
    sizes = {FULL: _make(found, FULL), **({TINY: _make(found, TINY)} if small else {})}
    return sizes[size]


def _make(found: YamlFile, size: str) -> FactorStudy:
    """Return the study that a file holds in a size: what the size does not say is as in the whole study."""
    path = (TINY,) if size == TINY else ()
    own = found.mapping_at(*path) if path else {}
    said = {key: _read(found, *path, key) if key in own else _read(found, key) for key in _KEYS}
    return FactorStudy(
        size=size,
        **{**said, "name": said["name"] or Path(found.name).stem},
        factors=_read_factors(found, path),
        settings=_read_settings(found, path),
    )


def read_levels(study: FactorStudy, models: Sequence[ModelRow]) -> dict[str, tuple[Value, ...]]:
    """Return the levels of each factor as cells have them, the reference first; what no model has is refused.

    Parameters
    ----------
    study
        The study.
    models
        Its models.
    """
    found: dict[str, tuple[Value, ...]] = {}
    for choice in study.choices:
        rows = [row for model in models if choice.concerns(model) for row in rows_of(model, [choice.name]).values()]
        if not rows:
            _refuse_name(choice, models)
        found[choice.name] = [read_values(choice, row) for row in rows][-1]
    return {factor.name: found[factor.name] for factor in study.factors}


def _refuse_name(choice: SettingChoice, models: Sequence[ModelRow]) -> NoReturn:
    from gnz_track.models.building import options_of

    if choice.model and not any(map(choice.concerns, models)):
        raise UnknownName(f"model of the study ({choice.where})", choice.model, [model.name for model in models])
    known = {*SETTINGS, *(name for model in models for name in options_of(model).names)}
    meant = ALIASES.get(choice.name, "")
    kind = f"setting of the study ({choice.where.removesuffix(': ')})"
    raise UnknownName(kind, choice.name, known, meant=meant, command="gnz run --show-config")


def _read_factors(found: YamlFile, path: tuple[str, ...]) -> tuple[SettingChoice, ...]:
    whole = dict(_factors_at(found, ()))
    if not whole:
        raise BadValue(found.place("factors"), found.keys.get("factors"), f"at least one factor, as in {_EXAMPLE}")
    sized = dict(_factors_at(found, path)) if path else {}
    for name in sized:
        if name not in whole:
            raise UnknownName(f"factor of the study ({found.where(*path, 'factors', name)})", name, whole)
    return tuple({**whole, **sized}.values())


def _factors_at(found: YamlFile, path: tuple[str, ...]) -> Iterator[tuple[str, SettingChoice]]:
    """Yield the factors at a place of the file by name, each with its reference first."""
    path = (*path, "factors")
    levels = {name: _levels_at(found, (*path, name)) for name in found.mapping_at(*path)}
    for choice in read_choices(levels, source=found.name, lines=found.below(*path)):
        yield choice.name, choice


def _levels_at(found: YamlFile, path: tuple[str, ...]) -> list[Any]:
    """Return the levels of a factor, the reference first; it is the first one where none is named."""
    said, allowed = found.at(*path), "at least two levels, as [none, lap8] or {levels: [lap8, none], reference: none}"
    if not isinstance(path[-1], str) or "." in path[-1]:
        raise BadValue(found.place(*path), path[-1], "the name of a setting, of all models")
    given = said.get("levels") if isinstance(said, Mapping) else said
    if not isinstance(given, list) or len(given) < 2 or any(isinstance(one, list | dict) for one in given):
        raise BadValue(found.place(*path), given, allowed)
    levels = ["none" if one is None else one for one in given]
    if not isinstance(said, Mapping):
        return levels
    _check_keys(found, path, ("levels", "reference"))
    reference = "none" if said.get("reference", given[0]) is None else said.get("reference", levels[0])
    if not any(type(one) is type(reference) and one == reference for one in levels):
        raise BadValue(found.place(*path, "reference"), reference, f"one of the levels: {', '.join(map(str, levels))}")
    return [reference, *(one for one in levels if one is not reference and one != reference)]


def _read_settings(found: YamlFile, path: tuple[str, ...]) -> tuple[SettingChoice, ...]:
    """Return the settings of all cells: those of the size before those of the whole study."""
    chosen: dict[tuple[str, str], SettingChoice] = {}
    for place in dict.fromkeys([("settings",), (*path, "settings")]):
        said = found.mapping_at(*place)
        for choice in read_choices(said, source=f"{found.name}: settings", lines=found.below(*place)):
            if len(choice.values) > 1:
                raise BadValue(found.place(*place, choice.key), list(choice.values), "one value; several are a factor")
            if choice.name in found.mapping_at("factors"):
                raise BadValue(found.place(*place, choice.key), choice.values[0], "a setting that is no factor")
            chosen[choice.model, choice.name] = choice
    return tuple(chosen.values())


def _read(found: YamlFile, *path: str) -> Any:
    read, allowed = _KEYS[path[-1]]
    return found.read_at(*path, read=read, allowed=allowed)


def _check_keys(found: YamlFile, path: tuple[str, ...], known: Sequence[str]) -> None:
    found.check_keys(*path, kind="key of a study", known=known, command=_LIST)


def _text(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return " ".join((value or "").split())


def _folder_name(value: Any) -> str:
    """Return a name that may be that of a folder; nothing where none is given."""
    text = _text(value)
    if text and not text.replace("-", "").replace("_", "").isalnum():
        raise ValueError
    return text


def _names(value: Any) -> tuple[str, ...]:
    given = split_names(value) if isinstance(value, str) else value
    if not isinstance(given, list) or not given or not all(isinstance(one, str) and one.strip() for one in given):
        raise TypeError
    if len(set(given)) < len(given):
        raise ValueError
    return tuple(given)


def _seeds(value: Any) -> tuple[int, ...]:
    """Return seeds as options write them, or from a list of numbers."""
    if value is None or isinstance(value, bool):
        raise TypeError
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return parse_seeds(text)


def _epochs(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 10**7):
        raise TypeError
    return value


def _analysis(value: Any) -> str:
    text = _text(value) or EFFECTS
    if text not in ANALYSES:
        raise ValueError
    return text


# Key -> how it is read, and what is allowed.
_KEYS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "name": (_folder_name, "a word of letters, digits and dashes; the name of the file where none is given"),
    "description": (_text, "a sentence"),
    "tasks": (_names, "a list of tasks, each once, as [cycles_tiny]; see gnz tasks"),
    "models": (_names, "a list of models, each once, as [GCN, GIN]; see gnz models"),
    "seeds": (_seeds, "seeds such as 0-4, or a list of them"),
    "protocol": (lambda value: _text(value) or "graphnetz", "the name of a protocol, or a YAML file of one"),
    "epochs": (_epochs, "a whole number from 1 upwards; without one that of each task"),
    "analysis": (_analysis, " or ".join(ANALYSES)),
    "perturb": (_text, "the name of a perturbation of all graphs, as random-graph; see gnz audit"),
}
_MAPPINGS = ("factors", "settings")
# What a size may have otherwise.
_SIZED = ("tasks", "models", "seeds", "protocol", "epochs")
