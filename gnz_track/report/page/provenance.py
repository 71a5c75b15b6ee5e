"""Origin of the numbers: data, code, machines and sweeps, and the commands that make them again."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.errors import GnzError
from gnz_track.models.catalogue import MODELS
from gnz_track.registry import is_target
from gnz_track.runs.protocol_files import read_protocol
from gnz_track.seeds import format_seeds
from gnz_track.stats.comparison.choices import Choices
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.user_code.modules import is_ours
from gnz_track.variant_labels import read_changes

__all__ = ["collect_facts", "datasets_of", "write_commands"]

# Column of the results table -> what it tells.
TOLD = {
    "sweep": "sweeps",
    "suite": "suites",
    "protocol": "protocols",
    "version": "version of gnz_track that trained",
    "git_commit": "git commit",
    "environment": "environments (digests)",
    "device": "devices",
    "instructions": "instructions of the processor",
}
# What cuts a sweep down, as a report is told of it -> the flag that does.
PARTS = {"task": "--task", "experiment": "--experiment", "condition": "--where"}
# Choice -> its flag, and how the value is written there.
FLAGS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "alpha": ("--alpha", repr),
    "margin": ("--margin", repr),
    "posthoc": ("--posthoc", str),
    "test": ("--test", str),
    "split_sizes": ("--split-sizes", lambda sizes: ",".join(map(str, sizes))),
}
USUAL = Choices()
MOST_VALUES, MOST_OWN = 12, 20
WIDTH, BUDGET = "hidden_channels", "budget"


def collect_facts(table: pd.DataFrame, config: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """Return (fact, its values) on the origin of all cells of a table; what they do not tell is left out."""
    facts: list[tuple[str, tuple[str, ...]]] = []
    if config.get("store"):
        facts.append(("store", (str(config["store"]),)))
    for column, name in TOLD.items():
        values = distinct(table, column)
        if column == "git_commit":
            values = [_with_changes(table, commit) for commit in values]
        if values:
            facts.append((name, _shorten(values)))
    if "start_time" in table.columns and table["start_time"].notna().any():
        first, last = table["start_time"].min(), table["start_time"].max()
        facts.append(("trained", (f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC",)))
    if "seconds" in table.columns and table["seconds"].notna().any():
        facts.append(("training time", (f"{float(table['seconds'].sum()) / 3600:.3g} wall hours in all cells",)))
    return facts


def datasets_of(table: pd.DataFrame) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return (task, dataset, digests) of each task."""
    if "dataset_digest" not in table.columns:
        return []
    found = []
    for task, rows in table.groupby("task", sort=True):
        digests = distinct(rows, "dataset_digest")
        if digests:
            found.append((str(task), ", ".join(distinct(rows, "dataset")), _shorten(digests)))
    return found


def write_commands(table: pd.DataFrame, config: Mapping[str, Any], choices: Choices) -> list[str]:
    """Return the commands that make the cells, one for each suite, protocol and variant, and the report as asked for.

    Models of somebody's own are named by the path that imports them. What has neither a name nor a path that a command
    knows (made in Python, or with hyperparameters that a protocol gives to some) is trained again from the record of
    one of its runs; so is what a protocol file asked for that is not here, or says something else by now.

    Parameters
    ----------
    table
        Results table.
    config
        Origin of the table.
    choices
        Choices of the comparison.
    """
    if "protocol" not in table.columns or "sweep" not in table.columns:
        return []
    store = str(config.get("store", ""))
    at = ["--store", store] if store else []
    table = table.assign(words=_words_of_settings(table))
    table = table.assign(called=_names_of_models(table), how=_words_of_protocols(table))
    is_named = table["task"].isin(_named_tasks()) & (table["called"] != "") & (table["how"] != "")
    groups = table[is_named].groupby(["suite", "protocol", "words"], sort=False)
    # Cells without a setting come first.
    commands = [
        shlex.join(["gnz", "run", *_name_cells(rows), *json.loads(str(words)), *at])
        for (_, _, words), rows in sorted(groups, key=lambda group: (*group[0][:2], group[0][2] != "[]", group[0][2]))
    ][:MOST_OWN]
    own = table[~is_named & (table["run_id"] != "")].drop_duplicates(["task", "model", "hyperparameters"])
    commands += [shlex.join(["gnz", "reproduce", row.run_id, *at]) for row in own.itertuples()][:MOST_OWN]
    lost = distinct(table[table["how"] == ""], "protocol")
    commands += [
        f"# no file of a protocol here is {label} by its content; the runs have what it said" for label in lost
    ]
    sweep = _sweep(table, config)
    if sweep:
        commands.append(shlex.join(["gnz", "report", "--sweep", sweep, *_part(config), *_flags(choices), *at]))
        commands += [f"# chosen in Python, where no flag is: {text}" for text in [_without_flag(choices)] if text]
    return commands


def _sweep(table: pd.DataFrame, config: Mapping[str, Any]) -> str:
    """Return the one sweep that was asked for, whoever had trained its cells, or whose cells these are."""
    sweeps = distinct(table, "sweep")
    if config.get("sweep") and not config.get("merged"):
        return str(config["sweep"])
    return sweeps[0] if len(sweeps) == 1 else ""


def _part(config: Mapping[str, Any]) -> Iterator[str]:
    """Return what cut the cells of a sweep down to those of a report."""
    for name, flag in PARTS.items():
        yield from (flag, str(config[name])) if config.get(name) else ()


def _flags(choices: Choices) -> Iterator[str]:
    """Return the flags by which a command chooses what the report chose."""
    for name, (flag, write) in FLAGS.items():
        value = getattr(choices, name)
        if value != getattr(USUAL, name) and not isinstance(value, Mapping):
            yield from (flag, write(value))


def _without_flag(choices: Choices) -> str:
    """Return the choices that no flag can say."""
    values = {field.name: getattr(choices, field.name) for field in dataclasses.fields(choices)}
    return ", ".join(
        f"{name}={dict(value) if isinstance(value, Mapping) else value!r}"
        for name, value in values.items()
        if value != getattr(USUAL, name) and (name not in FLAGS or isinstance(value, Mapping))
    )


def _named_tasks() -> set[str]:
    """Return the tasks that another process knows too: those of the catalogue, not those made in this one."""
    return {task.name for task in TASKS.rows() if task.loader is None and task.dataset in DATASETS}


def _names_of_models(table: pd.DataFrame) -> list[str]:
    """Return how ``--models`` calls the model of each row; nothing where no flag makes that very cell."""
    named = {model.name for model in MODELS.rows() if is_ours(model.target)}
    blank = [""] * len(table)
    sources = table["model_source"] if "model_source" in table.columns else blank
    rows = zip(table["model"], sources, table["words"], strict=True)
    return ["" if not words else model if model in named else _path_of(model, source) for model, source, words in rows]


def _words_of_settings(table: pd.DataFrame) -> list[str]:
    """Return, as JSON, the words by which a call gives each row its hyperparameters; nothing where none do."""
    changes = table["hyperparameters"] if "hyperparameters" in table.columns else ["{}"] * len(table)
    pairs = list(zip(changes, table["protocol"], strict=True))
    written = {pair: _write_settings(*pair) for pair in set(pairs)}
    return [written[pair] for pair in pairs]


def _words_of_protocols(table: pd.DataFrame) -> list[str]:
    """Return how ``--protocol`` calls the protocol of each row; nothing where no name and no file here is that one."""
    labels = {str(label) for label in table["protocol"]}
    named = {row.label: row.name for row in PROTOCOLS.rows()}
    files = _protocol_files() if labels - set(named) else {}
    return [named.get(label) or files.get(label, "") for label in table["protocol"].map(str)]


def _protocol_files() -> dict[str, str]:
    """Return the protocols of YAML files of the working folder, and of its folder ``protocols``, by their label."""
    found: dict[str, str] = {}
    for file in sorted(file for place in (Path(), Path("protocols")) for file in place.glob("*.y*ml")):
        with contextlib.suppress(GnzError, OSError):
            # Any other YAML file may lie there too.
            found.setdefault(read_protocol(file).label, f"./{file}")
    return found


def _path_of(model: str, source: str) -> str:
    """Return the import path by which a class of somebody's own gets the name that it has; nothing where none does."""
    is_of_class = is_target(source) and source.rpartition(":")[2] == model
    return source if is_of_class else ""


def _write_settings(hyperparameters: str, protocol: str) -> str:
    """Return the words of --set that give hyperparameters, as JSON; nothing where these are not all that was given."""
    changed = read_changes(hyperparameters)
    known = {row.label: row for row in PROTOCOLS.rows()}.get(protocol)
    if changed is None:
        return ""
    if known is not None and known.budget > 0:
        # A protocol gives widths by itself, and other hyperparameters to some models and datasets.
        return "[]" if set(changed) <= {WIDTH} else ""
    chosen = {name: value for name, value in changed.items() if name != WIDTH or BUDGET not in changed}
    is_sayable = known is not None and not (known.by_model or known.options or known.by_dataset)
    if chosen and (not is_sayable or any("," in str(value) for value in chosen.values())):
        return ""
    return json.dumps([word for name, value in chosen.items() for word in _write_choice(name, value)])


def _write_choice(name: str, value: object) -> tuple[str, ...]:
    """Return the words that choose a hyperparameter; what is asked of Torch has options of its own."""
    own = {"compile": ("--compile",), "amp": ("--amp", str(value))}
    return own.get(name, ("--set", f"{name}={value}"))


def distinct(table: pd.DataFrame, column: str) -> list[str]:
    """Return the values of a column, sorted, nothing for one that is not there."""
    if column not in table.columns:
        return []
    return sorted({str(value) for value in table[column].dropna()} - {"", "none"})


def _name_cells(rows: pd.DataFrame) -> Iterator[str]:
    tasks, models = distinct(rows, "task"), distinct(rows, "called")
    yield from ("--task", ",".join(tasks), "--models", ",".join(models))
    yield from ("--seeds", format_seeds(sorted({int(seed) for seed in rows["seed"].dropna()})))
    yield from ("--protocol", str(rows["how"].iloc[0]))
    # Where they differ, each task had its own number.
    epochs = distinct(rows, "epochs")
    yield from ("--epochs", epochs[0]) if len(epochs) == 1 else ()


def _with_changes(table: pd.DataFrame, commit: str) -> str:
    rows = table[table["git_commit"] == commit]
    is_dirty = "git_dirty" in table.columns and (rows["git_dirty"] == "true").any()
    return f"{commit} with changes that were not committed" if is_dirty else commit


def _shorten(values: Iterable[str]) -> tuple[str, ...]:
    listed = list(values)
    more = [f"and {len(listed) - MOST_VALUES} more"] if len(listed) > MOST_VALUES else []
    return (*listed[:MOST_VALUES], *more)
