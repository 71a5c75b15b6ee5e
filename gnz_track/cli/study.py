"""``gnz study``: factors and their levels from a YAML file, trained in all combinations and compared."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.run import print_remaining_cells
from gnz_track.cli.terminal.output import check_folder, choose_place, naming, say, see
from gnz_track.cli.training import find_task, look_up, train
from gnz_track.errors import NothingToCompare

if TYPE_CHECKING:
    from gnz_track.benchmark import Request
    from gnz_track.report.study_effects import StudyComponents, StudyEffects
    from gnz_track.runs.study_files import FactorStudy
    from gnz_track.runs.sweep import Sweep

__all__ = ["add_to"]

FAILED = 1
STUDY_HELP = "A name of the list that 'gnz study' prints, or a YAML file."
SIZE_HELP = "full, or tiny: a try in minutes, as the study says."
EXAMPLES = """
[bold]Examples[/bold]

  gnz study      (the studies that come with the package)

  gnz study positional-encodings --size tiny

  gnz study training-size --size tiny --seeds 0-9 --jobs 2 --out reports/sizes

  gnz study ./study.yaml --dry-run

Interrupted, it goes on where it was with the same command; what it trains are ordinary runs: gnz ls, gnz report.
"""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("study", epilog=EXAMPLES)(_study)


def _study(  # noqa: PLR0913  (one parameter per flag)
    name: Annotated[str, typer.Argument(metavar="[STUDY]", help=STUDY_HELP)] = "",
    *,
    size: Annotated[str, typer.Option(help=SIZE_HELP)] = "full",
    seeds: Annotated[str, typer.Option(help="In place of those of the study, such as 0-9.")] = "",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Worker processes; 1 trains in this one.", show_default="as many as cores")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Most seconds for one cell; starts workers.")] = None,
    store: Store = "",
    out: Annotated[Path | None, typer.Option(help="Folder for all files; default reports/studies/NAME.")] = None,
    alpha: Annotated[float, typer.Option(help="Level of tests and intervals.")] = 0.05,
    margin: Annotated[float | None, typer.Option(help="Largest difference that does not matter.")] = None,
    test: Annotated[str, typer.Option(help="t, wilcoxon, sign_flip, nadeau_bengio, anytime or fixed_looks.")] = "t",
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Count cells that are finished, or train all anew.")
    ] = True,
    yes: Annotated[bool, typer.Option("--yes", help="Train a study of more than 10,000 cells.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be trained, and train nothing.")] = False,
) -> None:
    """Train models under every level of some factors, and say what each level does, paired against a reference."""
    if not name:
        _print_studies()
        return
    from gnz_track.runs.executors.choice import Crew, check_crew
    from gnz_track.runs.executors.fork_server import open_fork_server_for
    from gnz_track.runs.settings import settle_options
    from gnz_track.runs.study_files import COMPONENTS, find_study, read_levels
    from gnz_track.stats.comparison.choices import Choices

    # A slip in these is told before anything heavy is imported.
    usual = 1 if jobs is None else jobs
    check_crew(Crew(jobs=usual, timeout=timeout))
    study = find_study(name, size=size)
    choices = Choices(alpha=alpha, margin=margin, test=test)
    protocol, numbers, address = look_up(",".join(study.models), study.protocol, seeds or study.written_seeds, store)
    study = replace(study, seeds=numbers)
    folder = check_folder("--out", out or Path("reports") / "studies" / study.name)
    with contextlib.nullcontext() if dry_run else open_fork_server_for(jobs=usual, timeout=timeout) as fork_server:
        how = {"protocol": protocol, "address": address, "device": device, "place": choose_place(home, mirror)}
        request = _ask(
            study, may_be_large=yes, is_fresh=not resume, jobs=usual, chooses_jobs=jobs is None, timeout=timeout, **how
        )
        levels = read_levels(study, settle_options(request.models))
        if dry_run:
            print_remaining_cells(request)
            return
        from gnz_track.benchmark import find_remaining_of

        sweep = train(request, find_remaining_of(request), fork_server)
    from gnz_track.report.study_effects import find_components, find_effects

    if study.analysis == COMPONENTS:
        found: StudyEffects | StudyComponents = find_components(sweep.table, levels)
    else:
        found = find_effects(sweep.table, levels, **vars(choices))
    _print_found(found, sweep)
    _print_files(study, request, sweep, found, folder)
    if found.missing:
        raise typer.Exit(FAILED)


def _ask(study: FactorStudy, *, may_be_large: bool, **how: Any) -> Request:
    """Return the benchmark that a study asks for."""
    from gnz_track.benchmark import LARGEST_GRID, MOST_CELLS, Request
    from gnz_track.models.catalogue import describe_all

    return Request(
        tasks=[find_task(task) for task in study.tasks],
        models=describe_all(list(study.models)),
        seeds=study.seeds,
        suite=study.name,
        epochs=study.epochs,
        settings=study.choices,
        perturbations=[study.perturb] if study.perturb else [],
        most_cells=LARGEST_GRID if may_be_large else MOST_CELLS,
        source="gnz study",
        **how,
    )


def _print_studies() -> None:
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.runs.study_files import SIZES, find_study, list_studies

    rows = []
    for name in list_studies():
        sizes = [find_study(name, size=size) for size in SIZES]
        counts = [len(one.tasks) * len(one.models) * len(one.seeds) * one.n_combinations for one in sizes]
        factors = ", ".join(f"{one.name} ({len(one.values)})" for one in sizes[0].factors)
        rows.append((name, factors, ", ".join(sizes[0].tasks), *counts, sizes[0].description))
    columns = ("study", "factors (levels)", "tasks", *(f">cells {size}" for size in SIZES), "about")
    print_rows("studies that come with the package", columns, rows)
    say("\ntry one in minutes: gnz study training-size --size tiny")


def _print_found(found: StudyEffects | StudyComponents, sweep: Sweep) -> None:
    from gnz_track.cli.terminal.output import print_failures, print_skipped
    from gnz_track.report.study_effects import StudyEffects
    from gnz_track.report.tables.factors import component_table, effect_table, interaction_table

    if isinstance(found, StudyEffects):
        tables = {"Effects": effect_table(found), "Interactions": interaction_table(found)}
        findings, lacking = found.findings, "no level of the study and its reference have a seed in common with a score"
    else:
        tables, findings, lacking = {"Components": component_table(found)}, (), "no cell of the study has a score"
    for title, table in tables.items():
        if table.rows:
            say(f"{title}\n{table.to_text()}")
    print_skipped(sweep.skipped)
    for notice in (*sweep.notices, *map(str, findings)):
        say(f"note: {notice}", err=True)
    print_failures([result for result in sweep.results if not result.is_finished])
    if found.missing:
        say(f"{len(found.missing)} of {found.n_cells} cells have no score", err=True)
    if not next(iter(tables.values())).rows:
        raise NothingToCompare(lacking)


def _print_files(
    study: FactorStudy, request: Request, sweep: Sweep, found: StudyEffects | StudyComponents, folder: Path
) -> None:
    from gnz_track.report.page.studies import write_components_page, write_study_page
    from gnz_track.report.study_effects import StudyEffects

    facts = [
        ("size", study.size),
        ("tasks", ", ".join(study.tasks)),
        ("models", ", ".join(study.models)),
        ("seeds", study.written_seeds),
        ("protocol", request.protocol.label),
        ("sweep", sweep.name),
        *([("perturbation", study.perturb)] if study.perturb else []),
    ]
    about: dict[str, Any] = {"title": f"Study {study.name}", "description": study.description}
    with naming(folder):
        if isinstance(found, StudyEffects):
            facts += [
                (factor, f"{levels[0]} (reference), {', '.join(map(str, levels[1:]))}")
                for factor, levels in found.factors.items()
            ]
            page, table = write_study_page(found, folder, facts=facts, **about), "effects.csv"
        else:
            facts += [(one.name, ", ".join(map(str, one.values))) for one in study.factors]
            page, table = write_components_page(found, folder, facts=facts, **about), "components.csv"
    say(f"\npage     {page}")
    say(f"tables   {folder / table}")
    say(f"sweep    {sweep.name}; {see('gnz report, gnz ls', request.address)}")
