"""One kind of table for all names: datasets, tasks, suites, models, protocols, metrics.

A registry maps a unique name to a row. Unknown names answer with near matches, duplicates are errors, and
other packages may add rows through entry points, which are read at the first look-up and never at import. One that
cannot be read is missing, with a warning, and asking for it says why; nothing else is the worse for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Generic, TypeVar, cast

from gnz_track.errors import DuplicateName, TargetMissing, UnknownName
from gnz_track.plugins import PluginBroken, find_plugins, load_plugin

__all__ = ["Registry", "import_target", "is_target"]

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

    def add(self, name: str, row: Row) -> Row:
        """Add a row under a new name and return it; a taken name is an error."""
        if name in self._rows:
            raise DuplicateName(self.kind, name)
        self._rows[name] = row
        return row

    def remove(self, name: str) -> Row:
        """Remove and return the row of a name."""
        row = self.get(name)
        del self._rows[name]
        return row

    def get(self, name: str) -> Row:
        """Return the row of a name; an unknown name raises with near matches and the command that lists all."""
        self._load_plugins()
        try:
            return self._rows[name]
        except (KeyError, TypeError):
            if isinstance(name, str) and name in self._broken:
                raise self._broken[name] from self._broken[name].__cause__
            raise UnknownName(self.kind, name, self._rows, command=self._command) from None

    def names(self) -> list[str]:
        """Return all names in order of registration."""
        self._load_plugins()
        return list(self._rows)

    def rows(self) -> list[Row]:
        """Return all rows in order of registration."""
        self._load_plugins()
        return list(self._rows.values())

    def __contains__(self, name: object) -> bool:
        self._load_plugins()
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def _load_plugins(self) -> None:
        if self._is_loaded:
            return
        self._is_loaded = True
        for point in find_plugins(self._group):
            if point.name in self._rows or point.name in self._broken:
                continue
            found = load_plugin(point, kind=self.kind, row_type=self._row_type)
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
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A module that exists but misses one of its own imports is the user's traceback to see.
        if error.name is not None and not (module + ".").startswith(error.name + "."):
            raise
        raise TargetMissing(target, f"there is no module {error.name!r}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise TargetMissing(target, f"module {module!r} has no attribute {attribute!r}")
        found = getattr(found, part)
    return found
