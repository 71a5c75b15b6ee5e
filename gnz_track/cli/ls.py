"""``gnz ls``: sweeps, cells, failures, searches and trials of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.terminal.output import hand_over, say
from gnz_track.errors import BadValue, UnknownName

if TYPE_CHECKING:
    from gnz_track.store.address import Address
    from gnz_track.store.searches import SearchRecord

__all__ = ["add_to"]


EXAMPLES = """
[bold]Examples[/bold]

  gnz ls      (all sweeps)

  gnz ls --sweep NAME --model GCN

  gnz ls --failed

  gnz ls --sweep NAME --csv > cells.csv

  gnz ls --searches

  gnz ls --trials --task cora --model GCN --csv > trials.csv
"""
STORE_HELP = (
    "A file, sqlite:///FILE, postgresql://... or http://...; default GNZ_STORE, or ~/.local/share/gnz_track/gnz.db."
)
Store = Annotated[str, typer.Option(help=STORE_HELP)]
RUN_ID_SHOWN, NAMES_SHOWN = 8, 3


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A list to print: columns and rows for people, records for programs."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    records: Sequence[Mapping[str, Any]]
    fields: Sequence[str]
    note: str = ""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("ls", epilog=EXAMPLES)(_ls)


def _ls(  # noqa: PLR0913  (one parameter per flag)
    *,
    sweep: Annotated[str, typer.Option(help="List the cells of one sweep.")] = "",
    suite: Annotated[str, typer.Option(help="Only of one suite.")] = "",
    task: Annotated[str, typer.Option(help="Only of one task.")] = "",
    model: Annotated[str, typer.Option(help="Only of one model.")] = "",
    failed: Annotated[bool, typer.Option("--failed", help="Cells that failed or were killed, by reason.")] = False,
    searches: Annotated[bool, typer.Option("--searches", help="Searches: what they found and cost.")] = False,
    trials: Annotated[bool, typer.Option("--trials", help="Trials of searches, with their values.")] = False,
    store: Store = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """List sweeps, the cells of one, failures with their reasons, or searches and their trials."""
    from gnz_track.store.address import parse_address
    from gnz_track.store.listings import has_tables

    form = _choose_form(as_json=as_json, as_csv=as_csv)
    kind = _choose_kind({"--failed": failed, "--searches": searches, "--trials": trials}, sweep=sweep)
    address = parse_address(store)
    if not has_tables(address):
        say(f"nothing in {address} yet; fill it with: gnz run or gnz tune", err=True)
        return
    names = {"suite": suite, "task": task, "model": model, **({"sweep": sweep} if kind != SWEEPS else {})}
    PRINTERS[form](LISTS[kind](address, **names))


def _choose_form(*, as_json: bool, as_csv: bool) -> str:
    if as_json and as_csv:
        raise BadValue("form of output", "--json --csv", "one of them")
    return "json" if as_json else "csv" if as_csv else "table"


def _choose_kind(flags: Mapping[str, bool], *, sweep: str) -> str:
    """Return which list is wanted; a sweep alone asks for its cells."""
    chosen = [flag for flag, is_given in flags.items() if is_given]
    if len(chosen) > 1:
        raise BadValue("what is to be listed", " ".join(chosen), "one of them")
    return chosen[0] if chosen else CELLS if sweep else SWEEPS


def _sweeps(address: Address, **names: str) -> Listing:
    from gnz_track.seeds import format_seeds
    from gnz_track.store.listings import SweepRow, list_sweeps

    found = list_sweeps(address, **names)
    rows = [
        (
            row.sweep,
            row.suite,
            row.status or "-",
            row.n_finished,
            row.n_failed or "",
            row.n_running or "",
            row.n_killed or "",
            _name_few(row.tasks),
            _name_few(row.models),
            format_seeds(row.seeds),
            f"{row.started.astimezone():%Y-%m-%d %H:%M}",
        )
        for row in found
    ]
    counts = (">finished", ">failed", ">running", ">killed")
    return Listing(
        title=f"sweeps in {address}",
        columns=("sweep", "suite", "status", *counts, "tasks", "models", "seeds", "started"),
        rows=rows,
        records=[{**asdict(row), "started": row.started.isoformat()} for row in found],
        fields=list(SweepRow.__dataclass_fields__),
        note=_note_on([row.sweep for row in found if row.trained_nothing])
        if found
        else _note_on_searches(address, names),
    )


def _note_on_searches(address: Address, names: Mapping[str, str]) -> str:
    """Return where the searches are of a store that no sweep was written to."""
    from gnz_track.store.searches import read_searches

    n_searches = len(read_searches(address, **names))
    counted = f"{n_searches} search{'' if n_searches == 1 else 'es'}"
    return f"{counted} whose winners no sweep has trained: gnz ls --searches" if n_searches else ""


def _cells(address: Address, *, sweep: str, **names: str) -> Listing:
    from gnz_track.store.listings import list_cells, list_sweeps

    table = list_cells(address, sweep=sweep, **names)
    has_none = table.empty and any(row.sweep == sweep and row.trained_nothing for row in list_sweeps(address))
    table["start_time"] = table["start_time"].map(lambda time: time.isoformat())
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    rows = [
        (
            row["task"],
            _label_of(row),
            row["seed"],
            row["status"],
            "-" if row["score"] is None else f"{row['score']:.4f}",
            row["metric"],
            "-" if row["seconds"] is None else f"{row['seconds']:.1f}",
            row["run_id"][:RUN_ID_SHOWN],
        )
        for row in records
    ]
    return Listing(
        title=f"cells of {sweep}",
        columns=("task", "model", ">seed", "status", ">score", "metric", ">wall s", "run"),
        rows=rows,
        records=records,
        fields=list(table.columns),
        note=_note_on([sweep] if has_none else []),
    )


def _failures(address: Address, **names: str) -> Listing:
    from gnz_track.store.listings import FailureRow, list_cells, list_failures

    found = list_failures(list_cells(address, **names))
    rows = [
        (
            len(row.cells),
            row.status,
            _name_few(row.cells),
            _name_few(row.sweeps),
            row.run_ids[0][:RUN_ID_SHOWN],
            " ".join(row.reason.split()) or "-",
        )
        for row in found
    ]
    return Listing(
        title="cells that failed or were killed (tracebacks: gnz ui)",
        columns=(">cells", "status", "which", "sweeps", "first run", "reason"),
        rows=rows,
        records=[asdict(row) for row in found],
        fields=list(FailureRow.__dataclass_fields__),
    )


def _note_on(sweeps: Sequence[str]) -> str:
    """Return what a sweep without cells of its own is about."""
    if not sweeps:
        return ""
    return (
        f"nothing was left to train for {_name_few(sweeps)}; what others had finished: gnz report --sweep {sweeps[0]}"
    )


def _name_few(names: Sequence[str]) -> str:
    more = f", +{len(names) - NAMES_SHOWN}" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def _label_of(row: Mapping[str, Any]) -> str:
    """Return a model's name with what its cell changed."""
    import json

    return " ".join(
        [row["model"], *(f"{key}={value}" for key, value in json.loads(row["hyperparameters"] or "{}").items())]
    )


def _print_table(listing: Listing) -> None:
    from gnz_track.cli.terminal.output import print_rows

    if listing.rows:
        print_rows(listing.title, listing.columns, listing.rows)
    else:
        say(f"{listing.title}: none")
    if listing.note:
        say(listing.note)


def _print_json(listing: Listing) -> None:
    import json

    hand_over(json.dumps(listing.records, indent=1, ensure_ascii=False))


def _print_csv(listing: Listing) -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(listing.fields)
    for record in listing.records:
        values = (record[name] for name in listing.fields)
        writer.writerow([" ".join(map(str, value)) if isinstance(value, list | tuple) else value for value in values])
    hand_over(text.getvalue())


NAMES = ("suite", "sweep", "task", "model")
FACTS = ("name", "kind", "sampler", "protocol", "metric", "direction", "seed", "study_seed", "space_digest", "storage")


def _list_searches(address: Address, **names: str) -> Listing:
    """Return the searches that bear the names, with what they found and what they cost."""
    records, rows = [], []
    for search in _find_searches(address, names):
        cost = search.cost
        found = {name: getattr(search, name) for name in (*NAMES, *FACTS, "best_number", "best_score")}
        records.append({**found, "best": dict(search.best), "borders": list(search.borders), **cost})
        rows.append(
            (
                search.sweep or "-",
                search.task,
                search.model if search.seed is None else f"{search.model} s{search.seed}",
                search.sampler,
                len(search.trials),
                search.n_failed or "",
                "-" if search.best_score is None else f"{search.best_score:.4f}",
                search.metric,
                f"{cost['seconds']:.1f}",
                _write_values(search.best),
            )
        )
    return Listing(
        title=f"searches in {address}",
        columns=(
            "sweep",
            "task",
            "model",
            "sampler",
            ">trials",
            ">failed",
            ">validation",
            "metric",
            ">wall s",
            "chose",
        ),
        rows=rows,
        records=records,
        fields=[*NAMES, *FACTS, "best_number", "best_score", "best", "borders", *_COST],
    )


def _list_trials(address: Address, **names: str) -> Listing:
    """Return all trials of the searches that bear the names; for programs with a field for each hyperparameter."""
    records: list[dict[str, Any]] = []
    rows = []
    for search in _find_searches(address, names):
        for trial in search.trials:
            plain = {name: getattr(trial, name) for name in _TRIAL}
            records.append(
                {**{name: getattr(search, name) for name in NAMES}, "search": search.name, **plain}
                | {f"value/{name}": value for name, value in trial.hyperparameters.items()}
            )
            mark = " *" if trial.number == search.best_number else ""
            score = "-" if trial.score is None else f"{trial.score:.4f}"
            rows.append(
                (
                    search.title,
                    trial.number,
                    trial.state,
                    f"{score}{mark}",
                    f"{trial.seconds:.1f}",
                    trial.source,
                    trial.reason or _write_values(trial.hyperparameters),
                )
            )
    fields = list(dict.fromkeys(name for record in records for name in record))
    return Listing(
        title="trials (* is the winner of its search)",
        columns=("search", ">trial", "state", ">validation", ">wall s", "from", "values"),
        rows=rows,
        # A program finds the same fields in each.
        records=[{name: record.get(name) for name in fields} for record in records],
        fields=fields,
    )


_COST = ("trials", "failed_trials", "epochs", "seconds", "cpu_seconds")
_TRIAL = ("number", "state", "score", "epochs", "seconds", "cpu_seconds", "reason", "source")


def _find_searches(address: Address, names: dict[str, str]) -> tuple[SearchRecord, ...]:
    from gnz_track.store.searches import read_searches

    found = read_searches(address, **names)
    if not found:
        known = read_searches(address)
        for kind, name in names.items():
            listed = {str(getattr(search, kind)) for search in known} - {""}
            if name and known and name not in listed:
                raise UnknownName(f"{kind} with a search", name, listed, command="gnz ls --searches")
    return found


def _write_values(values: Any) -> str:
    return ", ".join(
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in sorted(values.items())
    )


SWEEPS, CELLS = "", "--sweep"
LISTS: dict[str, Callable[..., Listing]] = {
    SWEEPS: _sweeps,
    CELLS: _cells,
    "--failed": _failures,
    "--searches": _list_searches,
    "--trials": _list_trials,
}
PRINTERS: dict[str, Callable[[Listing], None]] = {"table": _print_table, "json": _print_json, "csv": _print_csv}
