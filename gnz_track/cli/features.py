"""``gnz features``: a graph as numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.terminal.output import hand_over, say
from gnz_track.errors import BadValue

if TYPE_CHECKING:
    from gnz_track.selection.graph_input import OpenedGraph

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz features edges.txt

  gnz features cora --set task

  gnz features cora --set task --whole

  gnz features network.graphml --set regular_graphlets --json > features.json
"""
GRAPH_HELP = "A file (edge list, .csv, .npz, .mtx, .graphml, .gml; also .gz), or a task or dataset by name."
SET_HELP = "regular, graphlets, compact, tiny, regular_graphlets or task."


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("features", epilog=EXAMPLES)(_features)


def _features(
    graph: Annotated[str, typer.Argument(help=GRAPH_HELP)],
    *,
    name: Annotated[str, typer.Option("--set", help=SET_HELP)] = "compact",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Of a task too, what it keeps for tests included.")] = False,
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
) -> None:
    """Compute named features of a graph: directions are dropped, repeated edges count once.

    A task is described as recommendations see it: without the labels and links that seed 0 keeps for tests.
    """
    if as_json and as_csv:
        raise BadValue("form of output", "--json --csv", "one of them")
    # A slip in a name is told before anything is read, and before torch is imported, which takes seconds.
    from gnz_track.selection.features.feature_sets import FEATURE_SETS
    from gnz_track.selection.graph_names import check_graph_name

    FEATURE_SETS.get(name)
    check_graph_name(graph)

    from gnz_track.cli.terminal.output import choose_home
    from gnz_track.selection.graph_input import open_graph, view_whole

    opened = open_graph(graph, home=choose_home(home), mirror=mirror)
    opened = view_whole(opened) if whole else opened
    if opened.visible is not None and opened.visible.words:
        say(f"note: {opened.name} is described {opened.visible.words}; all of it: --whole", err=True)
    found = _compute(opened, name)
    if as_json:
        import json

        label = FEATURE_SETS.get(name).label
        hand_over(json.dumps({"graph": opened.name, "set": label, "features": found}, indent=1, ensure_ascii=False))
    elif as_csv:
        lines = ["feature,value", *(f"{feature},{value!r}" for feature, value in found.items())]
        hand_over("\n".join(lines))
    else:
        from gnz_track.cli.terminal.output import print_rows

        rows = [(feature, f"{value:.6g}") for feature, value in found.items()]
        print_rows(f"{len(rows)} features of {opened.name}", ("feature", ">value"), rows)


def _compute(opened: OpenedGraph, name: str) -> dict[str, float]:
    from gnz_track.selection.features.feature_sets import FEATURE_SETS

    wanted = FEATURE_SETS.get(name)
    return dict(zip(wanted.names, wanted.compute(opened.parts).tolist(), strict=True))
