"""Code that cannot be imported, as it lives in this process: its compiled code, and the values that this refers to.

Two classes of one text that close over different numbers are different models. Lines are the same in every process of
one version of Python. What another process can import ends a line of thought: it is named, and followed by its text.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from inspect import CO_OPTIMIZED
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

from gnz_track.errors import TargetMissing
from gnz_track.registry import import_target, is_target
from gnz_track.user_code.modules import OURS, find_module, is_ours, lasting_name

__all__ = ["Outline", "target_of"]


def target_of(attribute: Any) -> str:
    """Return ``module:qualname`` where another process can import it, else an empty text.

    >>> target_of(dict), target_of(lambda: 0)
    ('builtins:dict', '')
    """
    module, name = getattr(attribute, "__module__", None), getattr(attribute, "__qualname__", None)
    target = f"{module}:{name}"
    if module in (None, "__main__") or not is_target(target):
        return ""
    if _is_being_imported(str(module)):
        # A decorator is called before its module has the name; a moment later it has.
        return target
    try:
        return target if import_target(target) is attribute else ""
    except TargetMissing:
        return ""


def _is_being_imported(module: str) -> bool:
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


# What Python itself writes into a class, or what says nothing of its behaviour.
_SILENT = frozenset(
    [
        "__module__",
        "__dict__",
        "__weakref__",
        "__doc__",
        "__firstlineno__",
        "__static_attributes__",
        "_abc_impl",
        "__slotnames__",
    ]
)
_WAYS_OUT = frozenset(
    {"exec", "__import__", "import_module", "run_path", "locate", "resolve_name", "environ", "getenv"}
)
CO_HAS_DOCSTRING = 0x4000000


class Outline:
    """Lines about values; ``found`` are those of them that can be imported, as module and dotted name."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], None] = {}
        self.unseen: dict[str, None] = {}
        # What was described already, kept alive: a number of an object means nothing once the object is gone.
        self._again: dict[int, Any] = {}

    def lines(self, value: Any) -> Iterator[str]:
        """Yield lines that are the same in every process, and different where the behaviour may be."""
        target = target_of(value)
        if target or id(value) in self._again:
            if target:
                self.found[tuple(target.split(":"))] = None  # type: ignore[index]
            yield lasting_name(target) or "again"
            return
        for kind, describe in _DESCRIBERS.items():
            if isinstance(value, kind):
                yield from self._described(value, describe, may_recur=kind in _MAY_RECUR)
                return
        yield from self._described(value, Outline.of_object, may_recur=True)

    def _described(
        self, value: Any, describe: Callable[[Outline, Any], Iterator[str]], *, may_recur: bool
    ) -> Iterator[str]:
        if may_recur:
            self._again[id(value)] = value
        yield type(value).__qualname__
        yield from describe(self, value)
        if not isinstance(value, type | FunctionType):
            # Values may be one or two that are equal: as a copy of them is in another process.
            self._again.pop(id(value), None)

    def of_class(self, cls: Any) -> Iterator[str]:
        """Yield the bases of a class, and what is in it."""
        for base in (type(cls), *cls.__bases__):
            yield from self.lines(base)
        for name, value in sorted(vars(cls).items()):
            if name not in _SILENT:
                yield name
                yield from self.lines(value)

    def of_function(self, function: Any) -> Iterator[str]:
        """Yield the code of a function, its defaults, and what it closes over and refers to."""
        yield from self.lines(function.__code__)
        yield from self.lines((function.__defaults__, sorted((function.__kwdefaults__ or {}).items())))
        for cell in function.__closure__ or ():
            yield from self.lines(_content(cell))
        yield from self.lines({name: value for name, value in vars(function).items() if name != "__wrapped__"})
        self._follow_imports(function.__code__)
        for name in sorted(_globals_of(function.__code__) & function.__globals__.keys()):
            yield name
            value = function.__globals__[name]
            yield from self._module_in(value, function.__code__) if isinstance(value, ModuleType) else self.lines(value)

    def _module_in(self, module: ModuleType, code: CodeType) -> Iterator[str]:
        """Name a module, and take for reached what the code names and the module has."""
        yield OURS if is_ours(module.__name__) else module.__name__
        named = _names_in(code)
        if named & {"getattr", "vars", "__dict__"}:
            self.found[module.__name__, ""] = None
        for name in sorted(named & vars(module).keys()):
            self.found[module.__name__, name] = None

    def _follow_imports(self, code: CodeType) -> None:
        """Take what a function imports when it is called for reached."""
        found: dict[str, list[str]] = {}
        module = ""
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                module = str(step.argval)
                found.setdefault(module, [])
            elif step.opname == "IMPORT_FROM":
                found[module].append(str(step.argval))
            elif step.argval in _WAYS_OUT and step.opname in {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_METHOD", "LOAD_ATTR"}:
                self.unseen[f"{code.co_qualname}: {step.argval}"] = None
        for module, names in found.items():
            # No name of it: whatever is in it may be meant.
            self.found |= dict.fromkeys((module, name) for name in names or ("",))
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self._follow_imports(inner)

    def of_code(self, code: Any) -> Iterator[str]:
        """Yield the instructions and constants of compiled code."""
        # No file and no line: a cell of a notebook has other ones in every session. A docstring says nothing.
        yield code.co_code.hex()
        yield repr((code.co_names, code.co_varnames, code.co_freevars))
        yield from self.lines(code.co_consts[1:] if _has_docstring(code) else code.co_consts)

    def of_items(self, items: Any) -> Iterator[str]:
        """Yield lines about each of several values."""
        for item in items:
            yield from self.lines(item)

    def of_module(self, module: Any) -> Iterator[str]:
        """Yield the name of a module that is a value: all of it may be meant."""
        self.found[module.__name__, ""] = None
        yield OURS if is_ours(module.__name__) else module.__name__

    def of_object(self, value: Any) -> Iterator[str]:
        """Yield the class of an object, and what it holds where that is the user's; what shows nothing is told."""
        kind = type(value)
        yield from self.lines(kind)
        numbers, held = getattr(value, "tolist", None), getattr(value, "__dict__", None)
        if callable(numbers):
            yield f"{getattr(value, 'dtype', '')} {tuple(getattr(value, 'shape', ()))} {numbers()!r}"
        elif hasattr(value, "__wrapped__"):
            yield from self.lines((value.__wrapped__, {**(held or {}), "__wrapped__": None}))
        elif isinstance(held, Mapping) and (_is_own_class(kind) or hasattr(value, "parameters")):
            yield from self.lines(dict(held))
        else:
            yield from self._by_parts(value)

    def _by_parts(self, value: Any) -> Iterator[str]:
        """Yield what it takes to make an object anew, or how it shows itself."""
        kind = type(value)
        parts = _parts_of(value)
        if parts is not None:
            yield from self.lines(parts)
        elif " at 0x" not in repr(value):
            yield repr(value)
        elif kind.__module__.partition(".")[0] not in sys.stdlib_module_names:
            self.unseen[f"an object of {kind.__module__}:{kind.__qualname__}"] = None

    def of_set(self, items: Any) -> Iterator[str]:
        """Yield lines about each of several values that have no order."""
        yield from sorted("\n".join(self.lines(item)) for item in items)


def _parts_of(value: Any) -> tuple[Any, ...] | None:
    """Return what a copy of an object would be made of; None where it tells nothing of it."""
    if isinstance(value, MappingProxyType):
        return tuple(value.items())
    try:
        registered = copyreg.dispatch_table.get(type(value))
        made = registered(value) if registered else value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001  (any class may refuse to be copied, in words of its own)
        return None
    if isinstance(made, str):
        # It is known by its name alone.
        return None
    # Items come as iterators.
    return tuple(tuple(part) if isinstance(part, Iterator) else part for part in made)


def _is_own_class(cls: type) -> bool:
    """Tell a class of the user's from those of packages, whose objects hold what is theirs."""
    module = find_module(cls.__module__) if cls.__module__ != "__main__" else None
    return module is None or module.is_own


def _has_docstring(code: CodeType) -> bool:
    """Tell whether the first constant of some code is the docstring of a function, or stands in for one."""
    is_function = bool(code.co_flags & CO_OPTIMIZED) and not code.co_name.startswith("<")
    if sys.version_info >= (3, 13):
        return is_function and bool(code.co_flags & CO_HAS_DOCSTRING)
    return is_function and isinstance(code.co_consts[0], str | None)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "not set yet"


def _globals_of(code: CodeType) -> set[str]:
    """Return the global names that some code, and the code within it, reads."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return names.union(*(_globals_of(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _names_in(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names_in(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


_MAY_RECUR = (type, FunctionType, tuple, list, dict)
_DESCRIBERS: dict[Any, Any] = {
    Enum: lambda _, value: iter([str(value)]),
    type: Outline.of_class,
    FunctionType: Outline.of_function,
    CodeType: Outline.of_code,
    ModuleType: Outline.of_module,
    (staticmethod, classmethod): lambda self, method: self.lines(method.__func__),
    MethodType: lambda self, method: self.of_items((method.__func__, method.__self__)),
    BuiltinFunctionType: lambda _, function: iter([function.__qualname__]),
    property: lambda self, value: self.of_items((value.fget, value.fset, value.fdel)),
    functools.partial: lambda self, value: self.of_items((value.func, value.args, value.keywords)),
    (tuple, list): Outline.of_items,
    (set, frozenset): Outline.of_set,
    defaultdict: lambda self, items: self.of_items((items.default_factory, dict(items))),
    # In its own order, in which layers may be made.
    dict: lambda self, items: self.of_items(items.items()),
    PurePath: lambda _, path: iter([str(path)]),
    (str, bytes, int, float, complex, type(None), type(...)): lambda _, value: iter([repr(value)]),
}
