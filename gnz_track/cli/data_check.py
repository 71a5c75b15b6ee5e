"""``gnz data check``: frozen datasets are whole, their parts apart, and what gives labels away is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.data_choice import Choice, choose_rows
from gnz_track.cli.home import choose_home

if TYPE_CHECKING:
    from gnz_track.datasets.frozen import FrozenDataset
    from gnz_track.datasets.screens.checks import CheckFinding
    from gnz_track.types import DatasetRow

__all__ = ["add_check"]

FAULTY = 1


def add_check(group: typer.Typer) -> None:
    """Add this command."""
    group.command("check", epilog="[bold]Example[/bold]  gnz data check cora mutag --deep")(_check)


def _check(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets by name.", show_default=False)] = None,
    *,
    suite: Annotated[str, typer.Option(help="The datasets of a named selection of tasks; see gnz tasks.")] = "",
    deep: Annotated[bool, typer.Option("--deep", help="Freeze again from the raw files too, and compare.")] = False,
    mirror: Annotated[str, typer.Option(help="Folder of raw files, for --deep; default GNZ_MIRROR.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    seed: Annotated[int, typer.Option(help="Whose parts are looked at; for generated data, whose data.")] = 0,
) -> None:
    """Derive the digest of frozen datasets again from every byte, and look for what their scores would hide.

    A fault (other sizes than the catalogue's, parts that overlap, other bytes than those of the raw files) ends with
    code 1. A note is a property of the data: test graphs that training has too, one column that tells the label.
    """
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.preparation import check_dataset

    chosen = Choice(names=tuple(names or ()), suite=suite)
    if chosen == Choice():
        raise typer.BadParameter("give datasets by name, or --suite; see: gnz data list")
    rows, _ = choose_rows(chosen)
    home = choose_home(home)
    datasets = [check_dataset(row, seed=seed, home=home) for row in rows]
    table = [(dataset.name, "ok", dataset.digest, dataset.folder) for dataset in datasets]
    print_rows("digests, from every byte", ("dataset", "", "digest", "folder"), table)
    n_faults = 0
    for row, dataset in zip(rows, datasets, strict=True):
        findings = _find(row, dataset, seed)
        if deep:
            findings.append(("", _compare(row, dataset, home=home, mirror=mirror)))
        listed = [(finding.level, kind, finding.check, finding.sentence) for kind, finding in findings]
        print_rows(f"\nfound in {row.name}", ("", "posed as", "check", "what"), listed)
        n_faults += sum(finding.level == "fault" for _, finding in findings)
    if n_faults:
        raise typer.Exit(FAULTY)


def _find(row: DatasetRow, dataset: FrozenDataset, seed: int) -> list[tuple[str, CheckFinding]]:
    """Return all findings with the task type; those of the data alone are the same for all, and shown once."""
    from gnz_track.datasets.screens.checks import Subject
    from gnz_track.datasets.screens.checks import check as run_checks

    found: list[tuple[str, CheckFinding]] = []
    for task_type in row.task_types:
        shown = [finding for _, finding in found]
        new = run_checks(Subject(dataset, row, task_type, seed))
        found += [(str(task_type), finding) for finding in new if finding not in shown]
    return found


def _compare(row: DatasetRow, dataset: FrozenDataset, *, home: Path, mirror: str) -> CheckFinding:
    from gnz_track.datasets.screens.raw_comparison import compare_with_raw

    return compare_with_raw(dataset, row, home=home, mirror=mirror or None)
