"""``gnz query``: cells of past runs by a condition, as a table or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.terminal.output import check_file, hand_over, naming, say
from gnz_track.errors import BadValue

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["add_to"]

SHOWN = "sweep,task,model,seed,status,score,metric,seconds,run_id"
EXAMPLES = """
[bold]Examples[/bold]

  gnz query "task = 'cora' and model in ('GCN', 'GAT')"

  gnz query "score < 0.5 or status = 'failed'" --csv > odd.csv

  gnz query "suite = 'quick' and start_time >= '2026-01-01'" --parquet cells.parquet

  gnz query "model like 'G%'" --columns task,model,seed,score

  gnz query "score > 0.8" --metric balanced_accuracy
"""
CONDITION = "Columns of the results table, =, !=, <, <=, >, >=, in (...), like '...%', and, or, not; nothing means all."
METRIC = "Score by this metric in place of that of each task; metrics of past runs: gnz rescore."
MOST_ROWS = 200


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("query", epilog=EXAMPLES)(_query)


def _query(
    condition: Annotated[str, typer.Argument(help=CONDITION)] = "",
    *,
    metric: Annotated[str, typer.Option(help=METRIC)] = "",
    columns: Annotated[str, typer.Option(help="Names by commas, or all.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    parquet: Annotated[Path | None, typer.Option(help="Write a file with all columns.")] = None,
    store: Store = "",
) -> None:
    """Find the cells of past runs for which a condition holds."""
    if as_json + as_csv + (parquet is not None) > 1:
        raise BadValue("form of output", "several of --json, --csv and --parquet", "one of them")
    if parquet is not None and columns:
        raise BadValue("--columns", columns, "nothing beside --parquet, which holds all columns")
    if parquet is not None:
        check_file("--parquet", parquet)
    # Read before the store is: a slip in it is told at once.
    table = _read_cells(condition, store, metric)
    if parquet is not None:
        from gnz_track.store.results_table import write_table

        with naming(parquet):
            write_table(table, parquet)
        say(f"{len(table)} cells in {parquet}")
        return
    is_whole = as_json or as_csv
    names = _choose_columns(columns or ("all" if is_whole else SHOWN))
    if as_json:
        _print_json(table[names])
    elif as_csv:
        hand_over(table[names].to_csv(index=False, lineterminator="\n"))
    else:
        _print_table(_with_labels(table)[names])


def _read_cells(condition: str, store: str, metric: str) -> pd.DataFrame:
    from gnz_track.store.address import parse_address
    from gnz_track.store.listings import has_tables
    from gnz_track.store.past_runs import score_by
    from gnz_track.store.query import parse_condition
    from gnz_track.store.reader import read_table
    from gnz_track.store.results_table import empty_table
    from gnz_track.training.metrics import METRICS

    chosen = METRICS.get(metric) if metric else None
    holds = parse_condition(condition) if condition.strip() else None
    address = parse_address(store)
    if not has_tables(address):
        say(f"nothing in {address} yet; fill it with: gnz run", err=True)
        return empty_table()
    table = read_table(address)
    if chosen is not None:
        table = score_by(address, table, chosen)
    return table if holds is None else table[holds(table)].reset_index(drop=True)


def _choose_columns(text: str) -> list[str]:
    from gnz_track.errors import UnknownName
    from gnz_track.store.results_table import COLUMNS

    names = list(COLUMNS) if text == "all" else [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in COLUMNS:
            raise UnknownName("column", name, COLUMNS)
    return names


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows of plain values: times as texts, what is missing as None."""
    plain = table.copy()
    if "start_time" in plain:
        plain["start_time"] = [time.isoformat() for time in plain["start_time"]]
    rows: list[dict[str, Any]] = plain.astype(object).where(plain.notna(), None).to_dict("records")
    return rows


def _print_json(table: pd.DataFrame) -> None:
    import json

    hand_over(json.dumps(_records(table), indent=1, ensure_ascii=False))


def _with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose models are named as a comparison does, so that no two variants look the same."""
    from gnz_track.store.results_table import labels_of

    return table.assign(model=labels_of(table))


def _print_table(table: pd.DataFrame) -> None:
    from gnz_track.cli.terminal.output import print_rows

    numbers = {name for name in table.columns if table[name].dtype.kind in "fi"}
    shown = table.head(MOST_ROWS)
    rows = [[_write_value(value) for value in record.values()] for record in _records(shown)]
    columns = [f">{name}" if name in numbers else name for name in table.columns]
    print_rows("1 cell" if len(table) == 1 else f"{len(table)} cells", columns, rows)
    if len(table) > len(shown):
        say(f"... and {len(table) - len(shown)} more; all of them: --csv, --json or --parquet FILE", err=True)


def _write_value(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
