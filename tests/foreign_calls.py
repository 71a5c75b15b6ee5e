"""What may run foreign content, found in the syntax trees of the package: a list of places, each to be answered for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from house import Source

# Called by these names, something runs, or reads objects that run something when they are made.
BUILTINS = frozenset({"eval", "exec", "compile", "__import__"})
DOTTED = {
    "pickle": {"load", "loads", "Unpickler"},
    "cloudpickle": {"load", "loads"},
    "dill": {"load", "loads"},
    "joblib": {"load"},
    "marshal": {"load", "loads"},
    "shelve": {"open"},
    "torch": {"load"},
    "numpy": {"load", "fromfile"},
    "np": {"load", "fromfile"},
    "pd": {"read_pickle"},
    "pandas": {"read_pickle"},
    "yaml": {"load", "load_all", "unsafe_load", "full_load", "unsafe_load_all", "full_load_all", "Loader"},
    "os": {"system", "popen", "execv", "execve", "execvp", "spawnv"},
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput"},
    "tempfile": {"mktemp"},
    "tarfile": {"TarFile"},
    "xml": {"etree"},
}
EXTRACTING = frozenset({"extractall", "read_pickle"})


def find_calls(source: Source) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of every use of such a name, under whatever alias it was imported."""
    names = dict(_aliases(source.tree))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and node.id in BUILTINS and isinstance(node.ctx, ast.Load):
            yield node.lineno, node.id
        if isinstance(node, ast.Name) and "." in names.get(node.id, ""):
            yield from _known(node.lineno, names[node.id])
        if isinstance(node, ast.Attribute):
            owner = names.get(node.value.id, node.value.id) if isinstance(node.value, ast.Name) else ""
            yield from _known(node.lineno, f"{owner}.{node.attr}")
            if node.attr in EXTRACTING:
                yield node.lineno, node.attr
        if isinstance(node, ast.keyword) and node.arg in {"shell", "allow_pickle", "weights_only"}:
            harmless = node.arg == "weights_only"
            if not (isinstance(node.value, ast.Constant) and node.value.value is harmless):
                yield node.value.lineno, f"{node.arg}={ast.unparse(node.value)}"


def _known(line: int, dotted: str) -> Iterator[tuple[int, str]]:
    owner, _, name = dotted.rpartition(".")
    if name in DOTTED.get(owner.partition(".")[0], set()) and owner:
        yield line, dotted


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((item.asname or item.name.partition(".")[0], item.name) for item in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((item.asname or item.name, f"{node.module}.{item.name}") for item in node.names)
