"""The working folder among the places that modules are imported from: for calls that name code, and for no others.

Who unpacks a store from elsewhere, and looks at it in its folder, must not import ``pandas.py`` from there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gnz_track.cli.missing_folder import find_working_folder

__all__ = ["NAMES_CODE", "reach_working_folder", "settle_working_folder"]

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
    own = str(Path(__file__).parents[2])
    return is_module and sys.path[0] in {"", str(find_working_folder())} - {own}
