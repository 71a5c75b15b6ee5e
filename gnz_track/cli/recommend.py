"""``gnz recommend``: which model for this graph, by what was measured on others."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.own_data import Directed, Ignore, Label, Unlabelled, read_flags
from gnz_track.cli.terminal.commands import repeat
from gnz_track.cli.terminal.output import hand_over, say
from gnz_track.cli.training import find_task, names_file
from gnz_track.errors import BadValue
from gnz_track.seeds import parse_seeds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from gnz_track.runs.plan import Place
    from gnz_track.selection.graph_input import OpenedGraph
    from gnz_track.selection.recommendation import RankedSetting, Recommendation

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz recommend edges.txt --task-type link_pred

  gnz recommend cora --unseen

  gnz recommend cora --run --top 3 --seeds 0-9
"""
GRAPH_HELP = (
    "A file (edge list, .csv, .npz, .mtx, .graphml, .gml; also .gz), a folder of tables, or a task or dataset by name."
)
NEIGHBOURS_SHOWN, FAILED = 5, 1


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("recommend", epilog=EXAMPLES)(_recommend)


def _recommend(  # noqa: PLR0913  (one parameter per flag)
    call: typer.Context,
    graph: Annotated[str, typer.Argument(help=GRAPH_HELP)],
    *,
    task_type: Annotated[str, typer.Option(help="Kind of problem; a task by name has one.")] = "",
    label: Label = "",
    ignore: Ignore = "",
    directed: Directed = False,
    unlabelled: Unlabelled = False,
    top: Annotated[int, typer.Option(help="How many settings to show, or to train; JSON has all.")] = 5,
    unseen: Annotated[bool, typer.Option("--unseen", help="Leave out what was run on this very task.")] = False,
    protocol: Annotated[str, typer.Option(help="Whose scores count; default the one with most.")] = "",
    run: Annotated[bool, typer.Option("--run", help="Train the settings shown, to confirm them.")] = False,
    seeds: Annotated[str, typer.Option(help="Seeds to train; default as many as are needed.")] = "",
    epochs: Annotated[int | None, typer.Option(help="Epochs to train, in place of the task's.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Worker processes; 1 trains in this one.", show_default="as many as cores")
    ] = None,
    store: Store = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank models for a graph by what past runs say of similar ones; nothing is trained unless asked."""
    _check_numbers(top=top, jobs=jobs, epochs=epochs)
    if not run:
        _refuse_without_run(seeds=seeds, epochs=epochs, jobs=jobs)
    numbers = tuple(parse_seeds(seeds)) if seeds else ()
    # A slip in a name is told before torch is imported, which takes seconds.
    reading = read_flags(label, ignore, directed, unlabelled)
    is_of_tables = _is_of_tables(graph, reading, task_type)
    if not is_of_tables:
        from gnz_track.selection.graph_names import check_graph_name

        check_graph_name(graph)

    from gnz_track.cli.terminal.output import choose_home
    from gnz_track.selection.feasibility import reason_against
    from gnz_track.selection.graph_input import open_graph
    from gnz_track.selection.recommendation import recommend as recommend_for

    folder = choose_home(home)
    source = find_task(graph, reading=reading, types=[task_type] if task_type else []) if is_of_tables else graph
    opened = open_graph(source, home=folder, mirror=mirror, label="" if is_of_tables else label)
    found = recommend_for(opened, task_type or None, store=store, home=folder, is_unseen=unseen, protocol=protocol)
    reason = reason_against(opened, found.task_type)
    if run and reason:
        raise BadValue("the graph to confirm on", found.graph, f"one that can be posed as {found.task_type}; {reason}")
    if not as_json:
        _print_ranking(found, top)
        if not reason:
            _print_cost(found, top, numbers, epochs=epochs, is_next=run)
    for note in found.notes:
        say(f"note: {note}", err=True)
    if run:
        from gnz_track.runs.plan import Place

        _confirm(found, opened, numbers or tuple(range(found.seeds_for(top))), Place(home=folder, mirror=mirror), call)
    elif as_json:
        _hand_over(found.to_json())


def _is_of_tables(graph: str, reading: Mapping[str, Any], task_type: str) -> bool:
    """Tell a folder of tables, and a file whose labels say what is asked, or of which more is said, from all else."""
    suffix = Path(graph).suffix.lower()
    if suffix in {".csv", ".tsv", ".parquet"}:
        return bool(reading) and names_file(graph)
    is_posed = suffix in {".graphml", ".gml"} and "label" in reading and not task_type
    is_more = is_posed or bool(set(reading) - {"label"}) or not isinstance(reading.get("label", ""), str)
    return names_file(graph) and (os.path.isdir(graph) or is_more)  # noqa: PTH112  (a Path may raise)


def _hand_over(plain: dict[str, Any]) -> None:
    import json

    hand_over(json.dumps(plain, indent=1, ensure_ascii=False))


def _check_numbers(**given: int | None) -> None:
    """Refuse numbers that nobody can mean, before anything is looked up."""
    for flag, number in given.items():
        if number is not None and number < 1:
            raise BadValue(f"--{flag}", number, "a whole number from 1 upwards")


def _refuse_without_run(*, seeds: str, epochs: int | None, jobs: int | None) -> None:
    for flag, value, usual in (("--seeds", seeds, ""), ("--epochs", epochs, None), ("--jobs", jobs, None)):
        if value != usual:
            raise BadValue(f"{flag} without --run", value, "with --run alone: nothing is trained without it")


def _print_ranking(found: Recommendation, top: int) -> None:
    from gnz_track.cli.terminal.output import print_rows

    arrow = {"up": "higher is better", "down": "lower is better"}[found.direction]
    title = f"{found.task_type} on {found.graph}, from {found.n_graphs} past graphs: {found.metric}, {arrow}"
    shown = found.ranking[:top]
    is_measured = any(one.measured is not None for one in shown)
    here = [">measured here"] if is_measured else []
    why = "why: place on similar graphs (weight)"
    columns = (">", "model", ">expected", f"{found.level:.0%} interval", *here, ">s/seed", why)
    rows = []
    for one in shown:
        *first, seconds, reasons = _row_of(one)
        own = ["-" if one.measured is None else f"{one.measured:.3f}"] if is_measured else []
        rows.append((*first, *own, seconds, reasons))
    print_rows(title, columns, rows)
    similar = ", ".join(f"{name} {weight:.2f}" for name, weight in found.neighbours[:NEIGHBOURS_SHOWN])
    say(f"\nmost similar past graphs: {similar}")
    if any(one.is_guess for one in found.ranking[:top]):
        say("~ filled in for the most part from other settings: hardly run on similar graphs")


def _print_cost(found: Recommendation, top: int, seeds: Sequence[int], *, epochs: int | None, is_next: bool) -> None:
    """Say what a confirmation takes, by as many seeds as are advised where none are named; it may follow at once."""
    from gnz_track.text import format_seconds, plural

    shown = found.ranking[:top]
    n_seeds = len(seeds) or found.seeds_for(top)
    lengths = sorted({n for n in (epochs or one.epochs for one in shown) if n})
    times = f" x {' or '.join(map(str, lengths))} epochs" if lengths else ""
    minutes = found.minutes(top)
    # What is known of the time is of the seeds that were advised, and of the epochs of past runs.
    seconds = None if minutes is None or epochs else 60 * minutes * n_seeds / found.seeds_for(top)
    cost = "" if seconds is None else f", about {format_seconds(max(seconds, 1))} on one core"
    how = ("confirming", "") if is_next else ("to confirm", ": the same command with --run")
    sizes = f"{plural(len(shown), 'setting')} x {plural(n_seeds, 'seed')}"
    say(f"{how[0]}: {sizes}{times}{cost}{how[1]}")


def _say_again(found: Recommendation, n_seeds: int, call: typer.Context) -> str:
    """Return how to go on after an interrupt: ranking and number of seeds would be others by what is kept then."""
    # What is known of this graph in another form would be left out too.
    is_new = all(one.measured is None for one in found.ranking) and not found.alike
    # What is kept of this confirmation is all that is left out then.
    is_unseen = bool(is_new or call.params["unseen"])
    seeds = call.params["seeds"] or f"0-{n_seeds - 1}"
    words = repeat(call, unseen=is_unseen, seeds=seeds)
    kept = "" if is_new else ", ranked anew by what is known of this graph,"
    return f"go on{kept} with: {shlex.join(words)}"


def _row_of(one: RankedSetting) -> tuple[object, ...]:
    interval = "unknown" if one.low is None or one.high is None else f"[{one.low:.3f}, {one.high:.3f}]"
    seconds = "-" if one.seconds is None else f"{one.seconds:.2g}"
    expected = f"{'~' if one.is_guess else ''}{one.expected:.3f}"
    return (one.rank, one.setting.label, expected, interval, seconds, one.why)


def _confirm(
    found: Recommendation, opened: OpenedGraph, seeds: tuple[int, ...], place: Place, call: typer.Context
) -> None:
    """Train the settings shown, as the call asks for."""
    from gnz_track.benchmark import Request, jobs_of
    from gnz_track.cli.terminal.output import print_failures, print_skipped
    from gnz_track.cli.training import train
    from gnz_track.runs.remaining import find_remaining
    from gnz_track.selection.confirmation import model_of, plan_confirmation, task_of
    from gnz_track.store.address import parse_address

    top, epochs, address = call.params["top"], call.params["epochs"], parse_address(call.params["store"])
    shown = found.ranking[:top]
    task = task_of(opened, found.task_type, name=found.graph)
    others = sorted({one.epochs for one in shown if one.epochs} - {epochs})
    if epochs and others:
        past = " or ".join(map(str, others))
        say(f"note: past runs had {past} epochs, and what is expected is of those", err=True)
    plan = plan_confirmation(found, task, k=top, seeds=seeds, epochs=epochs, place=place)
    request = Request(
        tasks=[task],
        models=[model_of(one.setting) for one in shown],
        seeds=seeds,
        protocol=plan.cells[0].protocol,
        address=address,
        suite="recommended",
        epochs=epochs,
        place=place,
        **jobs_of(call.params["jobs"]),
        source="gnz recommend",
    )
    remaining, again = find_remaining(plan, address), _say_again(found, len(seeds), call)
    sweep = train(request, remaining, None, hint="cells are finished already", again=again)
    if call.params["as_json"]:
        _hand_over(found.to_json() | {"sweep": sweep.name, "measured": _measured(shown, sweep.table)})
    else:
        _print_measured(shown, sweep.table)
        print_skipped(sweep.skipped)
    for notice in sweep.notices:
        say(f"note: {notice}", err=True)
    say(f"tracked as sweep {sweep.name} in {address}", err=True)
    print_failures([result for result in sweep.results if not result.is_finished])
    if (sweep.table["status"] != "finished").any():
        raise typer.Exit(FAILED)


def _print_measured(shown: Sequence[RankedSetting], table: pd.DataFrame) -> None:
    """Print what was expected beside what came of it."""
    from gnz_track.cli.terminal.output import print_rows

    rows = []
    for one, came in zip(shown, _measured(shown, table), strict=True):
        _, label, expected, interval, *_ = _row_of(one)
        mean, sd = (("-" if came[name] is None else f"{came[name]:.3f}") for name in ("mean", "sd"))
        rows.append((one.rank, label, expected, interval, mean if came["n"] else "failed", sd, came["n"]))
    columns = (">", "model", ">expected", "interval", ">measured", ">sd", ">seeds")
    say("")
    print_rows("what was expected, and what came of it: mean scores over seeds", columns, rows)


def _measured(shown: Sequence[RankedSetting], table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return mean, standard deviation and number of the scores of each setting, in the order of the ranking."""
    from gnz_track.selection.confirmation import scores_of

    found = []
    for one in shown:
        scores = scores_of(one.setting, table)
        n = len(scores)
        mean, sd = float(scores.mean()) if n else None, float(scores.std(ddof=1)) if n > 1 else None
        found.append({"rank": one.rank, "model": one.setting.label, "mean": mean, "sd": sd, "n": n})
    return found
