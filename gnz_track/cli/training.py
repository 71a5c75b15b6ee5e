"""Tasks that a call names, and training and searches with a line of progress."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from gnz_track.cli.terminal.commands import Command
from gnz_track.cli.terminal.interrupts import INTERRUPTED
from gnz_track.cli.terminal.other_words import setting_called, value_of
from gnz_track.cli.terminal.output import say, see
from gnz_track.errors import UnknownOption
from gnz_track.seeds import parse_seeds
from gnz_track.text import split_names
from gnz_track.types import Category, TaskType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gnz_track.benchmark import Request
    from gnz_track.runs.executors.fork_server import ForkServer
    from gnz_track.runs.remaining import RemainingCells
    from gnz_track.runs.sweep import Sweep
    from gnz_track.store.address import Address
    from gnz_track.store.searches import SearchRecord
    from gnz_track.tuning.plan import SearchPlan
    from gnz_track.types import Protocol, Task

__all__ = [
    "AMP_HELP",
    "COMPILE_HELP",
    "MODELS_HELP",
    "PROTOCOL_HELP",
    "TASK_HELP",
    "SettingsCommand",
    "choose_forwards",
    "choose_suite",
    "choose_tasks",
    "find_task",
    "look_up",
    "names_file",
    "print_found",
    "print_gains",
    "print_plan",
    "refuse_reading",
    "search_and_print",
    "split",
    "train",
]


QUICK, CUSTOM = "quick", "custom"
COMPILE_HELP = "Let torch.compile compile the models; meant for GPUs."
MODELS_HELP = "Names, package.module:Class or FILE.py:Class; with options: wide=GCN(n_layers=4)."
TASK_HELP = (
    "A task by name, of the suite where one is named; a file of graphs, a folder of tables, or package.module:task; "
    "repeat, or use commas."
)
PROTOCOL_HELP = "How cells are trained and scored: a name of gnz protocols, or a YAML file."
AMP_HELP = "Half precision of the models: bfloat16 or float16; meant for GPUs."


def choose_tasks(
    suite: str,
    names: Sequence[str] | None,
    category: str,
    task_type: str,
    reading: Mapping[str, Any] | None = None,
) -> list[Task]:
    """Return the tasks that were asked for; without names and categories, those of the suite.

    A name that the suite has not is refused: whoever names both means a part of the suite.

    Parameters
    ----------
    suite
        Suite that the tasks must be of.
    names
        Tasks by name, several by commas.
    category
        Research areas whose tasks are added, by commas.
    task_type
        Task types to keep, by commas; all without any. Of a file, one says what is asked.
    reading
        How files are read, where one is named.
    """
    from gnz_track.datasets.catalogue import SUITES, iter_benchmark_tasks
    from gnz_track.errors import NothingToRun

    categories, types = split(category), split(task_type)
    wanted = [name for text in names or () for name in split(text)]
    of_areas = [task for name in categories for task in iter_benchmark_tasks(Category(name))]
    if not (wanted or categories):
        wanted = list(SUITES.get(suite or QUICK).tasks)
    named = [find_task(name, reading=reading, types=types) for name in wanted]
    chosen = {task.name: task for task in [*named, *of_areas]}
    if suite:
        own = SUITES.get(suite).tasks
        _refuse_others(suite, own, wanted)
        chosen = {name: task for name, task in chosen.items() if name in own}
    allowed = {TaskType(name) for name in types} or set(TaskType)
    found = [task for task in chosen.values() if task.task_type in allowed]
    if not found:
        asked = " and ".join(filter(None, [", ".join(categories), ", ".join(types)])) or "nothing"
        raise NothingToRun([f"no task{f' of the suite {suite}' if suite else ''} is of {asked}"])
    return found


def _refuse_others(suite: str, own: Sequence[str], wanted: Sequence[str]) -> None:
    from gnz_track.errors import BadValue

    for name in wanted:
        if name not in own:
            allowed = f"a task of the suite {suite} ({', '.join(own)}), or a task without --suite"
            raise BadValue(f"task of the suite {suite}", name, allowed, command=f"--task {name} alone")


def look_up(models: str, protocol: str, seeds: str, store: str) -> tuple[Protocol, tuple[int, ...], Address]:
    """Return what a call names, before anything heavy is imported; what there is not is refused, models too.

    Parameters
    ----------
    models
        Names by commas; a class of somebody's own is left for later, when what it needs is imported.
    protocol, seeds, store
        Words of the options of these names.
    """
    from gnz_track.models.catalogue import MODELS
    from gnz_track.models.words import parse_word
    from gnz_track.runs.protocol_files import find_protocol
    from gnz_track.store.address import parse_address

    found = find_protocol(protocol), parse_seeds(seeds), parse_address(store)
    _note_on_seed(seeds)
    for name in split(models):
        if name not in MODELS and ":" not in (reference := parse_word(name).reference):
            MODELS.get(reference)
    return found


def _note_on_seed(seeds: str) -> None:
    """Say that one number is a seed, and no number of seeds, where it may have been meant as one."""
    text = seeds.strip()
    if text.isdecimal() and int(text) > 1:
        say(f"note: one run each, of seed {text}; --seeds 0-{int(text) - 1} are {text}", err=True)


def find_task(name: str, *, reading: Mapping[str, Any] | None = None, types: Sequence[str] = ()) -> Task:
    """Return the task of a name, of a file or folder of graphs, or of ``package.module:task``.

    Parameters
    ----------
    name
        As it was typed.
    reading
        How a file is read, as :func:`gnz_track.cli.own_data.read_flags` returns it.
    types
        Task types that the user names: of a file, one says what is asked.
    """
    from gnz_track.datasets.catalogue import TASKS

    is_file = names_file(name)
    if reading and not is_file and (name in TASKS or ":" in name):
        refuse_reading(reading)
    if is_file:
        from gnz_track.datasets.own.files import task_of_file

        return task_of_file(name, asked=map(TaskType, types), **(reading or {}))
    return TASKS.get(name) if name in TASKS or ":" not in name else _import_task(name)


def names_file(name: str) -> bool:
    """Tell a file or folder of graphs from the name of a task; it may not be there."""
    from gnz_track.datasets.catalogue import TASKS

    if name in TASKS:
        return False
    # Of what is no path, a Path raises.
    return os.path.exists(name) or name.lower().endswith((".graphml", ".gml", ".csv"))  # noqa: PTH110


def refuse_reading(reading: Mapping[str, Any]) -> NoReturn:
    """Refuse what was said of how files are read where none is named."""
    from gnz_track.errors import BadValue

    option, value = next(iter(reading.items()))
    allowed = "nothing beside a task by name, which has its labels; it says how a file is read"
    said = ",".join(value) if isinstance(value, tuple) else value
    raise BadValue(_FLAGS[option], said, allowed, command="gnz run --task FILE --label COLUMN")


# Option of a reading -> the flag that gives it.
_FLAGS = {
    "label": "--label",
    "ignore": "--ignore",
    "is_directed": "--directed",
    "allow_unlabelled": "--unlabelled",
}


def _import_task(name: str) -> Task:
    from gnz_track.errors import BadValue
    from gnz_track.models.words import find_target
    from gnz_track.registry import import_target
    from gnz_track.types import Task

    found = import_target(find_target(name, what="task"))
    if not isinstance(found, Task):
        allowed = "a gnz_track.Task, as gnz_track.task_from_dataset(name, task_type, dataset) makes one"
        raise BadValue(f"task {name}", type(found).__name__, allowed)
    return found


def choose_forwards(device: str, *, compiles: bool, amp: str) -> dict[str, Any]:
    """Return what a request is told of where and how Torch computes; what there is not is refused.

    Parameters
    ----------
    device, compiles, amp
        Values of the options.
    """
    from gnz_track.training.compiler import check_forwards

    check_forwards(compiles=compiles, amp=amp, device=device)
    return {"device": device, "compile": compiles, "amp": amp}


def choose_suite(suite: str, category: str, *, is_chosen: bool) -> str:
    """Return the first part of the names of experiments.

    Parameters
    ----------
    suite
        Suite by name.
    category
        Research areas by commas.
    is_chosen
        Whether tasks were named otherwise.
    """
    return suite or category.replace(",", "+") or (CUSTOM if is_chosen else QUICK)


def split(text: str) -> list[str]:
    """Return the names in a text, by commas."""
    return split_names(text)


def train(
    request: Request,
    remaining: RemainingCells,
    fork_server: ForkServer | None,
    found: Sequence[SearchRecord] = (),
    *,
    hint: str = "cells are finished already; --fresh trains them again",
    again: str = "the same command goes on from there",
) -> Sweep:
    """Train what is left of a request with a line of progress.

    Parameters
    ----------
    request
        The benchmark that was asked for.
    remaining
        Its cells, finished and left.
    fork_server
        Workers that are getting ready.
    found
        Searches that the remaining cells were made with.
    hint
        Words behind the number of finished cells.
    again
        Words on how to go on after an interrupt.
    """
    from gnz_track.benchmark import carry_out, settle_jobs
    from gnz_track.runs.progress import Progress

    request = settle_jobs(request, remaining)
    n_finished = len(remaining.done)
    if n_finished:
        n_wanted = len(remaining.plan.cells)
        say(f"{n_finished} of {n_wanted} {hint}", err=True)
    progress = Progress(remaining, jobs=request.jobs)
    try:
        with progress:
            return carry_out(request, remaining, found=found, tell=progress.hear, fork_server=fork_server)
    except KeyboardInterrupt:
        kept = f"{progress.count_kept()} are kept in {request.address}"
        say(f"{kept}; {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None


FAILED = 1


def search_and_print(request: Request, plan: SearchPlan, fork_server: ForkServer | None) -> list[SearchRecord]:
    """Do the searches of a plan with a line of progress, and print what they found on validation.

    Parameters
    ----------
    request
        The benchmark that was asked for.
    plan
        Its searches.
    fork_server
        Workers that are getting ready.
    """
    from gnz_track.benchmark import search_all, settle_search_jobs
    from gnz_track.tuning.progress import SearchProgress

    request = settle_search_jobs(request, plan)
    progress = SearchProgress(plan)
    try:
        with progress:
            found = search_all(request, plan, listener=progress, fork_server=fork_server)
    except KeyboardInterrupt:
        kept = f"{progress.count_kept()} and all cells of others that had ended are kept"
        say(f"{kept}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None
    print_found(plan, found)
    if not any(record.best for record in found):
        raise typer.Exit(FAILED)
    return found


def print_plan(request: Request, plan: SearchPlan) -> None:
    """Print what would be searched, over which space, and at which cost at most."""
    from gnz_track.cli.terminal.output import print_rows, print_skipped
    from gnz_track.seeds import format_seeds

    rows = [
        (
            search.task.name,
            search.model.name,
            "all" if search.seed is None else search.seed,
            format_seeds(cell.seed for cell in search.cells),
            plan.n_trials,
            plan.n_trials * sum(cell.epochs for cell in search.cells),
            ", ".join(search.space),
        )
        for search in plan.searches
    ]
    columns = ("task", "model", ">for seed", ">tuned on", ">trials", ">epochs", "space")
    print_rows("what would be searched", columns, rows)
    print_skipped(plan.skipped)
    n_cells = sum(plan.n_trials * len(search.cells) for search in plan.searches)
    say(f"\nup to {n_cells} cells in {len(plan.searches)} searches with --jobs {request.jobs}")


def print_gains(request: Request, sweep: Sweep, found: Sequence[SearchRecord]) -> None:
    """Print default against tuned on the test parts of the seeds that are reported, and what else came of a sweep.

    Parameters
    ----------
    request
        The benchmark that was asked for.
    sweep
        Its cells.
    found
        Its searches.
    """
    from gnz_track.cli.terminal.output import print_failures, print_rows
    from gnz_track.report.tuned_models import compare_tuned

    rows = [
        (
            row.task,
            row.model,
            row.metric,
            row.n_seeds,
            _write_score(row.default),
            _write_score(row.tuned),
            "-" if row.advantage is None else f"{row.advantage:+.4f}",
            "-" if row.low is None or row.high is None else f"[{row.low:+.4f}, {row.high:+.4f}]",
            _write_score(row.p_adjusted),
            row.verdict or row.note,
        )
        for row in compare_tuned(sweep.table, found)
    ]
    columns = ("task", "model", "metric", ">seeds", ">default", ">tuned", ">gain", ">95 % interval", ">p", "verdict")
    print_rows("\ndefault against tuned on test, paired by seed, p by Holm", columns, rows)
    for notice in sweep.notices:
        say(f"note: {notice}", err=True)
    say(f"tracked as sweep {sweep.name} in {request.address}; {see('gnz report, gnz ls', request.address)}", err=True)
    print_failures([result for result in sweep.results if not result.is_finished])


def print_found(plan: SearchPlan, found: Sequence[SearchRecord]) -> None:
    """Print what searches found on validation, what they cost, and what to beware of."""
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.text import format_seconds
    from gnz_track.tuning.plan import changed

    rows = []
    for record in found:
        chosen = ", ".join(
            f"{name}={_write_value(value)}" for name, value in changed(record.best, record.default).items()
        )
        default = next((trial.score for trial in record.trials if trial.source == "default"), None)
        rows.append(
            (
                record.task,
                record.model + ("" if record.seed is None else f" s{record.seed}"),
                record.metric,
                len(record.trials),
                sum(trial.state == "failed" for trial in record.trials) or "",
                _write_score(default),
                _write_score(record.best_score),
                chosen or ("the default" if record.best else "all trials failed"),
                sum(trial.epochs for trial in record.trials),
                format_seconds(sum(trial.seconds for trial in record.trials)),
            )
        )
    columns = ("task", "model", "metric", ">trials", ">failed", ">default", ">best", "found", ">epochs", ">wall time")
    print_rows("default and best on validation", columns, rows)
    _print_notes(plan, found)


def _print_notes(plan: SearchPlan, found: Sequence[SearchRecord]) -> None:
    from gnz_track.cli.terminal.output import print_skipped
    from gnz_track.tuning.plan import note_on_lengths

    print_skipped(plan.skipped)
    if note := note_on_lengths(plan, found):
        say(f"note: {note}", err=True)
    for record in found:
        name = f"{record.task} {record.model}"
        for border in record.borders:
            end = f"{border}={_write_value(record.best[border])} is at an end of its range"
            say(f"note: {name}: {end}; a better one may lie beyond", err=True)
        reasons = [trial.reason for trial in record.trials if trial.reason]
        if reasons:
            which = f"{len(reasons)} of" if record.best else "all"
            say(f"note: {name}: {which} {len(record.trials)} trials failed: {reasons[0]}", err=True)


def _write_score(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _write_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class SettingsCommand(Command):
    """A command that trains, which answers a setting that is typed as an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a call."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            option = getattr(error, "option_name", "")
            if setting := setting_called(option.lstrip("-").replace("-", "_")):
                command = f"gnz {ctx.info_name}"
                raise UnknownOption(option, setting, value_of(option, args), command=command) from None
            raise
