"""``gnz init``: a folder with a benchmark of one's own, which runs as it is."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from gnz_track.cli.terminal.output import naming, say
from gnz_track.errors import BadValue

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz init mybench

  gnz init mybench --suite ten

  gnz init mybench --task cora,pubmed --no-scm

  gnz init mybench --tune 30 --audit
"""
DEFAULT_TASKS = "planted_partition,les_miserables"


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("init", epilog=EXAMPLES)(_init)


def _init(
    name: Annotated[str, typer.Argument(help="A new folder; its name is the suite's.", show_default=False)],
    *,
    suite: Annotated[str, typer.Option(help="All tasks of a suite beside the own one; see gnz tasks.")] = "",
    task: Annotated[str, typer.Option(help="Tasks beside the own one, by commas.")] = "",
    tune: Annotated[int, typer.Option(help="Trials for each model and task, in a stage of its own.")] = 0,
    audit: Annotated[bool, typer.Option("--audit", help="Say of every dataset whether it is worth it.")] = False,
    scm: Annotated[bool, typer.Option("--scm/--no-scm", help="With Git, or without any version control.")] = True,
) -> None:
    """Make a benchmark of one's own: params.yaml, dvc.yaml, an own model and dataset as examples, tests, a README."""
    from gnz_track.datasets.catalogue import SUITES, TASKS
    from gnz_track.pipeline.starter_project import start_project

    names = SUITES.get(suite).tasks if suite else [part.strip() for part in (task or DEFAULT_TASKS).split(",")]
    if suite and task:
        raise BadValue("--task", task, "either --suite or --task")
    folder = Path(name).expanduser()
    git = shutil.which("git") if scm else None
    tasks = [TASKS.get(item) for item in names]
    with naming(folder):
        written = start_project(folder, tasks=tasks, has_git=git is not None, n_trials=tune, audits=audit)
    for path in written:
        say(path)
    if git is not None and not _is_in_repository(git, folder):
        _make_repository(git, folder)
    if shutil.which("dvc") is None:
        say("the program dvc is not here yet: pip install 'gnz-track[dvc]'", err=True)
    # A name may hold spaces, and may look like a flag.
    say(f"\nnext: cd {'-- ' if name.startswith('-') else ''}{shlex.quote(name)} && dvc repro")


def _make_repository(git: str, folder: Path) -> None:
    """Make a repository; all files of the project are there already, and Git alone has to be called again."""
    ended = subprocess.run([git, "init", "--quiet"], cwd=folder, check=False, capture_output=True)  # noqa: S603
    if ended.returncode:
        said = ended.stderr.decode("utf-8", "replace").strip() or "it said nothing"
        say(f"note: 'git init' ended with code {ended.returncode}: {said}; mend that, then type it there", err=True)


def _is_in_repository(git: str, folder: Path) -> bool:
    asked = [git, "rev-parse", "--is-inside-work-tree"]
    return not subprocess.run(asked, cwd=folder, check=False, capture_output=True).returncode  # noqa: S603
