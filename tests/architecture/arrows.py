"""All imports of a file, in whatever form they are written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

# Calls that import what a text names.
IMPORTERS = frozenset({"import_module", "__import__", "import_target"})


@dataclass(frozen=True)
class Import:
    """One import: the full dotted name, its line, and whether it runs when the file itself is imported."""

    module: str
    line: int
    is_at_start: bool


def imports_of(tree: ast.Module, path: str) -> list[Import]:
    """Return all imports of a file, names that are imported from a package included.

    ``path`` is the file's, from the folder that holds the package, so that relative imports can be resolved.
    Imports inside functions and under TYPE_CHECKING do not run at the start, but they are arrows all the same.
    """
    folder = path.split("/")[:-1]
    return [
        Import(module, node.lineno, is_at_start)
        for node, is_at_start in _walk(tree, is_at_start=True)
        for module in _modules(node, folder)
    ]


def _walk(tree: ast.AST, *, is_at_start: bool) -> Iterator[tuple[ast.stmt | ast.expr, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt | ast.expr):
            yield node, is_at_start
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            for inner in node.body:
                yield inner, False
                yield from _walk(inner, is_at_start=False)
            for inner in node.orelse:
                yield inner, is_at_start
                yield from _walk(inner, is_at_start=is_at_start)
            continue
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(node, is_at_start=is_at_start and not is_function)


def _modules(node: ast.AST, folder: list[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [item.name for item in node.names]
    if isinstance(node, ast.ImportFrom):
        above = folder[: len(folder) - node.level + 1] if node.level else []
        start = ".".join([*above, *([node.module] if node.module else [])])
        return [f"{start}.{item.name}" for item in node.names]
    if isinstance(node, ast.Call):
        return _named_in_call(node, folder)
    return []


def _named_in_call(node: ast.Call, folder: list[str]) -> list[str]:
    function = ast.unparse(node.func).split(".")[-1]
    named = node.args[0] if node.args else None
    if function not in IMPORTERS or not isinstance(named, ast.Constant) or not isinstance(named.value, str):
        return []
    text = named.value.replace(":", ".")
    n_dots = len(text) - len(text.lstrip("."))
    above = folder[: len(folder) - n_dots + 1] if n_dots else []
    return [".".join([*above, text[n_dots:]])]
