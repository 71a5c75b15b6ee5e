"""Modules by name: where they come from, whose they are, and what their text says. None of them is run here."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path

from gnz_track.user_code.statements import (
    Chain,
    Hidden,
    bound_by,
    chain_of,
    effects_of,
    hidden_in,
    imports_in,
    mentions_of,
    normal_form,
)

__all__ = [
    "OURS",
    "Module",
    "Origin",
    "Statement",
    "Syntax",
    "distribution_of",
    "find_module",
    "forget_modules",
    "is_ours",
    "is_recorded",
    "lasting_name",
]


OURS = "gnz_track"


def is_ours(name: str) -> bool:
    """Tell the names of our own modules, and of what is in them.

    >>> is_ours("gnz_track.models.deep:GCN"), is_ours("gnz_tracks:GCN"), is_ours("")
    (True, False, False)
    """
    return name.partition(":")[0].partition(".")[0] == OURS


def lasting_name(target: str) -> str:
    """Return a target without its module where that is ours: our modules move, and names of classes stay.

    >>> lasting_name("gnz_track.models.deep.gps:GPS"), lasting_name("mine.nets:GPS")
    ('gnz_track:GPS', 'mine.nets:GPS')
    """
    return f"{OURS}:{target.rpartition(':')[2]}" if is_ours(target) else target


def _is_installed(place: str) -> bool:
    """Tell whether a file or folder is that of an installed package, or of Python itself."""
    path = Path(place)
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(path.is_relative_to(folder) for folder in _library_folders())


@functools.cache
def _library_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    found = {Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(found | {folder.resolve() for folder in found})


def is_recorded(distribution: str) -> bool:
    """Tell the packages that ours needs: each run records their versions, and reports compare them."""
    return _plain_name(distribution) in _needed()


def distribution_of(module: str) -> tuple[str, str]:
    """Return name and version of the package that a module was installed with; no name for a module of Python."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return "", ""
    if is_recorded(root):
        # Which module comes from which package takes half a second to find out, and these need no asking.
        return root, ""
    found = _distributions().get(root, [root])[0]
    try:
        return found, version(found)
    except PackageNotFoundError:
        return found, "unknown"


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


@functools.cache
def _needed() -> frozenset[str]:
    try:
        wanted = [text for text in requires("gnz-track") or [] if "extra ==" not in text]
    except PackageNotFoundError:
        # It runs from a folder, where nobody has said what it needs.
        wanted = ["torch", "torch-geometric", "numpy"]
    return frozenset(_plain_name(re.split(r"[^A-Za-z0-9_.-]", text)[0]) for text in (*wanted, "gnz-track"))


def _plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# Module and attribute that an imported name stands for; no attribute for the module itself.
Origin = tuple[str, str]


class Statement:
    """A statement of a module with what is known of it, each found once."""

    def __init__(self, node: ast.stmt, module: str, package: str) -> None:
        self.node, self._module, self._package = node, module, package

    @functools.cached_property
    def text(self) -> str:
        """Its normal form."""
        return normal_form(self.node)

    @functools.cached_property
    def mentions(self) -> frozenset[Chain]:
        """Dotted names that it refers to."""
        return frozenset(mentions_of(self.node))

    @functools.cached_property
    def hidden(self) -> tuple[Hidden, ...]:
        """Calls in it whose outcome syntax does not tell."""
        return tuple(hidden_in(self.node))

    def line_of(self, chain: Chain) -> int:
        """Tell where it mentions a dotted name."""
        lines = (node.lineno for node in ast.walk(self.node) if isinstance(node, ast.expr) and chain_of(node) == chain)
        return next(lines, self.node.lineno)

    @functools.cached_property
    def inner_origins(self) -> Mapping[str, tuple[Origin, ...]]:
        """Names that are imported anywhere within it, functions included."""
        return _collect(origin for node in imports_in(self.node, deep=True) for origin in _origins(node, self._package))

    @functools.cached_property
    def effects(self) -> tuple[ast.stmt, ...]:
        """Acts beside binding names."""
        return tuple(effects_of(self.node))


@dataclass(frozen=True, kw_only=True)
class Syntax:
    """The statements of a module by the names that they bind, what its imports stand for, and what it runs."""

    statements: tuple[Statement, ...]
    bindings: Mapping[str, tuple[int, ...]]
    origins: Mapping[str, tuple[Origin, ...]]
    stars: tuple[str, ...]
    # Modules that run when this one is imported; some of them are attributes and no modules.
    imported: tuple[str, ...]

    def __contains__(self, name: str) -> bool:
        return name in self.bindings or name in self.origins

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """All names that it binds."""
        return tuple(dict.fromkeys([*self.bindings, *self.origins]))


@dataclass(frozen=True, kw_only=True)
class Module:
    """A module: its file, whether it is the user's, and how it is read."""

    name: str
    spec: ModuleSpec = field(compare=False)
    is_own: bool

    @property
    def is_package(self) -> bool:
        """Whether it has modules of its own."""
        return self.spec.submodule_search_locations is not None

    @property
    def is_compiled(self) -> bool:
        """Whether it is an extension, of which only bytes can be read."""
        return str(self.spec.origin or "").endswith(tuple(EXTENSION_SUFFIXES))

    @functools.cached_property
    def syntax(self) -> Syntax | None:
        """Parsed text; None where there is none, as of extensions and of files that are compiled only."""
        if self.spec.origin in {None, "namespace"} and self.is_package:
            return _parse("", self.name, is_package=True)
        text = self.text
        return None if text is None else _parse(text, self.name, is_package=self.is_package)

    @functools.cached_property
    def text(self) -> str | None:
        """Its source; None where there is none."""
        read = getattr(self.spec.loader, "get_source", None)
        path = Path(self.spec.origin or "")
        try:
            if read is None and path.suffix == ".py":
                # Loaders that rewrite what they load tell no source.
                return importlib.util.decode_source(path.read_bytes())
            found: str | None = read(self.name) if read else None
        except (ImportError, OSError, SyntaxError, UnicodeDecodeError):
            return None
        return found


@functools.lru_cache(maxsize=4096)
def find_module(name: str) -> Module | None:
    """Return the module of a name; None where there is none. Neither it nor its package is run for that.

    What was found is kept until :func:`forget_modules`, since one description asks for the same ones again and again.
    """
    known = getattr(sys.modules.get(name), "__spec__", None)
    spec = known if isinstance(known, ModuleSpec) else _look_for(name)
    return None if spec is None else Module(name=name, spec=spec, is_own=_is_own(name, spec))


def forget_modules() -> None:
    """Look at files anew from now on."""
    find_module.cache_clear()


def _look_for(name: str) -> ModuleSpec | None:
    parent, _, _ = name.rpartition(".")
    within = find_module(parent) if parent else None
    if parent and (within is None or not within.is_package):
        return None
    path = list(within.spec.submodule_search_locations or []) if within else None
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        found = find(name, path) if find else None
        if isinstance(found, ModuleSpec):
            return found
    return None


def _is_own(name: str, spec: ModuleSpec) -> bool:
    """Tell whether a module is the user's: neither ours, nor of Python, nor installed as a package.

    What is installed to be edited lies where its author edits it, and is the user's.
    """
    if is_ours(name) or spec.origin in {"built-in", "frozen"}:
        return False
    places = [spec.origin] if spec.has_location and spec.origin else list(spec.submodule_search_locations or [])
    return bool(places) and not any(_is_installed(str(place)) for place in places)


@functools.lru_cache(maxsize=1024)
def _parse(text: str, name: str, *, is_package: bool) -> Syntax | None:
    """Return what a text says; one that Python cannot read says nothing, and whoever imports it is told."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    package = name if is_package else name.rpartition(".")[0]
    statements = tuple(Statement(node, name, package) for node in tree.body)
    imports = [(place, node) for place, node in enumerate(tree.body) for node in imports_in(node)]
    bindings: dict[str, list[int]] = {}
    for place, statement in enumerate(tree.body):
        # A name that functions set is what they make of it.
        for bound in bound_by(statement) | _set_by_functions(statement):
            bindings.setdefault(bound, []).append(place)
    for place, node in imports:
        # What is imported here or there, as it turns out, is the whole statement that decides it.
        if tree.body[place] is not node:
            for bound, _ in _origins(node, package):
                bindings.setdefault(bound, []).append(place)
    return Syntax(
        statements=statements,
        bindings={bound: tuple(sorted(set(places))) for bound, places in bindings.items()},
        origins=_collect(origin for _, node in imports for origin in _origins(node, package)),
        stars=tuple(_source_of(node, package) for _, node in imports if _is_star(node)),
        imported=tuple(dict.fromkeys(module for _, node in imports for module in _run_by_import(node, package))),
    )


def _set_by_functions(statement: ast.stmt) -> set[str]:
    return {name for node in ast.walk(statement) if isinstance(node, ast.Global) for name in node.names}


def _collect(pairs: Iterator[tuple[str, Origin]]) -> Mapping[str, tuple[Origin, ...]]:
    found: dict[str, list[Origin]] = {}
    for name, origin in pairs:
        found.setdefault(name, []).append(origin)
    return {name: tuple(dict.fromkeys(origins)) for name, origins in found.items()}


def _origins(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, Origin]]:
    """Yield the names that an import binds, and what they stand for."""
    for item in node.names:
        if isinstance(node, ast.ImportFrom):
            if item.name != "*":
                yield item.asname or item.name, (_source_of(node, package), item.name)
        elif item.asname:
            yield item.asname, (item.name, "")
        else:
            root = item.name.partition(".")[0]
            yield root, (root, "")


def _is_star(node: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _source_of(node: ast.Import | ast.ImportFrom, package: str) -> str:
    if not isinstance(node, ast.ImportFrom):
        return ""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _run_by_import(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (item.name for item in node.names)
        return
    source = _source_of(node, package)
    yield source
    yield from (f"{source}.{item.name}" for item in node.names if item.name != "*")
