"""The digest of classes and functions, and of all of the user's code that they reach.

Comments, docstrings and formatting change nothing; a helper two files away does. Of installed packages that are reached
the version counts, but for those that this package needs itself: every run records them and reports compare them, and
if they counted here, an update of Torch would put the user's models out of date and leave those of the catalogue.
"""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings
from gnz_track.user_code.modules import Module, forget_modules, is_ours
from gnz_track.user_code.reach import Reach
from gnz_track.user_code.values import Outline, target_of

__all__ = ["ITSELF", "Code", "describe_code", "describe_own"]

_PART = 12
# How the part of what travels by value is called, behind its name.
ITSELF = " itself"


@dataclass(frozen=True, kw_only=True)
class Code:
    """A digest (32 hexadecimal digits), the digests of what is in it by ``module:name``, and what was not followed.

    ``unseen`` are short sentences with module and line; code that they name may change and the digest does not.
    """

    digest: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_mappings(self, "parts")


def describe_own(*items: Any) -> Code:
    """Describe what of some classes and functions is the user's; nothing at all where all of them are ours."""
    own = [item for item in items if not _is_ours(item)]
    return describe_code(*own) if own else Code()


def _is_ours(item: Any) -> bool:
    item = item.func if isinstance(item, functools.partial) else item
    return is_ours(str(getattr(item, "__module__", "")))


def describe_code(*items: Any) -> Code:
    """Describe classes and functions, those that can be imported by their text and others as they live."""
    forget_modules()
    reach, outline = Reach(), Outline()
    named = []
    for number, item in enumerate(items):
        lines = list(outline.lines(item))
        named.append(target_of(item) or f"by value {number}: {_digest_of_lines(lines)}")
        outline.found.update(dict.fromkeys(_bases_of(item)))
    for module, name in list(outline.found):
        reach.follow(module, tuple(name.split(".")[:1]) if name else ())
    for ran in reach.executed.values():
        _refuse_changed(ran, reach.texts)
    parts = {name: _digest_of_lines([text])[:_PART] for name, text in sorted(reach.texts.items())}
    parts |= {f"{_name_of(item)}{ITSELF}": text.rpartition(" ")[2][:_PART] for item, text in _by_value(items, named)}
    return Code(
        digest=_digest_of_lines([*named, *(f"{name} {digest}" for name, digest in sorted(parts.items()))]),
        parts=parts,
        unseen=tuple(dict.fromkeys([*reach.unseen, *outline.unseen])),
    )


def _by_value(items: tuple[Any, ...], named: list[str]) -> Iterator[tuple[Any, str]]:
    return ((item, text) for item, text in zip(items, named, strict=True) if text.startswith("by value"))


def _name_of(item: Any) -> str:
    # Not where it was defined: a copy of it may be told otherwise.
    return str(getattr(item, "__name__", type(item).__name__))


def _bases_of(item: Any) -> Iterator[tuple[str, str]]:
    """Yield the classes that a class is made of, as they are by now, whatever its text says."""
    for cls in item.__mro__ if isinstance(item, type) else ():
        target = target_of(cls)
        if target:
            module, _, name = target.partition(":")
            yield module, name


def _digest_of_lines(lines: list[str]) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    for line in lines:
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def _refuse_changed(module: Module, texts: Mapping[str, str]) -> None:
    """Raise where a module was edited after it was imported: what this process runs is no longer what is written."""
    living = sys.modules.get(module.name)
    if living is None or type(module.spec.loader) is not SourceFileLoader or module.text is None:
        # Whoever reads texts in a way of their own may rewrite them too.
        return
    if getattr(module.spec, "_initializing", False):
        return
    # Several functions may have one name: parts of a property, lambdas, what is defined under one condition or another.
    written: dict[str, list[CodeType]] = {}
    for code in _codes_in(compile(module.text, "", "exec", dont_inherit=True)):
        written.setdefault(code.co_qualname, []).append(code)
    for name in (key.partition(":")[2] for key in texts if key.startswith(f"{module.name}:")):
        _refuse_set(module, name, vars(living))
        for function in _functions_of(vars(living).get(name), module.name):
            codes, runs = written.get(function.__qualname__, []), _steps_of(function.__code__)
            if codes and not any(_steps_of(code) == runs for code in codes):
                where = f"the code of {module.name}:{function.__qualname__}"
                allowed = "that of its file; it was edited after this process had imported it"
                raise BadValue(where, "the former one", f"{allowed}: start Python anew, or importlib.reload")


def _refuse_set(module: Module, name: str, living: Mapping[str, Any]) -> None:
    """Raise where a constant has another value than its file says: other processes would not have that value."""
    statements = (
        [module.syntax.statements[place] for place in module.syntax.bindings.get(name, ())] if module.syntax else []
    )
    found = statements[0].node if len(statements) == 1 else None
    value = found.value if isinstance(found, ast.Assign | ast.AnnAssign) else None
    targets = found.targets if isinstance(found, ast.Assign) else []
    if not isinstance(value, ast.Constant) or any(not isinstance(target, ast.Name) for target in targets):
        return
    if name in living and repr(living[name]) != repr(value.value):
        allowed = f"{value.value!r} as in its file; pass to the constructor what is to vary, as a hyperparameter"
        raise BadValue(f"the constant {module.name}:{name}", living[name], allowed)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes_in(inner)


def _functions_of(value: Any, module: str) -> Iterator[FunctionType]:
    """Yield a function, or those of a class, as far as they were written in a module."""
    for item in list(vars(value).values()) if isinstance(value, type) else [value]:
        parts = (item.fget, item.fset, item.fdel) if isinstance(item, property) else (getattr(item, "__func__", item),)
        for function in map(inspect.unwrap, filter(None, parts)):
            if isinstance(function, FunctionType) and function.__module__ == module:
                yield function


def _steps_of(code: CodeType) -> list[Any]:
    """Return what some code does, step by step, wherever it stands and whatever its docstring says."""
    steps: list[Any] = []
    for step in dis.get_instructions(code):
        value = step.argval
        said = sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
        steps.append((step.opname, _steps_of(value) if isinstance(value, CodeType) else said))
    return steps
