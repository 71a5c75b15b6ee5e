"""Telling two versions of a model apart, in any process.

What can be imported is known by its source text. What cannot (a notebook's class, a class within a function) is known
by its compiled code, and by the values, functions and classes that this code refers to: two classes of one text that
close over different numbers are different models. No torch here.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from gnz_track.errors import TargetMissing
from gnz_track.registry import import_target, is_target

__all__ = ["digest_source", "target_of"]


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


def digest_source(*items: Any) -> str:
    """Return the digest (32 hexadecimal digits) of the source of classes and functions.

    >>> digest_source(lambda x: x + 1) == digest_source(lambda x: x + 2)
    False
    """
    digest = hashlib.md5(usedforsecurity=False)
    for item in items:
        for line in [_source_text(item)] if target_of(item) else _outline(item, set()):
            digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def _source_text(item: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(item))
    except (OSError, TypeError):
        # Compiled, or without its source file: then its name is all there is.
        return target_of(item)


def _outline(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield lines that are the same in every process, and different where the behaviour may be."""
    target = target_of(value)
    if target or id(value) in seen:
        yield target or "again"
        return
    for kind, describe in _DESCRIBERS.items():
        if isinstance(value, kind):
            if kind in _MAY_RECUR:
                seen.add(id(value))
            yield type(value).__qualname__
            yield from describe(value, seen)
            return
    # Of any other object nothing is known that another process would say in the same words.
    yield type(value).__qualname__


# What Python itself writes into a class, or what says nothing of its behaviour.
_SILENT = {"__module__", "__dict__", "__weakref__", "__doc__", "__firstlineno__", "__static_attributes__"}


def _outline_class(cls: Any, seen: set[int]) -> Iterator[str]:
    for base in cls.__bases__:
        yield from _outline(base, seen)
    for name, value in sorted(vars(cls).items()):
        if name not in _SILENT:
            yield name
            yield from _outline(value, seen)


def _outline_function(function: Any, seen: set[int]) -> Iterator[str]:
    yield from _outline(function.__code__, seen)
    yield from _outline((function.__defaults__, sorted((function.__kwdefaults__ or {}).items())), seen)
    for cell in function.__closure__ or ():
        yield from _outline(_content(cell), seen)
    for name in sorted(_globals_of(function.__code__) & function.__globals__.keys()):
        yield name
        yield from _outline(function.__globals__[name], seen)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "not set yet"


def _globals_of(code: CodeType) -> set[str]:
    """Return the global names that some code, and the code within it, reads."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return names.union(*(_globals_of(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _outline_code(code: Any, seen: set[int]) -> Iterator[str]:
    # No file and no line: a cell of a notebook has other ones in every session.
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    yield from _outline(code.co_consts, seen)


def _outline_items(items: Any, seen: set[int]) -> Iterator[str]:
    for item in items:
        yield from _outline(item, seen)


_MAY_RECUR = (type, FunctionType, tuple, list, dict)
_DESCRIBERS: dict[Any, Any] = {
    type: _outline_class,
    FunctionType: _outline_function,
    CodeType: _outline_code,
    ModuleType: lambda module, _: iter([module.__name__]),
    (staticmethod, classmethod): lambda method, seen: _outline(method.__func__, seen),
    property: lambda value, seen: _outline_items((value.fget, value.fset), seen),
    (tuple, list): _outline_items,
    (set, frozenset): lambda items, _: iter(sorted(map(repr, items))),
    dict: lambda items, seen: _outline_items(sorted(items.items(), key=repr), seen),
    (str, bytes, int, float, complex, type(None), type(...)): lambda value, _: iter([repr(value)]),
}
