"""``gnz compare``: two sweeps against one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.terminal.output import hand_over, say

if TYPE_CHECKING:
    import pandas as pd

    from gnz_track.report.sweep_comparison import Difference, SweepComparison

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz compare BEFORE AFTER      (two sweeps of one store; gnz ls names them)

  gnz compare MINE THEIRS --other-store http://HOST:5000 --margin 0.005
"""
MOST_SHOWN = 20


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("compare", epilog=EXAMPLES)(_compare)


def _compare(  # noqa: PLR0913  (one parameter per flag)
    first: Annotated[str, typer.Argument(metavar="A", help="A sweep.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one; advantages are its own.")],
    *,
    store: Store = "",
    other_store: Annotated[str, typer.Option(help="Where B is, if elsewhere.")] = "",
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    margin: Annotated[float | None, typer.Option(help="Largest difference that does not matter.")] = None,
    test: Annotated[str, typer.Option(help="t, wilcoxon or sign_flip.")] = "t",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two sweeps cell by cell: what is bit-identical, what differs in score, and what may have caused it."""
    import dataclasses

    from gnz_track.records import to_json
    from gnz_track.report.sweep_comparison import compare_environments, compare_sweeps, shared_rows
    from gnz_track.store.address import parse_address

    address = parse_address(store)
    tables = _read_sweep(store, first), _read_sweep(other_store or store, second)
    found = compare_sweeps(*tables, names=(first, second), alpha=alpha, margin=margin, test=test)
    if not other_store:
        more: list[Difference] = compare_environments(address, *shared_rows(*tables))
        found = dataclasses.replace(found, differences=(*found.differences, *more))
    if as_json:
        hand_over(to_json(found))
    else:
        _print_comparison(found)


def _read_sweep(store: str, sweep: str) -> pd.DataFrame:
    from gnz_track.errors import UnknownName
    from gnz_track.store.address import parse_address
    from gnz_track.store.listings import has_tables, list_sweeps
    from gnz_track.store.sweep_manifest import read_wanted_cells

    address = parse_address(store)
    known = [row.sweep for row in list_sweeps(address)] if has_tables(address) else []
    if sweep not in known:
        raise UnknownName("sweep", sweep, known, command="gnz ls")
    return read_wanted_cells(address, sweep).table


def _print_comparison(found: SweepComparison) -> None:
    from gnz_track.cli.terminal.output import print_rows

    say(str(found))
    say(f"  {found.choices}")
    rows = [
        (
            cell.task,
            cell.model,
            cell.metric,
            f"{cell.n_identical} of {cell.n_seeds}",
            _write_number(cell.first),
            _write_number(cell.second),
            _write_number(cell.advantage, "+.4g"),
            "-" if cell.low is None else f"[{cell.low:+.3g}, {cell.high:+.3g}]",
            _write_number(cell.p_adjusted, ".3g"),
            cell.verdict,
            cell.note,
        )
        for cell in found.cells
    ]
    columns = ("task", "model", "metric", "identical", ">A", ">B", ">advantage of B", ">interval", ">adjusted p")
    print_rows(f"A {found.first}, B {found.second}", (*columns, "verdict", "remarks"), rows)
    shown = [(item.what, item.first or "-", item.second or "-", ", ".join(item.tasks)) for item in found.differences]
    if shown:
        print_rows("what differs between them", ("what", "A", "B", "tasks"), shown[:MOST_SHOWN])
    else:
        say("nothing that is recorded differs between them")
    if len(shown) > MOST_SHOWN:
        say(f"... and {len(shown) - MOST_SHOWN} more; all of them: --json", err=True)
    for said in found.left_out:
        say(f"left out: {said}", err=True)


def _write_number(value: float | None, form: str = ".4g") -> str:
    return "-" if value is None else format(value, form)
