"""Owner of the code that a name leads to: this package, an installed one of some version, or the user."""

from __future__ import annotations

import functools
import re
import sys
import sysconfig
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path

__all__ = ["OURS", "distribution_of", "is_installed", "is_ours", "is_recorded"]

OURS = "gnz_track"


def is_ours(name: str) -> bool:
    """Tell the names of our own modules, and of what is in them.

    >>> is_ours("gnz_track.models.deep:GCN"), is_ours("gnz_tracks:GCN"), is_ours("")
    (True, False, False)
    """
    return name.partition(":")[0].partition(".")[0] == OURS


def is_installed(place: str) -> bool:
    """Tell whether a file or folder is that of an installed package, or of Python itself."""
    path = Path(place)
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(path.is_relative_to(folder) for folder in _library_folders())


@functools.cache
def _library_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    found = {Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(found | {folder.resolve() for folder in found})


def is_recorded(distribution: str) -> bool:
    """Tell the packages that ours needs: each run records their versions, and reports compare them."""
    return _plain_name(distribution) in _needed()


def distribution_of(module: str) -> tuple[str, str]:
    """Return name and version of the package that a module was installed with; no name for a module of Python."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return "", ""
    if is_recorded(root):
        # Which module comes from which package takes half a second to find out, and these need no asking.
        return root, ""
    found = _distributions().get(root, [root])[0]
    try:
        return found, version(found)
    except PackageNotFoundError:
        return found, "unknown"


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


@functools.cache
def _needed() -> frozenset[str]:
    try:
        wanted = [text for text in requires("gnz-track") or [] if "extra ==" not in text]
    except PackageNotFoundError:
        # It runs from a folder, where nobody has said what it needs.
        wanted = ["torch", "torch-geometric", "numpy"]
    return frozenset(_plain_name(re.split(r"[^A-Za-z0-9_.-]", text)[0]) for text in (*wanted, "gnz-track"))


def _plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
