"""A starter: a folder with a benchmark of one's own, which runs as it is."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import yaml

from gnz_track.errors import BadValue
from gnz_track.types import Task

__all__ = ["OWN_TASK", "start_project"]

# The task of the starter's own module, and what stands in place of a dot, by which packages would lose files.
OWN_TASK, OWN_EPOCHS = "three_rings", 40
DOT = "dot_"
MARK = re.compile("@[A-Z_]+@")
NO_GIT = "    no_scm = true\n"
# What a project that tunes has more than others, by the place where it stands.
_TUNING = {
    "@TUNE_PARAM@": "        - tune\n",
    "@TUNE_DEP@": "        - searches/${key}.jsonl\n",
    "@TUNE_REPORT@": "      - searches\n",
    "@TUNE_STAGE@": """\
  tune:
    foreach: ${tasks}
    do:
      desc: Search hyperparameters by validation alone, as far as it is not done, and write what was found.
      cmd: gnz stage tune ${key}
      deps:
        - bench.py
        - data/${key}
      params:
        - tasks.${key}
        - amp
        - compile
        - device
        - hidden_channels
        - models
        - modules
        - protocol
        - seeds
        - settings
        - tune
      outs:
        - searches/${key}.jsonl

""",
}
# What a project that audits its data has more.
_AUDITING = {
    "@QUALITY_REPORT@": "      - quality\n",
    "@QUALITY_STAGE@": """\
  quality:
    foreach: ${tasks}
    do:
      desc: Measure without training whether the data of a task are worth it, and write the audit and its page.
      cmd: gnz stage quality ${key}
      deps:
        - bench.py
        - data/${key}
      params:
        - modules
        - quality
        - seeds
      outs:
        - quality/${key}

""",
}


def start_project(
    folder: Path, *, tasks: Sequence[Task], has_git: bool, n_trials: int = 0, audits: bool = False
) -> list[Path]:
    """Write a starter into a new folder, and return its files.

    Parameters
    ----------
    folder
        A new or empty folder.
    tasks
        Tasks beside its own.
    has_git
        Whether it is in Git; without, DVC is told so.
    n_trials
        Trials of every model in a stage that tunes; 0 for no such stage.
    audits
        Whether a stage audits each dataset.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        found = "it holds files already" if folder.is_dir() else "it is a file"
        raise BadValue("the folder", f"{folder} ({found})", "a new one, or one that is empty", command="gnz init NAME")
    lines = {OWN_TASK: OWN_EPOCHS, **{task.name: task.epochs for task in tasks}}
    if n_trials < 0:
        raise BadValue("the trials of a search", n_trials, "a whole number from 1", command="gnz init NAME --tune 30")
    # Unlike Path.resolve, this leaves a link that leads to itself to whoever opens it.
    called = os.path.basename(os.path.realpath(folder))  # noqa: PTH119
    words = {
        **{word: text if n_trials else "" for word, text in _TUNING.items()},
        **{word: text if audits else "" for word, text in _AUDITING.items()},
        "@QUALITY@": "true" if audits else "false",
        "@TUNE@": f"{{trials: {n_trials}, kind: per-task, sampler: tpe}}" if n_trials else "null",
        "@NAME@": called,
        "@SUITE@": _as_yaml(called),
        "@TASKS@": "".join(f"  {name}: {{epochs: {epochs}}}\n" for name, epochs in lines.items()),
    }
    written = []
    for name, text in _templates(words):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + ("" if has_git or name != ".dvc/config" else NO_GIT), encoding="utf-8")
        written.append(path)
    return sorted(written)


def _as_yaml(name: str) -> str:
    """Return a name as a text of YAML, in quotes unless no version of it could read a number or anything else there."""
    is_plain = re.fullmatch(r"[A-Za-z][\w-]*", name) and yaml.safe_load(name) == name
    quoted: str = yaml.safe_dump(name, default_style='"', allow_unicode=True, width=math.inf)
    return name if is_plain else quoted.strip()


def _templates(words: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the path below the folder and the text of every file of the starter."""
    for place, name in _walk(files("gnz_track.pipeline") / "starter", ""):
        # All at once: what a folder is called may look like one of the words.
        yield name, MARK.sub(lambda found: words.get(found.group(), found.group()), place.read_text("utf-8"))


def _walk(folder: Traversable, before: str) -> Iterator[tuple[Traversable, str]]:
    for place in folder.iterdir():
        if place.name.startswith("__"):
            continue
        name = before + ("." + place.name.removeprefix(DOT) if place.name.startswith(DOT) else place.name)
        if place.is_dir():
            yield from _walk(place, f"{name}/")
        else:
            yield place, name
