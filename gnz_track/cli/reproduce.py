"""``gnz reproduce``: train a past run again, from its record alone, and say what came out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.ls import RUN_ID_SHOWN, Store
from gnz_track.cli.terminal.output import choose_place, hand_over, say
from gnz_track.cli.terminal.working_folder import reach_working_folder

if TYPE_CHECKING:
    from gnz_track.runs.reproduce import Reproduction

__all__ = ["add_to"]

DIFFERENT, CHANGES_SHOWN = 1, 20
EXAMPLES = """
[bold]Examples[/bold]

  gnz reproduce 1f0c9a2b      (the start of an id, as gnz ls --sweep NAME shows it)

  gnz reproduce 1f0c9a2b --store sqlite:///runs.db --home FOLDER --json

  gnz reproduce 1f0c9a2b --device cpu --tolerance 0.01

Exit code 0: bit-identical or within tolerance; 1: different; 2: it cannot be reproduced, and why.
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
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="An id, or its first digits, at least six.")],
    *,
    store: Store = "",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...; default the one that the run was on.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    tolerance: Annotated[float, typer.Option(help="Most that a score may differ by to count as the same.")] = 1e-4,
    keep: Annotated[str, typer.Option(help=KEEP_HELP)] = "nothing",
    keep_at_most: Annotated[str, typer.Option(help="Size above which a file is not kept.")] = "4MiB",
    trust: Annotated[bool, typer.Option("--trust", help=TRUST_HELP)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train a past run again from its record alone, compare every number, and name what has changed."""
    from gnz_track import __version__
    from gnz_track.records import to_json
    from gnz_track.runs import reproduce as reproduction
    from gnz_track.runs.files_of_cell import read_most_bytes
    from gnz_track.runs.reproduce import Conditions
    from gnz_track.store.address import parse_address

    if trust:
        reach_working_folder()
    conditions = Conditions(place=choose_place(home, mirror), device=device, trusts_code=trust)
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
