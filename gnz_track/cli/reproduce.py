"""``gnz reproduce``: train past runs again, from their records alone: say what came out, or keep what they lack."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.ls import RUN_ID_SHOWN, Store
from gnz_track.cli.terminal.output import choose_place, hand_over, say
from gnz_track.cli.terminal.working_folder import reach_working_folder
from gnz_track.errors import BadValue
from gnz_track.text import first_names, plural

if TYPE_CHECKING:
    from gnz_track.runs.refill import Refill
    from gnz_track.runs.reproduce import Conditions, Reproduction
    from gnz_track.store.address import Address

__all__ = ["add_to"]

DIFFERENT, CHANGES_SHOWN, LEFT_OUT, MOST_SHOWN = 1, 20, 1, 5
EXAMPLES = """
[bold]Examples[/bold]

  gnz reproduce 1f0c9a2b      (the start of an id, as gnz ls --sweep NAME shows it)

  gnz reproduce 1f0c9a2b --store sqlite:///runs.db --home FOLDER --json

  gnz reproduce 1f0c9a2b --device cpu --tolerance 0.01

  gnz reproduce --sweep NAME --keep predictions --jobs 2      (for all of its runs that have none)

Exit code 0: bit-identical or within tolerance; 1: different; 2: it cannot be reproduced, and why. Of a sweep 0: all
finished runs have what --keep says; 1: some have not, and why. Interrupted, the same call goes on where it was.
"""
WORDS = {
    "bit_identical": "bit-identical",
    "within_tolerance": "within tolerance",
    "different": "different",
}
KEEP_HELP = "Give the run the files that it lacks, where it came out the same: predictions, or weights too."
TRUST_HELP = "Run code that the store holds or names and nothing here has registered; it is sought in this folder too."


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("reproduce", epilog=EXAMPLES)(_reproduce)


def _reproduce(  # noqa: PLR0913  (one parameter per flag)
    run_id: Annotated[str, typer.Argument(metavar="[RUN_ID]", help="An id, or its first digits, at least six.")] = "",
    *,
    sweep: Annotated[str, typer.Option(help="In place of one run: all of a sweep that lack what --keep says.")] = "",
    store: Store = "",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...; default the one that the run was on.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    tolerance: Annotated[float, typer.Option(help="Most that a score may differ by to count as the same.")] = 1e-4,
    keep: Annotated[str, typer.Option(help=KEEP_HELP)] = "nothing",
    keep_at_most: Annotated[str, typer.Option(help="Size above which a file is not kept.")] = "4MiB",
    jobs: Annotated[int, typer.Option(help="Worker processes for the runs of a sweep.")] = 1,
    trust: Annotated[bool, typer.Option("--trust", help=TRUST_HELP)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train a past run again from its record alone, compare every number, and name what has changed.

    With --sweep: train again the runs that lack what --keep says, and give it to those that came out the same.
    """
    from gnz_track import __version__
    from gnz_track.records import to_json
    from gnz_track.runs import reproduce as reproduction
    from gnz_track.runs.files_of_cell import read_most_bytes
    from gnz_track.runs.reproduce import Conditions
    from gnz_track.store.address import parse_address

    _check_call(run_id, sweep, keep)
    if trust:
        reach_working_folder()
    conditions = Conditions(place=choose_place(home, mirror), device=device, trusts_code=trust)
    if sweep:
        keeping = {"keep": keep, "keep_at_most": read_most_bytes(keep_at_most)}
        _refill(sweep, parse_address(store), conditions, keeping, jobs, as_json=as_json)
        return
    found = reproduction.reproduce(
        run_id,
        parse_address(store),
        conditions=conditions,
        tolerance=tolerance,
        version=__version__,
        keep=keep,
        keep_at_most=read_most_bytes(keep_at_most),
    )
    if as_json:
        hand_over(to_json(found))
    else:
        _print_reproduction(found)
    if found.verdict is reproduction.ReproductionVerdict.different:
        raise typer.Exit(DIFFERENT)


def _check_call(run_id: str, sweep: str, keep: str) -> None:
    from gnz_track.runs.files_of_cell import PREDICTIONS, WEIGHTS

    if bool(run_id) == bool(sweep):
        given = f"{run_id!r} and --sweep {sweep!r}" if sweep else "neither"
        raise BadValue("what to reproduce", given, "RUN_ID or --sweep NAME", command="gnz ls")
    if sweep and keep not in {PREDICTIONS, WEIGHTS}:
        allowed = f"{PREDICTIONS} or {WEIGHTS}, where a sweep is named"
        raise BadValue("--keep", keep, allowed, command=f"--keep {PREDICTIONS}")


def _refill(
    sweep: str, address: Address, conditions: Conditions, keeping: dict[str, Any], jobs: int, *, as_json: bool
) -> None:
    from gnz_track.records import to_json
    from gnz_track.runs.progress import count_aloud
    from gnz_track.runs.refill import refill

    try:
        with count_aloud() as tell:
            found = refill(sweep, address, conditions=conditions, jobs=jobs, tell=tell, **keeping)
    except KeyboardInterrupt:
        say(f"runs that were trained have their {keeping['keep']}; the same call goes on from there", err=True)
        raise
    if as_json:
        hand_over(to_json(found))
    else:
        _print_refill(found)
    if found.left_out:
        raise typer.Exit(LEFT_OUT)


def _print_refill(found: Refill) -> None:
    n_runs = len(found.had) + len(found.got) + len(found.left_out)
    trained = f"{len(found.got)} got them now{', each with the numbers that it had' if found.got else ''}"
    say(f"{found.sweep}: {plural(n_runs, 'finished run')}; {len(found.had)} had {found.keep}, {trained}")
    reasons: dict[str, list[str]] = {}
    for run_id, reason in found.left_out.items():
        # What is said of one run alone names it, by more or fewer of its digits.
        reasons.setdefault(re.sub(rf"'?{run_id[:8]}\w*'?", "RUN", reason), []).append(run_id[:RUN_ID_SHOWN])
    for reason, run_ids in reasons.items():
        say(f"left out: {first_names(run_ids, MOST_SHOWN)}: {reason}", err=True)


def _print_reproduction(found: Reproduction) -> None:
    from gnz_track.cli.terminal.output import print_rows

    say(f"{found.cell}, run {found.run_id[:RUN_ID_SHOWN]} of {found.sweep}: {WORDS[found.verdict]}")
    _print_outcome(found)
    n_equal = found.n_numbers - sum(item.then is not None for item in found.numbers)
    compared = f"{found.n_points} points of {found.n_series} curves"
    say(f"compared: {compared}; {n_equal} of {found.n_numbers} final numbers are equal")
    if found.compared_files:
        n_same = len(found.compared_files) - len(found.files)
        say(f"files: {n_same} of {len(found.compared_files)} are equal ({', '.join(found.compared_files)})")
    for item in found.files:
        by = "" if item.largest is None else f", by at most {_write_number(item.largest)}"
        say(f"{item.name}: {item.reason}{by}")
    if found.kept:
        say(f"kept with the run: {', '.join(found.kept)}")
    if found.series:
        rows = [(item.series, item.first_epoch, _write_number(item.largest)) for item in found.series]
        print_rows("\ncurves that differ", ("curve", ">from epoch", ">by at most"), rows)
    if found.numbers:
        numbers = [(item.name, _write_number(item.then), _write_number(item.now)) for item in found.numbers]
        print_rows("\nfinal numbers that differ", ("number", ">then", ">now"), numbers)
    _print_changes(found)
    for note in found.notes:
        say(f"note: {note}", err=True)


def _print_outcome(found: Reproduction) -> None:
    for when, score, error in (
        ("then", found.score_then, found.error_then),
        ("now ", found.score_now, found.error_now),
    ):
        say(f"{when}: {found.metric} {score!r}" if score is not None else f"{when}: failed, {error}")


def _print_changes(found: Reproduction) -> None:
    from gnz_track.cli.terminal.output import print_rows

    if not found.changes:
        known = ", as far as the notes do not say otherwise" if found.notes else ""
        say(f"nothing that is recorded has changed: data, code, packages, machine{known}")
        return
    rows = [(item.what, item.then, item.now) for item in found.changes[:CHANGES_SHOWN]]
    print_rows("\nwhat has changed since", ("what", "then", "now"), rows)
    left = len(found.changes) - len(rows)
    if left:
        say(f"and {left} more: --json")


def _write_number(number: float | None) -> str:
    return "-" if number is None else repr(number)
