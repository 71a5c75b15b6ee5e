"""The settings of a cell that can be chosen, as a table, and what users say of them.

A row of ``SETTINGS`` says how a setting is called, where it goes, how it is read and what is allowed; whatever is no
row is an option of a model's constructor. What is chosen stands among the hyperparameters of a cell: it is in its
fingerprint, and in its label wherever a table has cells with another value.

Choices are written ``lr=0.01,0.001`` on the command line, ``GAT.heads=4,8`` for one model, and as a mapping in a file
or in Python: ``{"lr": [0.01, 0.001], "GAT": {"heads": [4, 8]}}``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gnz_track.errors import BadValue, UnknownName
from gnz_track.types import CellSettings, ModelRow, Selection, Value

if TYPE_CHECKING:
    from gnz_track.models.building import Options

__all__ = [
    "ALIASES",
    "ELSEWHERE",
    "OWN_SEEDS",
    "SET",
    "SETTINGS",
    "Setting",
    "SettingChoice",
    "apply_settings",
    "check_choices",
    "choices_for",
    "own_names",
    "products",
    "read_choice",
    "read_choices",
    "read_values",
    "rows_of",
    "settle_options",
    "value_at",
]

SET = "--set"
EXAMPLE, SHOW = "gnz run --set lr=0.01,0.001", "gnz run --show-config"
LARGEST_COUNT, WIDEST = 2**31 - 1, 65_536
_FAN_OUTS = re.compile(r"[1-9]\d{0,2}(x[1-9]\d{0,2}){0,8}")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting: its name, what it is, how a value is read (None where it is none), and what is allowed, in words.

    ``place`` is a field of :class:`CellSettings`, ``optimiser.lr`` one of its optimiser; a plan alone reads a setting
    without one. ``blank`` is the word for no value. Where it ``is_shared``, all models of a task have the same value,
    one in a sweep: cells with others would be of other data, or trained for another time.
    """

    name: str
    about: str
    reads: Callable[[object], Value | None]
    allowed: Callable[[], str]
    place: str = ""
    blank: str = ""
    is_shared: bool = False

    def read(self, value: object, *, of: str = "") -> Value:
        """Return a value as one of this setting; ``of`` says whose it is in the error of one that is none."""
        if self.blank and value in (None, "", self.blank):
            return self.blank
        found = self.reads(value)
        if found is None:
            raise BadValue(f"{of}{self.name}", value, self.allowed(), command=SHOW)
        return found


def as_kind(value: object, kind: type) -> Value | None:
    """Return a value as a number, a word, true or false; None where it is none.

    >>> as_kind("1e-3", float), as_kind("8", int), as_kind("8.5", int), as_kind("true", bool)
    (0.001, 8, None, True)
    """
    found: Any = value
    if isinstance(value, str) and kind in _FROM_TEXT:
        try:
            found = _FROM_TEXT[kind](value.strip())
        except (ValueError, KeyError):
            return None
    if kind is float and type(found) is int and abs(found) <= LARGEST_COUNT:
        found = float(found)
    is_fine = type(found) is kind and (kind is not float or math.isfinite(found))
    return found if is_fine else None


_FROM_TEXT: dict[type, Callable[[str], Any]] = {
    int: int,
    float: float,
    bool: lambda text: {"true": True, "false": False}[text.lower()],
}


def _reader(kind: type, allows: Callable[[Any], bool]) -> Callable[[object], Value | None]:
    def read(value: object) -> Value | None:
        found = as_kind(value, kind)
        return found if found is not None and allows(found) else None

    return read


def _whole(name: str, about: str, place: str = "", *, low: int = 1, high: int = LARGEST_COUNT, **more: Any) -> Setting:
    bounds = f"a whole number from {low} to {high}"
    reads = _reader(int, lambda n: low <= n <= high)
    return Setting(name=name, about=about, place=place, reads=reads, allowed=lambda: bounds, **more)


def _number(name: str, about: str, place: str, allows: Callable[[float], bool], allowed: str) -> Setting:
    return Setting(name=name, about=about, place=place, reads=_reader(float, allows), allowed=lambda: allowed)


def _word(name: str, about: str, place: str, words: Callable[[], Iterable[str]], **more: Any) -> Setting:
    """Return a setting that is a name in a table, which is imported where it is asked for."""
    blank = more.get("blank", "")

    def allowed() -> str:
        return ", ".join(filter(None, (blank, *words())))

    reads = _reader(str, lambda one: one in words())
    return Setting(name=name, about=about, place=place, reads=reads, allowed=allowed, **more)


def _schedules() -> Iterable[str]:
    from gnz_track.training.loop import SCHEDULES

    return SCHEDULES


def _losses() -> Iterable[str]:
    from gnz_track.training.losses import LOSSES

    return sorted({name for losses in LOSSES.values() for name in losses if name})


def _scorings() -> Iterable[str]:
    from gnz_track.problems.problem import SCORINGS

    return SCORINGS


def _policies() -> Iterable[str]:
    from gnz_track.datasets.splits.nodes_and_graphs import POLICIES

    return POLICIES


def _features() -> Iterable[str]:
    from gnz_track.problems.inputs import FEATURES

    return FEATURES


def _scales() -> Iterable[str]:
    from gnz_track.datasets.scales import SCALES

    return SCALES


def _encodings() -> str:
    from gnz_track.datasets.encodings import ENCODING_FORMS

    return f"none, {ENCODING_FORMS}"


def _is_encoding(name: str) -> bool:
    from gnz_track.datasets.encodings import parse_encoding

    try:
        return parse_encoding(name) is not None
    except BadValue:
        return False


# What has a seed of its own where one is chosen.
_SEEDED = {
    "init": "of first weights, dropout and the order of batches",
    "split": "of the split",
    "perturbation": "of a perturbation",
}
OWN_SEEDS = tuple(f"{what}_seed" for what in _SEEDED)
_ROWS = (
    _number("lr", "learning rate", "optimiser.lr", lambda x: 0 < x <= 1e3, "a number above 0, at most 1000"),
    _number("weight_decay", "L2 penalty", "optimiser.weight_decay", lambda x: 0 <= x <= 1e3, "a number from 0 to 1000"),
    _whole("batch_size", "examples of a step; 0: all", "optimiser.batch_size", low=0),
    _word("loss", "what training minimises", "optimiser.loss", _losses, blank="usual"),
    _number("clip", "largest norm of the gradient; 0: any", "optimiser.clip", lambda x: x >= 0, "a number from 0"),
    _word("schedule", "of the learning rate", "optimiser.schedule", _schedules),
    _number("factor", "of each fall of the rate", "optimiser.factor", lambda x: 0 < x < 1, "a number between 0 and 1"),
    _whole("patience", "epochs before the rate falls; without a schedule, before the end", "optimiser.patience", low=0),
    _number("min_lr", "rate below which training ends", "optimiser.min_lr", lambda x: x >= 0, "a number from 0"),
    _whole("stop_patience", "epochs without a better validation score before the end; 0: never", "patience", low=0),
    _whole("epochs", "length of training", high=10_000_000, is_shared=True),
    _number("hours", "longest training; 0: any", "hours", lambda x: 0 <= x <= 1e5, "a number from 0 to 100000"),
    _word("selection", "epoch that is scored", "selection", lambda: list(Selection)),
    _word("scoring", "of all examples at once, or mean over batches", "scoring", _scorings, is_shared=True),
    _word("splits", "how parts are drawn", "splits", _policies, is_shared=True),
    _whole("train_size", "examples of the training part", "train_size"),
    *(
        _whole(f"{what}_seed", f"{about}; -1: that of the cell", f"{what}_seed", low=-1)
        for what, about in _SEEDED.items()
    ),
    _word("features", "of nodes that have none", "features", _features),
    _word("scale", "of real features, fitted on training nodes", "scale", _scales, blank="none"),
    Setting(
        name="encoding",
        about="of positions of nodes",
        place="encoding",
        reads=_reader(str, _is_encoding),
        allowed=_encodings,
        blank="none",
    ),
    _whole("hidden_channels", "width of layers", "hidden_channels", high=WIDEST),
    _whole("code_channels", "width of codes of links; 0: that of layers", "code_channels", low=0, high=WIDEST),
    Setting(
        name="neighbours",
        about="drawn of each node for a batch, hop by hop",
        place="neighbours",
        reads=_reader(str, lambda text: bool(_FAN_OUTS.fullmatch(text))),
        allowed=lambda: "all, or a number from 1 to 999 for each of at most 9 hops, as 10x10",
        blank="all",
    ),
    _whole("budget", "parameters, by which a width is found"),
)
SETTINGS: dict[str, Setting] = {row.name: row for row in _ROWS}
# What people call some of them elsewhere.
ALIASES = {
    "learning_rate": "lr",
    "wd": "weight_decay",
    "hidden": "hidden_channels",
    "hidden_dim": "hidden_channels",
    "layers": "n_layers",
    "num_layers": "n_layers",
    "grad_clip": "clip",
    "clip_grad_norm": "clip",
    "split": "splits",
    "normalize_features": "scale",
    "scheduler": "schedule",
}
# What a cell has beside them -> how it is chosen.
ELSEWHERE = {
    "seed": "--seeds 0-4",
    "seeds": "--seeds 0-4",
    "device": "--device cpu",
    "protocol": "--protocol best-val",
    "model": "--models GCN,GAT",
    "models": "--models GCN,GAT",
    "task": "--task cora",
    "task_type": "--task-type node_cls",
    "perturbation": "--perturb empty-graph",
    "keep": "--keep weights",
    "compile": "--compile",
    "amp": "--amp bfloat16",
}
# The schedule beside which a patience ends training.
_CONSTANT = "constant"


def apply_settings(settings: CellSettings, given: Mapping[str, Value], own: Container[str] = ()) -> CellSettings:
    """Return settings with hyperparameters in their places; what has none is an option of the model.

    Without a schedule, ``patience`` is that of early stopping.

    Parameters
    ----------
    settings
        Settings of a cell without them.
    given
        Hyperparameters by name.
    own
        Names that are options of the model, whatever else they mean.
    """
    optimiser: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    options = dict(settings.options)
    for name, value in given.items():
        row = None if name in own else SETTINGS.get(name)
        if row is None:
            options[name] = value
        elif row.place:
            inner = row.place.removeprefix("optimiser.")
            (fields if inner == row.place else optimiser)[inner] = "" if row.blank and value == row.blank else value
    chosen = replace(settings.optimiser, **optimiser)
    if chosen.schedule == _CONSTANT and "patience" in optimiser:
        fields.setdefault("patience", optimiser["patience"])
    if "selection" in fields:
        fields["selection"] = Selection(fields["selection"])
    return replace(settings, optimiser=chosen, options=options, **fields)


def value_at(settings: CellSettings, row: Setting) -> Value:
    """Return the value of a setting of a cell, in the word that chooses it."""
    found: Any = settings
    for part in row.place.split("."):
        found = getattr(found, part)
    if row.name == "patience" and settings.optimiser.schedule == _CONSTANT:
        found = settings.patience
    return str(found) or row.blank if isinstance(found, str) else found


@dataclass(frozen=True, kw_only=True)
class SettingChoice:
    """Values that somebody chose for a setting: of all models and tasks, or of one; ``source`` is where it was said.

    A file may say more than one call needs; elsewhere, what nothing takes is a slip.
    """

    name: str
    values: tuple[Any, ...]
    model: str = ""
    task: str = ""
    source: str = SET
    is_of_file: bool = False
    line: int = 0

    @property
    def key(self) -> str:
        """The name as it is typed."""
        return f"{self.model}.{self.name}" if self.model else self.name

    @property
    def where(self) -> str:
        """Source, task and model, as they stand before the name in an error."""
        place = f"{self.source}, line {self.line}" if self.line else self.source
        of_task = f"{self.task}: " if self.task else ""
        return f"{place}: {of_task}{self.model}." if self.model else f"{place}: {of_task}"

    def concerns(self, model: ModelRow) -> bool:
        """Tell whether it is about a model; a class of somebody's own is known by its name, wherever it lies."""
        return not self.model or model.name in (self.model, self.model.rpartition(":")[2])


# A model of a choice may have options of its own, in parentheses.
_CHOICE = re.compile(r"((?:[^=()]|\([^()]*\))*)=(.*)", re.DOTALL)


def read_choice(text: str, *, source: str = SET) -> SettingChoice:
    """Read ``NAME=VALUE[,VALUE...]`` or ``MODEL.NAME=VALUE[,VALUE...]``.

    >>> read_choice("GAT.heads=4,8")
    SettingChoice(name='heads', values=('4', '8'), model='GAT', task='', source='--set', is_of_file=False, line=0)
    """
    found = _CHOICE.fullmatch(text)
    key, values = found.groups() if found else (text, "")
    parts = tuple(part.strip() for part in values.split(","))
    if not all(parts):
        allowed = "NAME=VALUE, several values by commas, of one model as MODEL.NAME=VALUE"
        raise BadValue(source, text, allowed, command=EXAMPLE)
    return _make_choice(key.strip(), parts, source=source)


def read_choices(
    given: object,
    *,
    source: str = "settings",
    task: str = "",
    is_of_file: bool = False,
    lines: Mapping[tuple[Any, ...], int] | None = None,
) -> tuple[SettingChoice, ...]:
    """Read choices from a mapping: from names to a value or a list of values, and from models to such mappings.

    Parameters
    ----------
    given
        The mapping; None is an empty one.
    source
        Where it was said.
    task
        The one task that it is about.
    is_of_file
        Whether a file says it.
    lines
        Lines of the keys in that file.
    """
    allowed = "a mapping, as {lr: [0.01, 0.001], GAT: {heads: [4, 8]}}"
    found: list[SettingChoice] = []
    if not isinstance(given or {}, Mapping):
        raise BadValue(source, given, allowed)
    for key, value in dict(given or {}).items():  # type: ignore[call-overload]
        if not isinstance(key, str) or not key.strip():
            raise BadValue(f"{source}: a name", key, allowed)
        inner = {f"{key}.{name}": one for name, one in value.items()} if isinstance(value, Mapping) else {key: value}
        for name, one in inner.items():
            values = tuple(one) if isinstance(one, list | tuple) else (one,)
            if not values or any(isinstance(item, Mapping | list | tuple) for item in values):
                raise BadValue(f"{source}: {name}", one, "a value, or a list of values, at least one")
            line = (lines or {}).get((key, name.removeprefix(f"{key}.")) if name != key else (key,), 0)
            found.append(_make_choice(name, values, source=source, task=task, is_of_file=is_of_file, line=line))
    _refuse_repeated(found)
    return tuple(found)


def _make_choice(key: str, values: tuple[Any, ...], *, source: str, **about: Any) -> SettingChoice:
    model, _, name = key.rpartition(".")
    choice = SettingChoice(name=name, values=values, model=model, source=source, **about)
    if not name:
        raise BadValue(source, key, "the name of a setting before =", command=EXAMPLE)
    if not model and name in SETTINGS:
        # Told before anything heavy is imported.
        read_values(choice, SETTINGS[name])
    return choice


def read_values(choice: SettingChoice, row: Setting) -> tuple[Value, ...]:
    """Return the values of a choice as those of a setting, each once."""
    found = tuple(row.read(value, of=choice.where) for value in choice.values)
    if len(set(map(repr, found))) < len(found):
        raise BadValue(choice.where + choice.name, ", ".join(map(str, found)), "each value once")
    if row.is_shared and (choice.model or len(found) > 1):
        allowed = "one value for all models: cells with others are not comparable; train them in a sweep each"
        raise BadValue(choice.where + choice.name, ", ".join(map(str, found)), allowed)
    return found


def _refuse_repeated(choices: Sequence[SettingChoice]) -> None:
    """Refuse what is chosen twice in one place: whether that is a slip or a grid nobody knows."""
    seen = set()
    for choice in choices:
        place = (choice.source, choice.task, choice.key)
        if place in seen:
            raise BadValue(choice.where + choice.name, "chosen twice", "several values by commas", command=EXAMPLE)
        seen.add(place)


def own_names(given: Iterable[str], model: ModelRow) -> frozenset[str]:
    """Return the names among some that are settings of a cell elsewhere, and options of this model's constructor.

    A learning rate and the like are never: they were hyperparameters of training before models had options.
    """
    doubtful = [name for name in given if name in SETTINGS and name not in _ALWAYS_OF_TRAINING]
    return frozenset(doubtful) & frozenset(_options_of(model).names) if doubtful else frozenset()


_ALWAYS_OF_TRAINING = frozenset(
    {"lr", "weight_decay", "batch_size", "patience", "min_lr", "hidden_channels", "encoding"}
)


def choices_for(choices: Sequence[SettingChoice], model: ModelRow, task: str) -> dict[str, SettingChoice]:
    """Return what is chosen for a model on a task, by name.

    What was said later counts more, above all on the command line; of what was said in one place, what is of one model
    or one task counts more.

    Parameters
    ----------
    choices
        All that was chosen, in the order of its sources.
    model, task
        The pair.
    """
    sources = list(dict.fromkeys(choice.source for choice in choices))
    concerned = [one for one in choices if one.concerns(model) and one.task in ("", task)]
    concerned.sort(key=lambda one: (sources.index(one.source), bool(one.model) + bool(one.task)))
    return {one.name: one for one in concerned}


def rows_of(model: ModelRow, names: Iterable[str]) -> dict[str, Setting]:
    """Return the settings of these names that a model has: rows of the table, and options of its constructor."""
    names = list(names)
    own = own_names(names, model)
    options = _options_of(model)
    return {
        name: SETTINGS[name] if name in SETTINGS and name not in own else _row_of_option(model, options, name)
        for name in names
        if name in SETTINGS or name in options.names or options.takes_any
    }


def _options_of(model: ModelRow) -> Options:
    from gnz_track.models.building import options_of

    return options_of(model)


# Kind of a default -> what may be written.
_PLAIN = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}


def _row_of_option(model: ModelRow, options: Options, name: str) -> Setting:
    """Return an option of a constructor as a setting: of the type of its default, and what its class allows."""
    from gnz_track.models.building import load_parts
    from gnz_track.models.options import MOST_COUNTED, Defaults
    from gnz_track.runs.owners import is_ours

    declared = getattr(load_parts(model)[0], "defaults", None)
    option = declared.get(name) if isinstance(declared, Defaults) else None
    default = options.defaults.get(name)
    kind = type(default) if type(default) in _PLAIN else object
    most = MOST_COUNTED if is_ours(model) else LARGEST_COUNT
    said = (option and option.allowed) or _PLAIN.get(kind, "a number, a word, true or false")
    said += f", at most {most}" if kind is int else ""

    def read(value: object) -> Value | None:
        found = (as_kind(value, one) for one in _KINDS.get(kind, _ANY))
        allowed = (one for one in found if one is not None and (option is None or option.allows(one)))
        first = next(allowed, None)
        return None if type(first) is int and abs(first) > most else first

    return Setting(name=name, about=f"option of {model.name}", reads=read, allowed=lambda: said)


# Kind of a default -> kinds of the values that may stand in its place, the first that fits; of others any kind.
_KINDS: dict[type, tuple[type, ...]] = {int: (int, float), float: (float, int), bool: (bool,), str: (str,)}
_ANY = (int, float, bool, str)


def check_choices(choices: Sequence[SettingChoice], models: Sequence[ModelRow]) -> None:
    """Refuse names that nothing has, and values that are none, before any data are looked at.

    Parameters
    ----------
    choices
        All that was chosen.
    models
        Models of the call.
    """
    _refuse_repeated(choices)
    for choice in choices:
        concerned = [model for model in models if choice.concerns(model)]
        if choice.model and not concerned:
            _check_absent(choice, models)
            continue
        having = [rows[choice.name] for model in concerned if choice.name in (rows := rows_of(model, [choice.name]))]
        if not having:
            _refuse_name(choice, concerned)
        for row in having:
            read_values(choice, row)


def settle_options(models: Sequence[ModelRow]) -> list[ModelRow]:
    """Return models with their own options read as settings are; those that a constructor does not have are refused."""
    from gnz_track.models.catalogue import MODELS

    known = MODELS.rows()
    return [model if not model.options or model in known else _settle(model, models) for model in models]


def _settle(model: ModelRow, models: Sequence[ModelRow]) -> ModelRow:
    names = _options_of(model)
    found: dict[str, Value] = {}
    for name, value in model.options.items():
        if name in SETTINGS and name not in names.names:
            allowed = f"options of its constructor; {name} is chosen by --set"
            command = f"gnz run --set {model.name.partition('(')[0]}.{name}={value}"
            raise BadValue(f"{name} of the model {model.name}", value, allowed, command=command)
        row = rows_of(model, [name]).get(name)
        if row is None:
            _refuse_name(SettingChoice(name=name, values=(value,), model=model.name, source="model"), models)
        else:
            found[name] = _row_of_option(model, names, name).read(value, of=f"model {model.name}: ")
    return replace(model, options=found)


def _check_absent(choice: SettingChoice, models: Sequence[ModelRow]) -> None:
    """Refuse a model that the call does not have; a file may hold settings of more models than one call."""
    from gnz_track.models.catalogue import MODELS

    named = [model.name for model in models]
    if choice.model not in MODELS:
        raise UnknownName(f"model of {choice.source}", choice.model, {*named, *MODELS.names()}, command="gnz models")
    if not choice.is_of_file:
        allowed = f"a setting of a model of this call: {', '.join(named)}"
        raise BadValue(choice.where + choice.name, _shown(choice), allowed, command=f"gnz run --models {choice.model}")


def _refuse_name(choice: SettingChoice, models: Sequence[ModelRow]) -> None:
    """Raise what a name without a setting deserves: where it is chosen, who has it, or what it may be a slip of."""
    from gnz_track.models.catalogue import MODELS

    if choice.name in ELSEWHERE:
        allowed = f"no setting of --set: {ELSEWHERE[choice.name].partition(' ')[0]} chooses it"
        raise BadValue(choice.where + choice.name, _shown(choice), allowed, command=f"gnz run {ELSEWHERE[choice.name]}")
    rows = {row.name: row for row in (*MODELS.rows(), *models)}
    having: dict[str, list[str]] = {}
    for row in rows.values():
        for name in _options_of(row).names:
            having.setdefault(name, []).append(row.name)
    name = ALIASES.get(choice.name, choice.name)
    if name == choice.name and name in having:
        called = ", ".join(model.name for model in models)
        allowed = f"an option of {called}; that one is of {', '.join(having[name])}"
        raise BadValue(choice.where + name, _shown(choice), allowed, command=f"gnz run --models {having[name][0]}")
    meant = name if name != choice.name else ""
    raise UnknownName("setting", choice.name, {*SETTINGS, *having}, meant=meant, of=having, command=SHOW)


def _shown(choice: SettingChoice) -> str:
    return ", ".join(map(str, choice.values))


def products(named: Mapping[str, Sequence[Value]]) -> Iterable[dict[str, Value]]:
    """Yield every combination of the values of settings by name."""
    for values in itertools.product(*named.values()):
        yield dict(zip(named, values, strict=True))
