"""Functions and classes that training uses, as they were when this module was imported.

Python lets anybody put another function in the place of ``torch.nn.functional.relu``, and libraries do. A model of
somebody's own may have that for itself: what its import replaced stays replaced while its own cells are trained.
Our own cells are trained with the originals, and no cell leaves anything replaced behind.

What is held are the namespaces of :data:`NAMESPACES`: which object has which name, and the code and the defaults of
each function. A name that is new in a module is nobody's; one that is new in a class hides that of its base.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter, ne
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch_geometric.nn  # noqa: F401  (whose layers are held too)

__all__ = ["Originals", "Replacement", "originals"]


# Modules, each with all below it where the name ends in a dot.
NAMESPACES = (
    "builtins",
    "copy",
    "functools",
    "math",
    "operator",
    "random",
    "numpy",
    "numpy.linalg",
    "numpy.random",
    "torch",
    "torch._C._linalg",
    "torch._C._nn",
    "torch._tensor",
    "torch.autograd.",
    "torch.functional",
    "torch.linalg",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.modules.",
    "torch.nn.parameter",
    "torch.optim.",
    "torch.random",
    "torch.sparse",
    "torch.special",
    "torch_geometric.data.",
    "torch_geometric.index",
    "torch_geometric.nn.",
    "torch_geometric.typing",
    "torch_geometric.utils.",
)
_KINDS = (FunctionType, BuiltinFunctionType, type, staticmethod, classmethod, property)
_CLOSED = frozenset({"random", "torch", "torch_geometric"})
# What is found there in a process that has imported nothing else.
_FRIENDS = sys.stdlib_module_names | {
    *("jinja2", "numpy", "pybind11_builtins", "sympy", "torch", "torch_geometric", "torchgen", "tqdm"),
    *("networkx", "scipy", "typing_extensions"),
}
_MISSING: Any = object()
_INSIDE = attrgetter("__code__", "__defaults__")


@dataclass(frozen=True, eq=False)
class Replacement:
    """A name of a module or class, or the inside of a function, and what stands there now in place of the original."""

    owner: Any
    name: str
    original: Any
    value: Any

    @property
    def place(self) -> tuple[int, str]:
        """Key that tells it from changes elsewhere."""
        return id(self.owner), self.name

    def __str__(self) -> str:
        if isinstance(self.owner, ModuleType):
            return f"{self.owner.__name__}.{self.name}"
        return f"{self.owner.__module__}.{self.owner.__qualname__}.{self.name}"

    def make(self) -> None:
        """Let it stand there."""
        _put(self.owner, self.name, self.value)

    def undo(self) -> None:
        """Put the original back."""
        _put(self.owner, self.name, self.original)


class Originals:
    """Values that stood in the namespaces when this was made."""

    def __init__(self) -> None:
        modules = [module for name, module in sorted(sys.modules.items()) if _is_held(name) and _is_module(module)]
        found = {id(item): item for module in modules for item in vars(module).values() if isinstance(item, type)}
        classes = [item for item in found.values() if _is_held(item.__module__)]
        self._owners: list[Any] = [*modules, *classes]
        self._callables = [_callables_of(owner) for owner in self._owners]
        # All names, to see at once that nothing has happened; one that was looked into is looked into anew.
        self._seen = [dict(vars(owner)) for owner in self._owners]
        functions = {id(item): item for held in self._callables for item in map(_function_of, held.values())}
        self._functions = [item for item in functions.values() if isinstance(item, FunctionType)]
        self._insides = list(map(_INSIDE, self._functions))

    def strangers(self) -> list[str]:
        """Return the names in Torch and PyG that stood for code of somebody else when this was made."""
        found = []
        for owner, held in zip(self._owners, self._callables, strict=True):
            package = (owner.__name__ if isinstance(owner, ModuleType) else owner.__module__).partition(".")[0]
            for name, value in held.items() if package in _CLOSED else ():
                module = getattr(_function_of(value), "__module__", None)
                root = module.partition(".")[0] if isinstance(module, str) else "torch"
                # Python makes a part of each named tuple in a module that is none.
                if root not in _FRIENDS and not root.startswith("namedtuple_"):
                    found.append(str(Replacement(owner, name, value, value)))
        return found

    def changes(self) -> list[Replacement]:
        """Return what is not as it was."""
        places = [place for place, is_other in enumerate(map(ne, map(vars, self._owners), self._seen)) if is_other]
        found = [change for place in places for change in self._look_into(place)]
        insides = list(map(_INSIDE, self._functions))
        if insides != self._insides:
            for function, original, now in zip(self._functions, self._insides, insides, strict=True):
                for name, before, value in zip(("__code__", "__defaults__"), original, now, strict=True):
                    found += [Replacement(function, name, before, value)] if value is not before else []
        return found

    def _look_into(self, place: int) -> list[Replacement]:
        owner, held = self._owners[place], self._callables[place]
        now = dict(vars(owner))
        held |= {name: now[name] for name in held.keys() & now.keys() if _wraps(now[name], held[name])}
        found = [
            Replacement(owner, name, original, now.get(name, _MISSING))
            for name, original in held.items()
            if now.get(name, _MISSING) is not original
        ]
        if isinstance(owner, type):
            known = self._seen[place]
            added = [name for name, value in now.items() if name not in known and isinstance(value, _KINDS)]
            found += [Replacement(owner, name, _MISSING, now[name]) for name in added if not _is_own(owner, now[name])]
        if not found:
            self._seen[place] = now
        return found

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Put all originals back for a while."""
        replaced = self.changes()
        for change in replaced:
            change.undo()
        try:
            yield
        finally:
            for change in replaced:
                change.make()

    @contextlib.contextmanager
    def as_found(self) -> Iterator[None]:
        """Put back, at the end, what is there now."""
        replaced = {change.place: change for change in self.changes()}
        try:
            yield
        finally:
            for change in self.changes():
                if change.place not in replaced:
                    change.undo()
            for change in replaced.values():
                change.make()


def _is_held(name: str) -> bool:
    return any(name == held.rstrip(".") or (held.endswith(".") and name.startswith(held)) for held in NAMESPACES)


def _is_module(module: object) -> bool:
    return type(module) is ModuleType


def _callables_of(owner: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(owner).items() if isinstance(value, _KINDS)}


def _function_of(item: Any) -> Any:
    return getattr(item, "__func__", item)


def _is_own(owner: type, value: Any) -> bool:
    """Tell whether something new in a class is of its own package: PyG writes parts of its layers at first use."""
    module = getattr(_function_of(value), "__module__", None) or ""
    return bool(module.partition(".")[0] == owner.__module__.partition(".")[0])


def _wraps(value: Any, original: Any) -> bool:
    """Tell whether a function is the original in a wrapper of Torch: for optimisers, or to keep its compiler away.

    The compiler wraps a function so when it is imported, which may be in the middle of a cell.
    """
    if not isinstance(value, FunctionType) or getattr(value, "__wrapped__", None) is not original:
        return False
    return (
        value.__globals__.get("__name__") in {"torch.optim.optimizer", "torch._compile"}
        or getattr(value, "_torchdynamo_disable", False) is True
    )


def _put(owner: Any, name: str, value: Any) -> None:
    if value is not _MISSING:
        setattr(owner, name, value)
    elif name in vars(owner):
        delattr(owner, name)


originals = Originals()
