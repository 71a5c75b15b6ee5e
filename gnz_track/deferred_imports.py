"""Imports that PyG makes for all its users, put off to the moment at which somebody needs them.

``import torch_geometric`` takes twice as long as ``import torch``: for one look at whether an object was compiled it
imports Torch's compiler, and for one of its datasets pandas and its language models. Here both wait for their first
use, in every process alike. What is imported then is what PyG would have imported, by its own files; nothing stands in
for it. Where those files or Torch are otherwise than is known here, PyG is imported as it always is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from threading import RLock
from types import CodeType, ModuleType

__all__ = ["defer_imports"]

COMPILER = "torch._dynamo"


def defer_imports() -> None:
    """Let PyG be imported without what it hardly needs, in a process that has not imported it yet."""
    if "torch_geometric" not in sys.modules and _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class _Finder:
    """Finds the modules of :data:`_LOADERS`, where Python would find them."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where a module is and what loads it; None leaves it to others."""
        kind = _LOADERS.get(name)
        spec = None if kind is None else PathFinder.find_spec(name, path, target)
        if kind is None or spec is None or type(spec.loader) is not SourceFileLoader:
            return spec
        spec.loader = kind(name, spec.loader.path)
        return spec


class _WithoutCompiler(SourceFileLoader):
    """Loads a file that imports Torch's compiler at its start; Torch imports it where it is first spoken of."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the file, its line ``import torch._dynamo`` read as ``import torch``."""
        torch = sys.modules.get("torch")
        if COMPILER in sys.modules or "_dynamo" not in getattr(torch, "_lazy_modules", ()):
            return super().get_code(fullname)
        # Here, because `import gnz_track` is to cost nothing.
        import ast

        tree = ast.parse(self.get_source(fullname) or "")
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and ast.unparse(node) == f"import {COMPILER}":
                node.names[0].name = "torch"
        code: CodeType = compile(tree, self.path, "exec")
        return code


class _OnFirstUse(SourceFileLoader):
    """Loads a package when a name of it is first asked for; files in it can be imported before."""

    def exec_module(self, module: ModuleType) -> None:
        """Have the module ask for its content when a name is missing; one that has run and is reloaded runs at once."""
        if "__builtins__" in vars(module):
            SourceFileLoader.exec_module(self, module)
            return
        lock, is_begun = RLock(), False

        def load() -> None:
            nonlocal is_begun
            with lock:
                if is_begun:
                    return
                is_begun = True
                # Somebody may have put own content in before any was asked for; files of the package are its own.
                given = {name: it for name, it in vars(module).items() if not _is_of_python(name, it)}
                try:
                    SourceFileLoader.exec_module(self, module)
                except BaseException:
                    is_begun = False
                    raise
                vars(module).update(given)
                for name in ("__getattr__", "__dir__"):
                    vars(module).pop(name, None)

        def find(name: str) -> object:
            # Whoever goes through all modules asks for names that Python gives, and needs none of the others.
            if name == "__all__" or not name.startswith("__"):
                load()
            if name not in vars(module):
                message = f"module {module.__name__!r} has no attribute {name!r}"
                raise AttributeError(message)
            return vars(module)[name]

        def list_names() -> list[str]:
            load()
            return sorted(vars(module))

        vars(module).update(__getattr__=find, __dir__=list_names)


def _is_of_python(name: str, content: object) -> bool:
    return name.startswith("__") or isinstance(content, ModuleType)


_LOADERS: dict[str, type[SourceFileLoader]] = {
    "torch_geometric.isinstance": _WithoutCompiler,
    "torch_geometric.datasets": _OnFirstUse,
}
