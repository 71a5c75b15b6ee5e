"""Rows that other packages add through entry points; one that cannot be read costs its own name and nothing else."""

from __future__ import annotations

import shlex
import sys
import warnings
from importlib.metadata import EntryPoint, entry_points

from gnz_track.errors import GnzError

__all__ = ["PluginBroken", "PluginWarning", "find_plugins", "load_plugin"]


class PluginWarning(UserWarning):
    """Says that a row of another package is missing, and why; once a process."""


class PluginBroken(GnzError):
    """A row of another package that cannot be read, because the package fails."""

    def __init__(self, kind: str, point: EntryPoint, reason: str) -> None:
        package = point.dist.name if point.dist else "of an unknown name"
        shown = f"{package} {point.dist.version}" if point.dist else package
        # Where the module itself fails, this shows how it came to that; all else is said already.
        module = shlex.quote(f"import {point.value.partition(':')[0].strip()}")
        remedy = f"Mend it, or: pip uninstall {package}. " if point.dist else ""
        super().__init__(
            f"{kind} {point.name!r} is missing: the installed package {shown} has the entry point "
            f"{point.name} = {point.value} in {point.group}, and that fails: {reason}. {remedy}"
            f"Its traceback: {shlex.quote(sys.executable or 'python')} -c {module}"
        )
        self.kind, self.point = kind, point


def find_plugins(group: str) -> list[EntryPoint]:
    """Return the rows that installed packages add to a group; nothing is imported."""
    return list(entry_points(group=group)) if group else []


def load_plugin(point: EntryPoint, *, kind: str, row_type: type | None) -> object:
    """Import a row of another package; return what is wrong as a :class:`PluginBroken`, and warn of it.

    Parameters
    ----------
    point
        Entry point that the package declares.
    kind
        Kind of row, for messages.
    row_type
        Type that the row must have; None takes any.
    """
    try:
        row: object = point.load()
    # Whatever a package does while it is imported, which may be to leave, is its own mistake, and told as that.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        said = " ".join(str(error).split())
        broken = PluginBroken(kind, point, f"{type(error).__name__}: {said}" if said else type(error).__name__)
        broken.__cause__ = error
    else:
        if row_type is None or isinstance(row, row_type):
            return row
        found = row.__name__ if isinstance(row, type) else type(row).__name__
        broken = PluginBroken(kind, point, f"it leads to {found!r}, and not to a {row_type.__name__}")
    try:
        warnings.warn(PluginWarning(str(broken)), stacklevel=4)
    except PluginWarning:
        # Who made errors of all warnings wants no sweep without it.
        raise broken from broken.__cause__
    return broken
