"""The working folder: a place that modules are imported from in calls that name code, and in no others.

Whoever unpacks a store from elsewhere, and looks at it in its folder, must not import ``pandas.py`` from there.
Somebody may have removed the folder; whatever needs it then says so in a sentence.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from gnz_track.errors import GnzError

__all__ = [
    "NAMES_CODE",
    "FolderGone",
    "find_working_folder",
    "reach_working_folder",
    "refuse_missing_folder",
    "settle_working_folder",
]


# These ask for the folder while they are imported; one of them ends the process where there is none.
_NEED_FOLDER = frozenset({"torch", "torch_geometric", "mlflow"})


class FolderGone(GnzError):
    """A command that needs the folder in which it was typed, and that is no more."""

    def __init__(self, needed_for: str) -> None:
        super().__init__(
            f"the folder in which you typed this has been removed, and {needed_for} needs one. "
            f"Type: cd FOLDER, then the same command again"
        )


def find_working_folder() -> Path | None:
    """Return the folder in which a command was typed; None where somebody has removed it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def refuse_missing_folder() -> None:
    """Let whatever needs a folder, where there is none, say so as soon as it is asked for."""
    if find_working_folder() is None:
        sys.meta_path.insert(0, _Refusal())


class _Refusal(MetaPathFinder):
    """Finds nothing, and says why it does not look for what needs a folder."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        del path, target
        if fullname in _NEED_FOLDER:
            raise FolderGone(fullname)


# Commands whose words, or whose params.yaml, may name mynets:MyNet.
NAMES_CODE = frozenset({"audit", "run", "stage", "tune"})


def settle_working_folder(command: str) -> None:
    """Search the working folder for modules where a command names code, and leave it out otherwise."""
    if command in NAMES_CODE:
        reach_working_folder()
    elif _comes_first():
        del sys.path[0]


def reach_working_folder() -> None:
    """Search the working folder first, as ``python -m`` does: mynets:MyNet is found where the command is typed."""
    here = find_working_folder()
    if here is not None and not {"", str(here)} & set(sys.path):
        sys.path.insert(0, str(here))


def _comes_first() -> bool:
    """Tell whether Python itself has put the working folder first; what the user's own settings name stays."""
    is_module = sys.orig_argv[1:3] == ["-m", "gnz_track"] and not sys.flags.safe_path
    # The package may lie in the working folder itself.
    own = str(Path(__file__).parents[3])
    return is_module and sys.path[0] in {"", str(find_working_folder())} - {own}
