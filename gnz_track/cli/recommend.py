"""``gnz recommend``: which model for this graph, by what was measured on others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.runs import Store
from gnz_track.errors import BadValue

if TYPE_CHECKING:
    from gnz_track.runs.plan import Place
    from gnz_track.selection.graph_sources import OpenedGraph
    from gnz_track.selection.recommendation import RankedSetting, Recommendation

__all__ = ["add_to", "recommend"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz recommend edges.txt --task-type link_pred

  gnz recommend cora --unseen

  gnz recommend cora --run --top 3 --seeds 0-9
"""
GRAPH_HELP = "A file (edge list, .csv, .npz, .graphml, .gml), or a task or dataset by name."
NEIGHBOURS_SHOWN, FAILED = 5, 1


@dataclass(frozen=True, kw_only=True)
class _Wishes:
    """How a confirmation is to be run."""

    top: int
    seeds: str
    epochs: int | None
    jobs: int
    store: str


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=EXAMPLES)(recommend)


def recommend(  # noqa: PLR0913  (one parameter per flag)
    graph: Annotated[str, typer.Argument(help=GRAPH_HELP)],
    *,
    task_type: Annotated[str, typer.Option(help="Kind of problem; a task by name has one.")] = "",
    top: Annotated[int, typer.Option(help="How many settings to show, or to train.")] = 5,
    unseen: Annotated[bool, typer.Option("--unseen", help="Leave out what was run on this very task.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Train the settings shown, to confirm them.")] = False,
    seeds: Annotated[str, typer.Option(help="Seeds to train; default as many as are needed.")] = "",
    epochs: Annotated[int | None, typer.Option(help="Epochs to train, in place of the task's.")] = None,
    jobs: Annotated[int, typer.Option(help="Worker processes; 1 trains in this one.")] = 1,
    store: Store = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank models for a graph by what past runs say of similar ones; nothing is trained unless asked."""
    from gnz_track.cli.home import choose_home
    from gnz_track.selection.graph_sources import open_graph
    from gnz_track.selection.recommendation import recommend as recommend_for

    if top < 1:
        raise BadValue("--top", top, "a whole number from 1 upwards")
    folder = choose_home(home)
    opened = open_graph(graph, home=folder, mirror=mirror)
    found = recommend_for(opened, task_type or None, store=store, home=folder, is_unseen=unseen)
    if as_json:
        import json

        typer.echo(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        _print(found, top)
    if run:
        from gnz_track.runs.plan import Place

        place = Place(home=folder, mirror=mirror)
        _confirm(found, opened, _Wishes(top=top, seeds=seeds, epochs=epochs, jobs=jobs, store=store), place)


def _print(found: Recommendation, top: int) -> None:
    from gnz_track.cli.tables import print_rows

    arrow = {"up": "higher is better", "down": "lower is better"}[found.direction]
    title = f"{found.task_type} on {found.graph}, from {found.n_graphs} past graphs: {found.metric}, {arrow}"
    columns = (
        ">",
        "model",
        ">expected",
        f"{found.level:.0%} interval",
        ">s/seed",
        "why: place on similar graphs (weight)",
    )
    print_rows(title, columns, [_row(one) for one in found.ranking[:top]])
    similar = ", ".join(f"{name} {weight:.2f}" for name, weight in found.neighbours[:NEIGHBOURS_SHOWN])
    typer.echo(f"\nmost similar past graphs: {similar}")
    minutes = found.minutes(top)
    cost = "an unknown time" if minutes is None else f"about {minutes:.1f} min on one core"
    shown = min(top, len(found.ranking))
    typer.echo(f"to confirm: {shown} settings x {found.n_seeds} seeds, {cost}: the same command with --run")
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)


def _row(one: RankedSetting) -> tuple[object, ...]:
    interval = "unknown" if one.low is None or one.high is None else f"[{one.low:.3f}, {one.high:.3f}]"
    seconds = "-" if one.seconds is None else f"{one.seconds:.1f}"
    return (one.rank, one.setting.label, f"{one.expected:.3f}", interval, seconds, one.why)


def _confirm(found: Recommendation, opened: OpenedGraph, wishes: _Wishes, place: Place) -> None:
    from gnz_track.cli.tables import print_failures, print_summary
    from gnz_track.report.summary import summarise
    from gnz_track.request import Request, carry_out
    from gnz_track.runs.agenda import make_agenda
    from gnz_track.seeds import parse_seeds
    from gnz_track.selection.confirmation import model_of, plan_confirmation, task_of
    from gnz_track.store.address import parse_address

    address = parse_address(wishes.store)
    seeds = parse_seeds(wishes.seeds) if wishes.seeds else tuple(range(found.n_seeds))
    task = task_of(opened, found.task_type)
    plan = plan_confirmation(found, task, k=wishes.top, seeds=seeds, epochs=wishes.epochs, place=place)
    request = Request(
        tasks=[task],
        models=[model_of(one.setting) for one in found.ranking[: wishes.top]],
        seeds=seeds,
        protocol=plan.cells[0].protocol,
        address=address,
        suite="recommended",
        epochs=wishes.epochs,
        place=place,
        jobs=wishes.jobs,
        source="gnz recommend",
    )
    sweep = carry_out(request, make_agenda(plan, address))
    print_summary(summarise(sweep.table))
    for notice in sweep.notices:
        typer.echo(f"note: {notice}", err=True)
    typer.echo(f"tracked as sweep {sweep.name} in {address}", err=True)
    print_failures([result for result in sweep.results if not result.is_finished])
    if (sweep.table["status"] != "finished").any():
        raise typer.Exit(FAILED)
