"""``gnz doctor``: what this machine has, and what is missing."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import typer

from gnz_track import __version__
from gnz_track.cli.ls import Store
from gnz_track.cli.terminal.output import takes_files
from gnz_track.errors import GnzError

__all__ = ["add_to"]

# How a finding begins that keeps something from working.
LACKS = ("missing", "not usable", "not writable")


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("doctor", epilog="[bold]Example[/bold]  gnz doctor")(_doctor)


def _doctor(*, store: Store = "") -> None:
    """Show versions, devices and folders; exit code 1 where something needed is missing."""
    from gnz_track.cli.terminal.output import print_rows

    rows = [
        ("gnz_track", __version__, str(Path(__file__).parents[1])),
        ("python", platform.python_version(), sys.executable),
        *_packages(),
        *_devices(),
        *_store(store),
        *_folders(),
    ]
    print_rows("environment", ("what", "found", "where or why"), rows)
    if any(found.startswith(LACKS) for _, found, _ in rows):
        raise typer.Exit(1)


def _packages() -> list[tuple[str, str, str]]:
    from packaging.requirements import Requirement

    try:
        wanted = requires("gnz-track") or []
    except PackageNotFoundError:
        return [("gnz-track", "not installed", "runs from its source; what it needs is in pyproject.toml")]
    rows: dict[str, tuple[str, str, str]] = {}
    for requirement in map(Requirement, wanted):
        # What several extras need is one package; what is needed at all comes first.
        if requirement.name in rows or requirement.name == "gnz-track":
            continue
        is_extra = requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})
        extra = str(requirement.marker).partition("extra == ")[2].strip('"') if is_extra else ""
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            found = "not installed" if is_extra else "missing"
        is_within = found[0].isdigit() and requirement.specifier.contains(found, prereleases=True)
        note = "" if is_within or not found[0].isdigit() else f"outside of {requirement.specifier}"
        shown = note or (f"extra {extra}" if extra else str(requirement.specifier))
        rows[requirement.name] = (requirement.name, found, shown)
    return list(rows.values())


def _devices() -> list[tuple[str, str, str]]:
    import torch

    from gnz_track.training.acceleration.library import describe_kernels

    rows = [("processors", str(os.cpu_count()), platform.processor() or platform.machine())]
    rows.append(("kernels", *describe_kernels()))
    if not torch.cuda.is_available():
        return [*rows, ("gpu", "none", "cells run on the CPU, one thread each")]
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return [*rows, *((f"gpu {i}", name, f"CUDA {torch.version.cuda}") for i, name in enumerate(names))]


def _store(given: str) -> list[tuple[str, str, str]]:
    """Tell whether the store answers, whether it holds anything, and how large its files are."""
    from gnz_track.store.address import parse_address
    from gnz_track.store.cell_files.inventory import count_files
    from gnz_track.store.listings import holds_sweeps

    try:
        address = parse_address(given)
        found = "in use" if holds_sweeps(address) else "empty"
    except GnzError as error:
        return [("store", "not usable", str(error))]
    rows = [("store", found, f"{address} (set GNZ_STORE, or --store)")]
    files = count_files(address)
    if files is not None:
        what = f"{files.n_files} files of {files.n_runs} runs in {address.artifacts} (gnz gc --artifacts)"
        rows.append(("artifacts", f"{files.n_bytes / 2**20:.1f} MiB", what))
    return rows


def _folders() -> list[tuple[str, str, str]]:
    from gnz_track.datasets.homes import data_home
    from gnz_track.datasets.sources.download import without_credentials
    from gnz_track.datasets.sources.fetch import parse_mirror
    from gnz_track.store.outbox import outbox_home

    home, outbox, found = data_home(), outbox_home(), parse_mirror()
    mirror = without_credentials(found) if isinstance(found, str) else found
    return [
        ("spool", _state_of_folder(outbox), f"{outbox}, where results wait for a store (set XDG_DATA_HOME to move it)"),
        ("data home", _state_of_folder(home), f"{home} (set GNZ_DATA to move it)"),
        ("mirror", "set" if mirror else "none", str(mirror or "set GNZ_MIRROR to a folder or an address of raw files")),
    ]


def _state_of_folder(folder: Path) -> str:
    return "writable" if takes_files(folder) else "not writable"
