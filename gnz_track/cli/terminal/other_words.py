"""Words that users of other tools type first: what says the same here.

An option, a command or a word of a call that does not exist here is looked up in these tables, and the error says what
to type. Nothing of it is carried out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["say_here", "setting_called", "value_of"]

VALUE = "VALUE"


def _seeds(value: str) -> str:
    return f"--seeds 0-{int(value) - 1}" if value.isdecimal() and 0 < int(value) < 100_000 else "--seeds 0-9"


def _as(option: str, usual: str = VALUE) -> Callable[[str], str]:
    return lambda value: f"{option} {usual if value == VALUE else shlex.quote(value)}"


def _device(value: str) -> str:
    return f"--device cuda:{value}" if value.isdecimal() else "--device cuda"


def _stopping(value: str) -> str:
    return f"--set selection=best_validation --set stop_patience={value if value.isdecimal() else 50}"


def _grid(value: str) -> str:
    return (_say_word(value) if "=" in value else "") or "--set NAME=VALUE,VALUE"


# What says it here -> the options that say it elsewhere: in PyKEEN, GraphGym, Hydra, benchopt and others.
_OPTIONS: tuple[tuple[Callable[[str], str], str], ...] = (
    (_as("--task"), "-d -t --dataset --datasets --data --tasks --benchmark"),
    (_as("--models"), "-s --solver --solvers --algorithm --arch --network"),
    (lambda value: _grid(value) if "=" in value else _as("--models")(value), "-m"),
    (_as("--seeds"), "--seed --random-seed --random_state"),
    (_seeds, "-r --repeat --repeats --n-repetitions --repetitions --n-runs --runs --num-seeds --replicates"),
    (_as("--config", "FILE.yaml"), "-c --cfg --config-name --config-path --config-file"),
    (_grid, "--grid --multirun --sweep-params --override --overrides --opts --hparams"),
    (_as("--tune"), "--n-trials --num-trials --hpo --optuna"),
    (_as("--jobs"), "-j --n-jobs --workers --num-workers --n-workers --parallel"),
    (_as("--epochs"), "-e --max-epochs --num-epochs --n-epochs --max-epoch"),
    (_device, "-g --gpu --gpus --cuda --use-cuda --accelerator"),
    (_stopping, "--early-stopping --early-stop --stopper"),
    (_as("--store", "FILE"), "-o --output --output-dir --out-dir --directory --logdir --log-dir"),
    (lambda _: "--show-config", "--info --print-config --resolve"),
    (lambda _: "--fresh", "-f --force --force-solver --no-cache --overwrite"),
    (lambda _: "--dry-run", "-n --dry --plan"),
)
# What says it here -> the commands that say it elsewhere.
_COMMANDS = (
    ("gnz run", "train fit pipeline benchmark bench experiment experiments exec launch start resume main"),
    ("gnz tune", "hpo optimize optimise search ablation sweep hyperopt tuning"),
    ("gnz report", "plot plots results summary evaluate eval figures publish"),
    ("gnz data get", "install download fetch prepare"),
    ("gnz data list", "datasets list-datasets"),
    ("gnz tasks", "list benchmarks suites"),
    ("gnz doctor", "info sys-info env version check-install"),
    ("gnz ls", "status history runs show"),
    ("gnz gc", "clean cleanup"),
    ("gnz ui", "view serve dashboard mlflow"),
)
# Keys of a word like key=value -> the option that takes its value.
_KEYS = {
    **dict.fromkeys(("model", "models", "solver", "arch", "model.name", "gnn"), "--models"),
    **dict.fromkeys(("dataset", "datasets", "data", "task", "tasks", "dataset.name"), "--task"),
    **dict.fromkeys(("seed", "seeds"), "--seeds"),
    **{name: f"--{name}" for name in ("protocol", "device", "epochs", "jobs", "store", "suite", "budget", "encoding")},
    **dict.fromkeys(("max_epoch", "max_epochs", "optim.max_epoch", "trainer.max_epochs", "n_epochs"), "--epochs"),
}


def say_here(said: str, command: str, options: Iterable[str], words: Sequence[str]) -> str:
    """Return what to type in place of what a call does not know; nothing where that is not known either.

    Parameters
    ----------
    said
        What is wrong with the call, as the parser says it.
    command
        The command, as ``gnz run``.
    options
        Options that it has.
    words
        Words of the call.
    """
    from gnz_track.store.address import mask

    known = frozenset(options)
    if found := re.match(r"No such command '([^']+)'", said):
        return next((ours for ours, theirs in _COMMANDS if found[1] in theirs.split()), "")
    if not re.match(r"No such option|Got unexpected extra argument", said):
        return ""
    # Without the names of the command itself.
    parts = list(_say_all(list(words)[len(command.split()) - 1 :], known))
    needed = {word.partition("=")[0] for part in parts for word in part.split() if word.startswith("-")}
    return mask(f"{command} {' '.join(parts)}") if parts and all(parts) and needed <= known else ""


def _say_all(words: list[str], known: frozenset[str]) -> Iterator[str]:
    """Yield the words of a call as they are said here; what is known stays as it is, what has no word is empty."""
    is_value = False
    for n, word in enumerate(words):
        option, equals, _ = word.partition("=")
        if is_value:
            is_value = False
        elif option in known:
            # What follows an option is its value, or another option where it is a flag.
            is_value = not equals and n + 1 < len(words) and not words[n + 1].startswith("-")
            yield shlex.quote(word) + (f" {shlex.quote(words[n + 1])}" if is_value else "")
        elif word.startswith("-"):
            ours = next((ours for ours, theirs in _OPTIONS if option in theirs.split()), None)
            value = value_of(option, words[n:])
            is_value = not equals and value != VALUE
            name = setting_called(option.lstrip("-").replace("-", "_"))
            yield f"--set {name}={shlex.quote(value)}" if ours is None and name else ours(value) if ours else ""
        else:
            yield _say_word(word)


def _say_word(word: str) -> str:
    """Return the option for ``key=value``, as Hydra and GraphGym take it, or for the bare name of a model or a task."""
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.models.catalogue import MODELS

    key, equals, value = word.lstrip("+").partition("=")
    if not equals:
        places = (("--models", word in MODELS), ("--task", word in TASKS))
        return next((f"{option} {shlex.quote(word)}" for option, is_one in places if is_one), "")
    if key.lower() in _KEYS:
        return f"{_KEYS[key.lower()]} {shlex.quote(value)}"
    name = setting_called(key.rpartition(".")[2])
    return f"--set {shlex.quote(f'{name}={value}')}" if name else ""


def setting_called(name: str) -> str:
    """Return the setting of a name, or what it is an alias of; nothing where there is none."""
    from gnz_track.runs.settings import ALIASES, SETTINGS

    name = ALIASES.get(name, name)
    if name in SETTINGS or not name:
        return name
    from gnz_track.models.building import options_of
    from gnz_track.models.catalogue import MODELS

    return name if any(name in options_of(row).names for row in MODELS.rows()) else ""


def value_of(option: str, args: list[str]) -> str:
    """Return the value that was typed behind an option, in the same word or in the next one."""
    for word, following in zip(args, [*args[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else "VALUE" if not following or following.startswith("--") else following
    return "VALUE"
