"""Data of one's own: how files are read wherever a command takes one, ``gnz data add`` and ``gnz data remove``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnz_track.cli.terminal.output import say
from gnz_track.errors import BadValue
from gnz_track.text import split_names
from gnz_track.types import TaskType

__all__ = ["Directed", "Ignore", "Label", "Unlabelled", "add_own", "read_flags"]

LABEL_HELP = "Column or attribute of a file's labels; several labels of each by commas."
Label = Annotated[str, typer.Option(help=LABEL_HELP)]
Ignore = Annotated[str, typer.Option(help="Columns of a file that are no features, by commas.")]
Directed = Annotated[bool, typer.Option("--directed", help="Edges of tables have a direction.")]
Unlabelled = Annotated[bool, typer.Option("--unlabelled", help="Some labels of a file may be missing.")]

FILE_HELP = "GraphML or GML, a table of edges, a folder with edges.csv, nodes.csv, graphs.csv, or frozen data."
EXAMPLES = """
[bold]Examples[/bold]

  gnz data add club.graphml --name clubs --label club

  gnz data add tables/ --name shops --label sold --ignore address,owner --licence CC-BY-4.0

  gnz run --task clubs --models GCN,MLP
"""


def read_flags(label: str, ignore: str, directed: bool, unlabelled: bool) -> dict[str, Any]:  # noqa: FBT001
    """Return what was said of how files are read, as options of :func:`read_tables`; nothing of what was not.

    Parameters
    ----------
    label, ignore, directed, unlabelled
        Values of the options of these names.
    """
    labels = tuple(split_names(label))
    given = {
        "label": labels if len(labels) > 1 else "".join(labels),
        "ignore": tuple(split_names(ignore)),
        "is_directed": directed,
        "allow_unlabelled": unlabelled,
    }
    return {name: value for name, value in given.items() if value}


def add_own(group: typer.Typer) -> None:
    """Add these commands."""
    group.command("add", epilog=EXAMPLES)(_add)
    group.command("remove", epilog="[bold]Example[/bold]  gnz data remove clubs")(_remove)


def _add(  # noqa: PLR0913  (one parameter per flag)
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    *,
    name: Annotated[str, typer.Option(help="What it is called from now on.")],
    label: Label = "",
    task_type: Annotated[str, typer.Option(help="What is asked; by default what the labels say, links without.")] = "",
    ignore: Ignore = "",
    directed: Directed = False,
    unlabelled: Unlabelled = False,
    epochs: Annotated[int, typer.Option(help="Usual length of training.", min=1)] = 30,
    metric: Annotated[str, typer.Option(help="In place of the usual one of the task type.")] = "",
    source: Annotated[str, typer.Option(help="Where the data come from.")] = "given by the user",
    licence: Annotated[str, typer.Option(help="Of the data.")] = "not stated",
    citation: Annotated[str, typer.Option(help="What to cite.")] = "not stated",
    replace: Annotated[bool, typer.Option("--replace", help="In place of what has this name.")] = False,
) -> None:
    """Copy a file or folder of graphs, freeze it, and know it by a name in every later command on this machine."""
    from dataclasses import replace as change

    from gnz_track.datasets.own.added import AddedDataset, keep
    from gnz_track.datasets.own.files import pose, read_own
    from gnz_track.training.metrics import METRICS

    if not name or name != name.strip() or "," in name or ":" in name:
        raise BadValue("--name", name, "a name without commas and colons", command="gnz data add FILE --name clubs")
    if metric:
        METRICS.get(metric)
    path = file.expanduser().absolute()
    one = AddedDataset(
        name=name,
        task_type=TaskType(task_type) if task_type else TaskType.link_pred,
        label=label,
        ignore=tuple(split_names(ignore)),
        is_directed=directed,
        allow_unlabelled=unlabelled,
        epochs=epochs,
        metric=metric,
        source=source,
        licence=licence,
        citation=citation,
    )
    asked = [one.task_type] if task_type else []
    kept = keep(change(one, task_type=pose(file.name, read_own(path, **one.reading), asked)), path, replaces=replace)
    say(f"{name} is known as a task, {kept.task_type}, with data of digest {kept.checksum}")
    say(f"look for faults: gnz data check {name}; train: gnz run --task {name}")


def _remove(name: Annotated[str, typer.Argument(help="A dataset that was added.")]) -> None:
    """Forget a dataset that was added, with the copies of its files; its past runs stay."""
    from gnz_track.datasets.own.added import remove

    remove(name)
    say(f"{name} is forgotten")
