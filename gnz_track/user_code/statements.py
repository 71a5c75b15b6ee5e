"""One statement of a module: its normal form, the names that it binds and mentions, and what it hides.

Everything here is syntax; nothing is imported and nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "Chain",
    "bound_by",
    "chain_of",
    "changes_another",
    "effects_of",
    "hidden_in",
    "imports_in",
    "is_opaque",
    "mentions_of",
    "normal_form",
]

# A dotted name: ("layers", "Conv") for ``layers.Conv``.
Chain = tuple[str, ...]
Scope = frozenset[str]

_SILENT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IMPORTS = (ast.Import, ast.ImportFrom)


def normal_form(node: object) -> str:
    r"""Return a text that is the same for the same syntax: without positions, comments, docstrings and formatting.

    What is empty is left out, so that versions of Python with more kinds of fields give the same text.

    >>> normal_form(ast.parse("def f(x):\n    'Add.'\n    return (x +\n  1)")) == normal_form(
    ...     ast.parse("def f(x): return x+1  # quick")
    ... )
    True
    """
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, list):
        return f"[{','.join(normal_form(item) for item in node if not _does_nothing(item))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    said = [(name, value) for name, value in ast.iter_fields(node) if name not in _SILENT and value is not None]
    texts = [(name, normal_form(value)) for name, value in said]
    return f"{type(node).__name__}({','.join(f'{name}={text}' for name, text in texts if text != '[]')})"


def _does_nothing(node: object) -> bool:
    """Tell a docstring, or any other constant that stands alone, and what stands in its place where there is none."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def chain_of(node: ast.AST) -> Chain:
    """Return the dotted name that an expression is, nothing where it is more than that.

    >>> chain_of(ast.parse("a.b.c", mode="eval").body), chain_of(ast.parse("a().b", mode="eval").body)
    (('a', 'b', 'c'), ())
    """
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


def bound_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds where it stands, imports left out."""
    names: set[str] = set()
    for node in _run_by([statement]):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)) or (isinstance(node, ast.ExceptHandler) and node.name):
            names.add(str(node.name))
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names


def imports_in(statement: ast.stmt, *, deep: bool = False) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run with a statement; ``deep`` takes those within functions as well."""
    for node in ast.walk(statement) if deep else _run_by([statement]):
        if isinstance(node, _IMPORTS):
            yield node


def effects_of(statement: ast.stmt) -> list[ast.stmt]:
    """Return what in a statement of a module does more than bind names: calls, and changes of other things."""
    found: list[ast.stmt] = []
    for node in _run_by([statement]):
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            found.append(node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            calls = any(isinstance(item, ast.Call) for item in ast.walk(node))
            found += [node] if calls or any(map(changes_another, targets)) else []
    return found


def changes_another(target: ast.expr) -> bool:
    """Tell whether what is assigned to is part of something else: an attribute or an item."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(map(changes_another, target.elts))
    return isinstance(target, ast.Attribute | ast.Subscript)


def _run_by(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield all that runs in the scope of statements: no bodies of functions or classes, nothing that never runs."""
    left: list[ast.AST] = list(reversed(nodes))
    while left:
        node = left.pop()
        yield node
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda, *_COMPREHENSIONS)):
            continue
        inner = node.orelse if isinstance(node, ast.If) and _is_never_so(node.test) else ast.iter_child_nodes(node)
        left += reversed(list(inner))


def _is_never_so(test: ast.expr) -> bool:
    """Tell the conditions that do not hold where a module is imported: of type checkers, and of scripts."""
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'"}


def mentions_of(node: ast.AST, bound: Scope = frozenset()) -> Iterator[Chain]:
    """Yield the dotted names that code refers to and that are bound outside of it, or by an import within it."""
    if isinstance(node, ast.Attribute) and (chain := chain_of(node)):
        if chain[0] not in bound:
            yield chain
    elif isinstance(node, ast.Name):
        if node.id not in bound:
            yield (node.id,)
    elif isinstance(node, (*_FUNCTIONS, ast.Lambda)):
        inner = bound | _locals_of(node)
        body: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
        outside = [item for item in ast.iter_child_nodes(node) if item not in body]
        yield from _mentions_of_all(outside, bound)
        yield from _mentions_of_all(body, inner)
    elif isinstance(node, _COMPREHENSIONS):
        # The first iterable is read outside; the names of the others are known only within.
        first = node.generators[0].iter
        yield from mentions_of(first, bound)
        targets = [name.id for part in node.generators for name in ast.walk(part.target) if isinstance(name, ast.Name)]
        yield from _mentions_of_all(list(ast.iter_child_nodes(node)), bound | frozenset(targets))
    else:
        chain = _constant_getattr(node) if isinstance(node, ast.Call) else ()
        if chain and chain[0] not in bound:
            yield chain
        # Of what is asked for one attribute only that one is meant.
        skipped = node.args[0] if chain else None  # type: ignore[attr-defined]
        yield from _mentions_of_all([item for item in ast.iter_child_nodes(node) if item is not skipped], bound)


def _mentions_of_all(nodes: list[ast.AST], bound: Scope) -> Iterator[Chain]:
    for node in nodes:
        yield from mentions_of(node, bound)


def _locals_of(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Scope:
    """Return the names that a function binds itself; what it imports counts as from outside, where it comes from."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    names = {argument.arg for argument in arguments}
    if isinstance(function, ast.Lambda):
        return frozenset(names)
    names = names.union(*(bound_by(statement) for statement in function.body))
    outside = [node.names for node in _run_by(function.body) if isinstance(node, ast.Global | ast.Nonlocal)]
    return frozenset(names.difference(*outside))


def _constant_getattr(call: ast.Call) -> Chain:
    """Return ``layers.Conv`` for ``getattr(layers, "Conv")``."""
    if chain_of(call.func) != ("getattr",) or len(call.args) < len(("object", "name")):
        return ()
    chain, name = chain_of(call.args[0]), call.args[1]
    is_known = isinstance(name, ast.Constant) and isinstance(name.value, str)
    return (*chain, name.value) if chain and is_known else ()  # type: ignore[attr-defined]


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """A call whose outcome syntax does not tell: its line, what it does, and a module that is named in it."""

    line: int
    what: str
    # What ``getattr`` with a name that is no constant looks into; it matters where that is a module of the user's.
    of: Chain = ()
    module: str = ""


_RUNS_TEXT = frozenset({"exec", "eval", "__import__", "globals", "locals", "__subclasses__"})
_IMPORTERS = frozenset(
    {"import_module", "run_path", "run_module", "exec_module", "load_module", "spec_from_file_location"}
)
_ENVIRONMENT = "a variable of the environment"
_LIBRARIES = frozenset({"CDLL", "LoadLibrary", "load_library", "load_inline"})
_FILES = frozenset(
    [
        "get_data",
        "load",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "memmap",
        "safe_load",
        "full_load",
        "load_file",
        "read_text",
        "read_bytes",
        "read_csv",
        "read_json",
        "read_parquet",
        "read_table",
        "read_pickle",
        "loadmat",
    ]
)


_WAYS = frozenset(
    ["importlib.import_module", "importlib.__import__", "pkgutil.resolve_name", "pydoc.locate", "sys.modules"]
)
_OUTSIDE = ("configparser.", "sqlite3.", "subprocess.")


def is_opaque(name: str) -> bool:
    """Tell full names by which code, or what it depends on, comes from where syntax does not show, however bound."""
    return name in _WAYS or name.startswith(_OUTSIDE)


def hidden_in(statement: ast.AST) -> Iterator[Hidden]:
    """Yield the calls within a statement that lead to code or files by ways that syntax does not show."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and "environ" in chain_of(node.value):
            yield Hidden(line=node.lineno, what=_ENVIRONMENT)
        if not isinstance(node, ast.Call):
            continue
        chain = chain_of(node.func)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else (chain or ("",))[-1]
        first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        named = first if isinstance(first, str) else ""
        if last in _RUNS_TEXT and chain in {(last,), ("builtins", last), (*chain[:-1], "__subclasses__")}:
            yield Hidden(line=node.lineno, what=f"{last}()", module=named if last == "__import__" else "")
        elif last in _IMPORTERS:
            yield Hidden(line=node.lineno, what=f"{last}()", module=named if last == "import_module" else "")
        elif last == "getenv" or chain[-2:] == ("environ", "get"):
            yield Hidden(line=node.lineno, what=_ENVIRONMENT)
        elif last in _LIBRARIES:
            yield Hidden(line=node.lineno, what=f"{last}() of compiled code")
        elif last == "open" or (last in _FILES and chain[:1] != ("self",)):
            yield Hidden(line=node.lineno, what=f"{last}() of a file")
        elif chain in {("getattr",), ("vars",)} and node.args and not _constant_getattr(node):
            yield Hidden(line=node.lineno, what=f"{last}() of a module", of=chain_of(node.args[0]))
