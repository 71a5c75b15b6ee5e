"""The folder in which a command is typed, which somebody may have removed: what needs it says so in a sentence."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from gnz_track.errors import GnzError

__all__ = ["FolderGone", "find_working_folder", "refuse_missing_folder"]

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
