"""One kind of table for all names: datasets, tasks, suites, models, protocols, metrics.

A registry maps a unique name to a row. Unknown names answer with near matches, duplicates are errors, and
other packages may add rows through entry points, which are read at the first look-up and never at import. One that
cannot be read is missing, with a warning, and asking for it says why; nothing else is the worse for it.
"""

from __future__ import annotations

import importlib
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from gnz_track.errors import DuplicateName, GnzError, TargetMissing, UnknownName

__all__ = ["PluginBroken", "PluginWarning", "Registry", "before_others", "import_target", "is_target"]


_BEFORE_OTHERS: list[Callable[[], object]] = []


def before_others(do: Callable[[], object]) -> None:
    """Have something done once, right before code of somebody else is imported by its name for the first time."""
    _BEFORE_OTHERS.append(do)


def _get_ready_for_others() -> None:
    while _BEFORE_OTHERS:
        _BEFORE_OTHERS.pop(0)()


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


def _find_plugins(group: str) -> list[EntryPoint]:
    """Return the rows that installed packages add to a group; nothing is imported."""
    return list(entry_points(group=group)) if group else []


def _load_plugin(point: EntryPoint, *, kind: str, row_type: type | None) -> object:
    """Import a row of another package; return what is wrong as a :class:`PluginBroken`, and warn of it."""
    _get_ready_for_others()
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


Row = TypeVar("Row")


class Registry(Generic[Row]):
    """Names to rows of one kind, in the order of registration.

    >>> colours = Registry[str]("colour")
    >>> colours.add("red", "#f00")
    '#f00'
    >>> colours.get("red")
    '#f00'
    """

    def __init__(
        self, kind: str, *, command: str = "", entry_point_group: str = "", row_type: type[Row] | None = None
    ) -> None:
        self.kind, self._command = kind, command
        self._group, self._row_type = entry_point_group, row_type
        self._rows: dict[str, Row] = {}
        self._broken: dict[str, PluginBroken] = {}
        self._is_loaded = not entry_point_group
        self._read_more: Callable[[], Mapping[str, Row]] = dict

    def add_source(self, read_more: Callable[[], Mapping[str, Row]]) -> None:
        """Have rows too that are read anew at each look-up; those of a taken name are left out."""
        self._read_more = read_more

    def add(self, name: str, row: Row) -> Row:
        """Add a row under a new name and return it; a taken name is an error."""
        if name in self._rows:
            raise DuplicateName(self.kind, name)
        self._rows[name] = row
        return row

    def remove(self, name: str) -> Row:
        """Remove and return the row of a name."""
        row = self.get(name)
        if name not in self._rows:
            raise UnknownName(f"{self.kind} of this process", name, self._rows, command=self._command)
        del self._rows[name]
        return row

    def get(self, name: str) -> Row:
        """Return the row of a name; an unknown name raises with near matches and the command that lists all."""
        self._load_plugins()
        try:
            return self._rows[name] if name in self._rows else self._read_more()[name]
        except (KeyError, TypeError):
            if isinstance(name, str) and name in self._broken:
                raise self._broken[name] from self._broken[name].__cause__
            raise UnknownName(self.kind, name, self._all(), command=self._command) from None

    def names(self) -> list[str]:
        """Return all names in order of registration."""
        return list(self._all())

    def rows(self) -> list[Row]:
        """Return all rows in order of registration."""
        return list(self._all().values())

    def __contains__(self, name: object) -> bool:
        self._load_plugins()
        return name in self._rows or name in self._read_more()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def _all(self) -> Mapping[str, Row]:
        self._load_plugins()
        more = self._read_more()
        return {**self._rows, **{name: row for name, row in more.items() if name not in self._rows}}

    def _load_plugins(self) -> None:
        if self._is_loaded:
            return
        self._is_loaded = True
        for point in _find_plugins(self._group):
            if point.name in self._rows or point.name in self._broken:
                continue
            found = _load_plugin(point, kind=self.kind, row_type=self._row_type)
            if isinstance(found, PluginBroken):
                self._broken[point.name] = found
            else:
                # While it was imported, a package may have registered the row itself.
                self._rows.setdefault(point.name, cast("Row", found))


def is_target(text: str) -> bool:
    """Tell whether a text has the form ``package.module:attribute``.

    >>> is_target("mypkg.nets:Net"), is_target("GCN")
    (True, False)
    """
    module, colon, attribute = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), *attribute.split(".")])


def import_target(target: str) -> object:
    """Import ``package.module:attribute`` and return the attribute.

    >>> import_target("math:pi") > 3
    True
    """
    if not is_target(target):
        raise TargetMissing(target, "it is not of the form 'package.module:attribute'")
    module, _, attribute = target.partition(":")
    if module.partition(".")[0] != __name__.partition(".")[0]:
        _get_ready_for_others()
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A module that exists but misses one of its own imports is the user's traceback to see.
        if error.name is not None and not (module + ".").startswith(error.name + "."):
            raise
        raise TargetMissing(target, f"there is no module {error.name!r}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            reason = f"module {module!r} has no attribute {attribute!r}"
            public = [name for name in dir(found) if not name.startswith("_")]
            raise TargetMissing(target, reason, name=part, known=public)
        found = getattr(found, part)
    return found
