"""The rules of the house as functions: a tree of sources in, a list of violations out.

Every rule takes the sources of one package and returns lines of the form ``file:line: sentence``. Nothing is
imported and nothing is run: the rules read the syntax tree.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from arrows import Import, imports_of

PACKAGE = "gnz_track"

# From top to bottom; a room may import what stands on a lower line, and nothing else.
LINES: tuple[frozenset[str], ...] = (
    frozenset({"__main__"}),
    frozenset({"cli"}),
    # Its stages are commands too.
    frozenset({"pipeline"}),
    # What users call: one function from names to a report.
    frozenset({"api"}),
    # What they ask for, planned and carried out.
    frozenset({"benchmark"}),
    # The faces of published packages, which lead to the rooms below.
    frozenset({"compat"}),
    frozenset({"tuning", "quality", "selection", "report"}),
    # What past cells predicted, asked anew: no cell is trained for it.
    frozenset({"predictions"}),
    frozenset({"runs"}),
    frozenset({"problems"}),
    frozenset({"datasets", "models", "training", "store", "stats"}),
    # What the rooms above ask of a user's class or function.
    frozenset({"user_code"}),
    frozenset({"registry", "variant_labels"}),
    frozenset({"types", "seeds"}),
    frozenset({"records"}),
    frozenset({"files", "yaml_files"}),
    frozenset({"errors"}),
    frozenset({"deferred_imports", "optimisers", "public_names", "streams", "text", "waking_time"}),
)
LINE_OF = {room: n for n, line in enumerate(LINES) for room in line}

# Library -> the only places (room, or file of a room) that may import it.
HOMES: dict[str, tuple[str, ...]] = {
    "mlflow": ("store/",),
    "optuna": ("tuning/",),
    "ray": ("runs/executors/ray/",),
    "matplotlib": ("report/",),
}
TORCH = frozenset({"torch", "torch_geometric"})
WITHOUT_TORCH = frozenset(
    {
        "stats",
        "store",
        "report",
        "types",
        "records",
        "errors",
        "registry",
        "user_code",
        "seeds",
    }
)
# What these import when they are imported must be cheap: `import gnz_track` and `gnz --help` wait for it.
QUICK = frozenset({"__init__", "cli"})
CHEAP = frozenset(
    {
        "cli",
        "registry",
        "types",
        "records",
        "seeds",
        "errors",
        "deferred_imports",
        "public_names",
        "streams",
        "text",
    }
)

NO_NAMES = re.compile(r"(utils?|helpers?|base|managers?|common|misc|_[a-z].*)")
# Files that `gnz init` copies into somebody's own project: they are written as for there.
STARTER = "pipeline/starter/"
MOST_PARAMETERS = 7

# "file:function" -> why it may have more parameters than others. Few is the aim.
EXCEPTIONS: dict[str, str] = {
    "compat/rings.py:ComplementarityFunctor.__init__": "the published signature, as in api.py",
    "api.py:run_benchmark": "the published signature, by which scripts move over with one changed import",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One parsed file of the package; ``path`` is relative to the package, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The room: the first folder, or the name of a file that lies at the top."""
        return self.path.split("/")[0].removesuffix(".py")

    @functools.cached_property
    def imports(self) -> list[Import]:
        """All imports, wherever they stand."""
        return imports_of(self.tree, f"{PACKAGE}/{self.path}")

    def at(self, line: int, sentence: str) -> str:
        """Write one violation."""
        return f"{PACKAGE}/{self.path}:{line}: {sentence}"


def read_package(package: Path) -> list[Source]:
    """Parse all files below the folder of a package, sorted."""
    texts = {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}
    ours = {path: text for path, text in texts.items() if not path.startswith(STARTER)}
    return [Source(path, text, ast.parse(text, path)) for path, text in ours.items()]


def check_arrows(sources: Iterable[Source]) -> list[str]:
    """Imports go down only, and rooms on one line do not know each other."""
    return [
        source.at(found.line, f"{source.room} may not import {room}: {reason}")
        for source in sources
        for found in source.imports
        for room in [_room_of(found)]
        if room and (reason := _forbidden(source.room, room))
    ]


def check_walls(sources: Iterable[Source]) -> list[str]:
    """Each heavy library stays in its room, and torch out of the rooms that do without."""
    return [
        source.at(found.line, f"{library} stays out of here; it belongs to {home}")
        for source in sources
        for found in source.imports
        for library in [found.module.split(".")[0]]
        if (home := _home_elsewhere(source, library))
    ]


def check_quick_start(sources: Iterable[Source]) -> list[str]:
    """The command line and the facade import other rooms and heavy libraries only inside functions."""
    return [
        source.at(found.line, f"{source.room} may import {found.module} only inside a function")
        for source in sources
        if source.room in QUICK
        for found in source.imports
        if found.is_at_start and (found.module.split(".")[0] in {*TORCH, *HOMES} or not _is_cheap(_room_of(found)))
    ]


def check_names(sources: Iterable[Source]) -> list[str]:
    """Files and folders are nouns that say what is in them."""
    return [
        source.at(1, f"{part!r} names a role, not a thing")
        for source in sources
        for part in source.path.removesuffix(".py").split("/")
        if NO_NAMES.fullmatch(part)
    ]


def check_asserts(sources: Iterable[Source]) -> list[str]:
    """Python drops asserts under -O, and a user learns nothing from one."""
    return [
        source.at(node.lineno, "assert in the package; raise one of gnz_track.errors")
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assert)
    ]


def check_parameters(sources: Iterable[Source]) -> list[str]:
    """Nobody remembers the order of eight parameters; self counts."""
    return [
        source.at(function.lineno, f"{name} has {n_parameters} parameters; at most {MOST_PARAMETERS}")
        for source in sources
        for name, function in functions_of(source.tree)
        if (n_parameters := len(_parameters(function))) > MOST_PARAMETERS
        and f"{source.path}:{name}" not in EXCEPTIONS
        and not is_command(source, function)
        and not _constructs_model(source, name, function)
    ]


def check_docstrings(sources: Iterable[Source]) -> list[str]:
    """Every public module, class and function says what it is."""
    return [
        source.at(getattr(node, "lineno", 1), f"{name} has no docstring")
        for source in sources
        for name, node in [("the module", source.tree), *public_of(source.tree)]
        if not ast.get_docstring(node)
    ]


def check_annotations(sources: Iterable[Source]) -> list[str]:
    """Every parameter and every result has a type, private functions included."""
    found = []
    for source in sources:
        for name, function in functions_of(source.tree):
            bare = [item.arg for item in _parameters(function) if not item.annotation]
            if bare[:1] in (["self"], ["cls"]) and "." in name:
                bare = bare[1:]
            bare += [] if function.returns else ["return"]
            found += [source.at(function.lineno, f"{name}: {item} has no annotation") for item in bare]
    return found


RULES: tuple[Callable[[Iterable[Source]], list[str]], ...] = (
    check_arrows,
    check_walls,
    check_quick_start,
    check_names,
    check_asserts,
    check_parameters,
    check_docstrings,
    check_annotations,
)


def _room_of(found: Import) -> str:
    """Return the room that an import leads to, ``__init__`` for the facade, nothing for other packages."""
    package, _, rest = found.module.partition(".")
    if package != PACKAGE or rest == "__version__":
        return ""
    room = rest.split(".")[0]
    return room if room in LINE_OF else "__init__"


def _forbidden(importer: str, imported: str) -> str:
    if importer in {imported, "__init__"}:
        return ""
    if imported == "__init__":
        return "import from the room that owns the name"
    if importer not in LINE_OF:
        return f"{importer} has no place in the table of rooms (LINES)"
    difference = LINE_OF[imported] - LINE_OF[importer]
    return "" if difference > 0 else "they stand on one line" if difference == 0 else "it stands above"


def _home_elsewhere(source: Source, library: str) -> str:
    if library in TORCH and source.room in WITHOUT_TORCH:
        return "the rooms that train"
    homes = HOMES.get(library, ())
    return " and ".join(homes) if homes and not source.path.startswith(homes) else ""


def _is_cheap(room: str) -> bool:
    return not room or room in CHEAP


def functions_of(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield (dotted name, node) of all functions, those inside of functions included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield prefix + node.name, node
            yield from functions_of(node, f"{node.name}()/")
        elif isinstance(node, ast.ClassDef):
            yield from functions_of(node, f"{prefix}{node.name}.")
        else:
            yield from functions_of(node, prefix)


def public_of(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Yield (dotted name, node) of public classes, functions and methods."""
    for node in tree.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        if not any(ast.unparse(mark).endswith((".setter", "overload", "override")) for mark in node.decorator_list):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from public_of(node, f"{prefix}{node.name}.")


def _parameters(function: Function) -> list[ast.arg]:
    found = function.args
    extra = [item for item in (found.vararg, found.kwarg) if item]
    return [*found.posonlyargs, *found.args, *found.kwonlyargs, *extra]


def is_command(source: Source, function: Function) -> bool:
    """Tell whether a function is a command of the command line, where every flag is a parameter by Typer's design.

    It is decorated, ``@app.command()``, or handed over, ``app.command()(function)``.
    """
    if source.room != "cli" or function not in source.tree.body:
        return False
    if any(_makes_commands(mark) for mark in function.decorator_list):
        return True
    given = [node.args for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _makes_commands(node.func)]
    return any(isinstance(item, ast.Name) and item.id == function.name for items in given for item in items[:1])


def _constructs_model(source: Source, name: str, function: Function) -> bool:
    """Tell whether a function is the constructor of a model, whose options are parameters because a search tunes them.

    They are keyword-only; before them stand ``self`` and the three widths.
    """
    given = function.args
    return source.room == "models" and name.endswith(".__init__") and len(given.posonlyargs + given.args) <= 4


def _makes_commands(node: ast.expr) -> bool:
    """Tell whether an expression is a call of some ``....command(...)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "command"
