"""``gnz audit``: whether a dataset is worth benchmarking on."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.own_data import Directed, Ignore, Label, Unlabelled, read_flags
from gnz_track.cli.terminal.interrupts import INTERRUPTED
from gnz_track.cli.terminal.output import check_folder, choose_place, hand_over, naming, say
from gnz_track.cli.training import MODELS_HELP, PROTOCOL_HELP, find_task, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnz_track.benchmark import Request
    from gnz_track.quality.separability import SeparabilitySettings
    from gnz_track.runs.executors.fork_server import ForkServer
    from gnz_track.runs.sweep import Sweep
    from gnz_track.store.address import Address
    from gnz_track.store.audits import AuditRecord

__all__ = ["add_to"]

FAILED = 1
SUITE = "audit"
EXAMPLES = """
[bold]Examples[/bold]

  gnz audit mutag enzymes      (complementarity and diversity alone: seconds)

  gnz audit mutag --full --models GCN,GIN --seeds 0-9 --jobs 2

  gnz audit mutag --full --test rank_sum --alpha 0.05 --out reports/mutag

Interrupted, --full goes on where it was with the same command; what it trains are ordinary runs: gnz ls.
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("audit", epilog=EXAMPLES)(_audit)


def _audit(  # noqa: PLR0913  (one parameter per flag)
    tasks: Annotated[list[str], typer.Argument(metavar="TASK...", help="Tasks by name, or files; see gnz tasks.")],
    *,
    label: Label = "",
    ignore: Ignore = "",
    directed: Directed = False,
    unlabelled: Unlabelled = False,
    full: Annotated[
        bool, typer.Option("--full/--fast", help="Train models on perturbed graphs too, or measure alone.")
    ] = False,
    models: Annotated[str, typer.Option("--models", "--model", help=MODELS_HELP)] = "GCN,GIN",
    seeds: Annotated[str, typer.Option(help="Such as 0-9, 3 or 0,2,5; fewer than 8 rarely show anything.")] = "0-9",
    epochs: Annotated[int | None, typer.Option(help="Instead of each task's own number.")] = None,
    protocol: Annotated[str, typer.Option(help=PROTOCOL_HELP)] = "graphnetz",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    test: Annotated[str, typer.Option(help="ks, rank_sum or bootstrap; default ks, of numbers bootstrap.")] = "",
    alpha: Annotated[float, typer.Option(help="Level of the tests, before Bonferroni.")] = 0.01,
    compat: Annotated[str, typer.Option(help="rings: p-values as the published package has them.")] = "",
    distance: Annotated[str, typer.Option(help="Between nodes: diffusion, walk, heat, ...")] = "diffusion",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Worker processes; 1 trains in this one.", show_default="as many as cores")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Most seconds for one cell; starts workers.")] = None,
    store: Store = "",
    out: Annotated[Path | None, typer.Option(help="Folder for the page; default reports/audit.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Count cells that are finished, or train all anew.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether datasets are worth benchmarking on: what structure and features hold, and what models make of it.

    The verdict (keep, realign or deprecate) stands with the rule that fired, in the store, on a page, and from then on
    beside the task in every report.
    """
    from gnz_track.runs.executors.fork_server import open_fork_server_for

    folder = check_folder("--out", out or Path("reports") / "audit")
    reading = read_flags(label, ignore, directed, unlabelled)
    needed = open_fork_server_for(jobs=jobs or 1, timeout=timeout) if full else contextlib.nullcontext()
    with needed as fork_server:
        from gnz_track.benchmark import Request, jobs_of
        from gnz_track.models.catalogue import describe_all
        from gnz_track.quality.separability import SeparabilitySettings
        from gnz_track.runs.protocol_files import find_protocol
        from gnz_track.seeds import parse_seeds
        from gnz_track.store.address import parse_address

        request = Request(
            tasks=[find_task(name, reading=reading) for name in dict.fromkeys(split(",".join(tasks)))],
            models=describe_all(split(models)),
            seeds=parse_seeds(seeds),
            protocol=find_protocol(protocol),
            address=parse_address(store),
            suite=SUITE,
            epochs=epochs,
            device=device,
            place=choose_place(home, mirror),
            **jobs_of(jobs),
            timeout=timeout,
            is_fresh=not resume,
            source="gnz audit",
        )
        # A slip in these is told before anything is measured.
        settings = SeparabilitySettings(test=test or "ks", alpha=alpha, compat=compat)
        records = _measure_tasks(request, distance)
        sweep = _train_perturbed(request, fork_server) if full else None
    if sweep is not None:
        records = [_judge(record, sweep, request.address, settings, test) for record in records]
    page = _keep(request, records, folder)
    _print_audits(records, page, as_json=as_json)
    if sweep is not None and (sweep.table["status"] != "finished").any():
        raise typer.Exit(FAILED)


def _measure_tasks(request: Request, distance: str) -> list[AuditRecord]:
    from gnz_track.datasets.preparation import prepare
    from gnz_track.quality.audit import Depth, audit_dataset
    from gnz_track.quality.measures import Measure

    depth, found = Depth(measure=Measure(graph=distance)), []
    for task in request.tasks:
        dataset = prepare(task, seed=request.seeds[0], home=request.place.home, mirror=request.place.mirror)
        found.append(audit_dataset(dataset, task, depth))
        say(f"measured {task.name} in {found[-1].seconds:.1f} s", err=True)
    return found


def _train_perturbed(request: Request, fork_server: ForkServer | None) -> Sweep:
    from dataclasses import replace

    from gnz_track.benchmark import carry_out, find_remaining_of, settle_jobs
    from gnz_track.quality.judgement import TRAINED_MODES
    from gnz_track.runs.progress import Progress

    request = replace(request, perturbations=TRAINED_MODES)
    remaining = find_remaining_of(request)
    if len(remaining.done):
        say(f"{len(remaining.done)} of {len(remaining.plan.cells)} cells are finished already", err=True)
    request = settle_jobs(request, remaining)
    progress = Progress(remaining, jobs=request.jobs)
    try:
        with progress:
            sweep = carry_out(request, remaining, tell=progress.hear, fork_server=fork_server)
    except KeyboardInterrupt:
        kept = f"{progress.count_kept()} are kept in {request.address}"
        say(f"{kept}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None
    for notice in sweep.notices:
        say(f"note: {notice}", err=True)
    return sweep


def _judge(
    record: AuditRecord, sweep: Sweep, address: Address, settings: SeparabilitySettings, test: str
) -> AuditRecord:
    from dataclasses import replace

    from gnz_track.quality.judgement import gather_scores, judge_dataset, usual_test
    from gnz_track.store.past_runs import read_scores

    runs = [run_id for run_id in sweep.table["run_id"] if run_id]
    scores = gather_scores(sweep.table, record.task, read_scores(address, runs))
    chosen = replace(settings, test=test or usual_test(record.task_type))
    return judge_dataset(record, scores, chosen, sweep=sweep.name)


def _keep(request: Request, records: Sequence[AuditRecord], folder: Path) -> Path:
    from gnz_track.report.page.audits import write_audit_page
    from gnz_track.store.audits import write_audit
    from gnz_track.store.writer import open_store

    with open_store(request.address) as store:
        for record in records:
            write_audit(store, record)
    with naming(folder):
        return write_audit_page(records, folder / "audit.html")


def _print_audits(records: Sequence[AuditRecord], page: Path, *, as_json: bool) -> None:
    from gnz_track.cli.terminal.output import print_rows

    if as_json:
        for record in records:
            hand_over(record.to_json())
        return
    rows = [
        (
            record.task,
            record.decision,
            *(_graded(found.mean, found.grade) for found in (record.structure, record.features)),
            record.performance or "-",
            *(_write_gamma(record, "original", place) for place in (0, -1)),
        )
        for record in records
    ]
    columns = ("task", "verdict", ">diversity of structure", ">of features", ">performance", ">gamma", ">last t")
    print_rows("audits", columns, rows)
    for record in records:
        say(f"\n{record.task}: {record.decision}: {record.rule}")
        for note in record.notes:
            say(f"  note: {note}")
    say(f"\npage     {page}")


def _graded(mean: float | None, grade: str) -> str:
    return "undefined" if mean is None else f"{mean:.2f} {grade}"


def _write_gamma(record: AuditRecord, mode: str, place: int) -> str:
    mean = next(found.means[place] for found in record.modes if found.name == mode)
    return "undefined" if mean is None else f"{mean:.3f}"
