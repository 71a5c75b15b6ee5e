"""All of a user's code that some names reach, followed from module to module by syntax alone.

A name is followed to the statements that bind it, these to the names that they mention, and imports to where they lead.
Beside names, what a reached module runs counts as far as it matters: calls, patches and registrations. A change of
something that is not reached changes nothing. A call may change anything, and so may a change of what is not the
user's: these matter wherever they run. Nothing is named by a path, so that the same code is the same on every machine.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType

from gnz_track.user_code.modules import (
    OURS,
    Module,
    Origin,
    Statement,
    Syntax,
    distribution_of,
    find_module,
    is_recorded,
)
from gnz_track.user_code.statements import Chain, chain_of, changes_another, is_opaque
from gnz_track.user_code.values import Outline

__all__ = ["Reach", "matters"]


FOREIGN = ""
_MOST_STEPS = 32
_SETTERS = frozenset({("setattr",), ("delattr",)})
_CONTAINERS = frozenset({"dict", "list", "set", "defaultdict", "OrderedDict", "Counter", "deque"})
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _homes_of(module: Module, chain: Chain, *, left: int = _MOST_STEPS) -> Iterator[str]:
    """Yield where a dotted name is bound, as ``module:name``; :data:`FOREIGN` where that is not the user's, or nowhere.

    >>> import collections
    >>> list(_homes_of(find_module("collections"), ("OrderedDict",)))
    ['']
    """
    syntax = module.syntax if module.is_own else None
    if syntax is None or not chain or not left:
        yield FOREIGN
        return
    name, rest = chain[0], chain[1:]
    if name in syntax.bindings:
        yield f"{module.name}:{name}"
    for source, attribute in syntax.origins.get(name, ()):
        found = find_module(source)
        behind = (*([attribute] if attribute else []), *rest)
        yield from _homes_of(found, behind, left=left - 1) if found else (FOREIGN,)
    if name not in syntax:
        inner = find_module(f"{module.name}.{name}") if module.is_package else None
        yield from _homes_of(inner, rest, left=left - 1) if inner else (FOREIGN,)


def matters(module: Module, syntax: Syntax, statement: Statement, reached: Collection[str]) -> bool:
    """Tell whether a statement acts on what is reached, or on who knows what.

    Parameters
    ----------
    module, syntax
        Module of the statement, and its syntax.
    statement
        The statement.
    reached
        Names as ``module:name``.
    """
    is_reached = _is_in(module, reached)
    if any(_acts(syntax, effect, is_reached) or _calls(module, effect, reached) for effect in statement.effects):
        return True
    node = statement.node
    return isinstance(node, _DEFINITIONS) and _registers(module, node, reached)


def _is_in(module: Module, reached: Collection[str]) -> Callable[[Chain], bool]:
    return lambda chain: any(
        home == FOREIGN or home in reached or _stands_for(home, reached) for home in _homes_of(module, chain)
    )


def _stands_for(home: str, reached: Collection[str], *, left: int = _MOST_STEPS) -> bool:
    """Tell whether a name is another one of what is reached: by an assignment, a loop, a ``with`` or an expression."""
    for module, statement in _statements_at(home) if left else ():
        if isinstance(statement.node, _DEFINITIONS):
            continue
        value = _value_of(statement.node)
        chains = [chain_of(value)] if value is not None and chain_of(value) else statement.mentions
        inner = {found for chain in chains for found in _homes_of(module, chain)} - {home}
        if any(found in reached and _can_change(found) for found in inner):
            return True
        if value is not None and chain_of(value):
            # Nothing but another name, however long the way.
            return any(found == FOREIGN or _stands_for(found, reached, left=left - 1) for found in inner)
    return False


def _calls(module: Module, effect: ast.stmt, reached: Collection[str]) -> bool:
    """Tell whether an assignment calls what changes something that is reached, whatever becomes of its value."""
    value = _value_of(effect)
    targets = effect.targets if isinstance(effect, ast.Assign) else []
    for call in ast.walk(value) if value is not None else ():
        if not isinstance(call, ast.Call):
            continue
        chain = chain_of(call.func)
        if chain in _SETTERS or any(isinstance(target, ast.Name) and target.id == "_" for target in targets):
            # What is given to no name is called for what it does.
            return True
        given = [home for item in (*call.args, *call.keywords) for home in _homes_in(module, item)]
        is_given = any(home in reached and _can_change(home) for home in given)
        called = [home for home in _homes_of(module, chain) if _is_function(home)]
        if any(_keeps(home, reached) or (is_given and _writes(home)) for home in called):
            return True
    return False


def _homes_in(module: Module, node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute | ast.Name) and (chain := chain_of(inner)):
            yield from _homes_of(module, chain)


def _acts(syntax: Syntax, effect: ast.stmt, is_reached: Callable[[Chain], bool]) -> bool:
    if isinstance(effect, ast.Expr):
        call = effect.value
        chain = chain_of(call.func) if isinstance(call, ast.Call) else ()
        if _is_registration(syntax, chain):
            return False
        return is_reached(chain[:1]) if chain[1:] and _is_container(syntax, chain[0]) else True
    targets = effect.targets if isinstance(effect, ast.Assign | ast.Delete) else [effect.target]  # type: ignore[attr-defined]
    return any(is_reached(_root_of(target)) for target in targets if changes_another(target))


def _is_registration(syntax: Syntax, chain: Chain) -> bool:
    """Tell a call by which a model or a task is registered with us: it tells nothing of others."""
    sources = [source.partition(".")[0] for source, _ in syntax.origins.get((*chain, "")[0], ())]
    return sources == [OURS] and chain[-1].startswith("register_")


def _root_of(target: ast.expr) -> Chain:
    while isinstance(target, ast.Subscript):
        target = target.value
    return chain_of(target)


def _is_container(syntax: Syntax, name: str) -> bool:
    """Tell a name whose methods change nothing but itself: it is a dict, a list or a set that is written out."""
    values = [_value_of(syntax.statements[place].node) for place in syntax.bindings.get(name, ())]
    return bool(values) and all(
        isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp)
        or (isinstance(value, ast.Call) and (*chain_of(value.func), "")[0] in _CONTAINERS)
        for value in values
    )


def _value_of(node: ast.stmt) -> ast.expr | None:
    return node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None


def _registers(module: Module, node: Definition, reached: Collection[str]) -> bool:
    """Tell whether a definition enters itself into something that is reached, by a decorator or a base class."""
    for decorator in node.decorator_list:
        chain = chain_of(decorator.func if isinstance(decorator, ast.Call) else decorator)
        # A method of what is reached, as a registry or a function of several types has one to be registered by.
        owners = frozenset(_homes_of(module, chain[:-1])) if chain[1:] else frozenset()
        if any(home in owners & set(reached) or _keeps(home, reached) for home in _homes_of(module, chain) if home):
            return True
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    homes = [home for base in bases for home in _homes_of(module, chain_of(base))]
    return any(home in reached and _watches_subclasses(home) for home in homes)


def _keeps(home: str, reached: Collection[str]) -> bool:
    """Tell whether a decorator is something that is reached, or a function that changes such a thing."""
    for owner, statement in _statements_at(home):
        if isinstance(statement.node, _DEFINITIONS):
            inner = [found for chain in statement.mentions for found in _homes_of(owner, chain)]
            own = [found for found in inner if found in reached and found != home]
            if any(map(_is_data, own)) or (_writes(home) and any(map(_can_change, own))):
                return True
        elif home in reached:
            return True
    return False


def _can_change(home: str) -> bool:
    """Tell what has attributes or items to be changed from what is a number or a text."""
    return _is_data(home) or any(isinstance(statement.node, _DEFINITIONS) for _, statement in _statements_at(home))


def _is_function(home: str) -> bool:
    return any(isinstance(statement.node, ast.FunctionDef) for _, statement in _statements_at(home))


def _writes(home: str) -> bool:
    """Tell a function that sets attributes or items of something, or global names."""
    nodes = [node for _, statement in _statements_at(home) for node in ast.walk(statement.node)]
    return any(
        (isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load))
        or isinstance(node, ast.Global)
        or (isinstance(node, ast.Call) and chain_of(node.func) in _SETTERS)
        for node in nodes
    )


def _is_data(home: str) -> bool:
    values = [_value_of(statement.node) for _, statement in _statements_at(home)]
    return any(value is not None and not isinstance(value, ast.Constant) for value in values)


def _watches_subclasses(home: str) -> bool:
    nodes = [statement.node for _, statement in _statements_at(home)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    return any(node.keywords or "__init_subclass__" in {_name_of(item) for item in node.body} for node in classes)


def _name_of(node: ast.stmt) -> str:
    return node.name if isinstance(node, _DEFINITIONS) else ""


def _statements_at(home: str) -> Iterator[tuple[Module, Statement]]:
    name, _, bound = home.partition(":")
    module = find_module(name) if name else None
    syntax = module.syntax if module else None
    if module and syntax:
        yield from ((module, syntax.statements[place]) for place in syntax.bindings.get(bound, ()))


Origins = Mapping[str, Iterable[Origin]]


class Reach:
    """Code reached so far: texts by ``module:name``, and sentences about what is not followed."""

    def __init__(self) -> None:
        self.unseen: dict[str, None] = {}
        self.executed: dict[str, Module] = {}
        self._texts: dict[str, str] = {}
        self._runs: dict[str, dict[int, str]] = {}
        self._seen: set[tuple[str, Chain]] = set()
        self._left: list[tuple[Module, Syntax, str]] = []

    @property
    def texts(self) -> dict[str, str]:
        """All that is reached, by names that every machine has; what a module runs is in its own order."""
        runs = {f"what {name} runs": "\n".join(found[at] for at in sorted(found)) for name, found in self._runs.items()}
        return {**self._texts, **runs}

    def follow(self, module: str, chain: Chain = ()) -> None:
        """Take what a dotted name in a module stands for, and all that it reaches; no name is the whole module."""
        self._enter(module, chain)
        while self._left or self._run_what_matters():
            if self._left:
                self._take_name(*self._left.pop())

    def _enter(self, name: str, chain: Chain) -> None:
        """Go to an attribute of a module, or of a module in it."""
        if (name, chain) in self._seen:
            return
        self._seen.add((name, chain))
        found = find_module(name)
        if found is None:
            self._texts[f"module {name}"] = "is not there"
        elif not found.is_own:
            self._note_package(name)
        else:
            self._execute(found)
            syntax = found.syntax
            if syntax is None:
                self._take_without_text(found)
            else:
                self._look_up(found, syntax, chain)

    def _look_up(self, found: Module, syntax: Syntax, chain: Chain) -> None:
        inner = f"{found.name}.{chain[0]}" if chain and found.is_package else ""
        if not chain or chain[0] == "__dict__":
            # A module that is handed around: whatever is in it may be meant.
            for name in syntax.names:
                self._bind(found, syntax, name, ())
        elif chain[0] in syntax:
            self._bind(found, syntax, chain[0], chain[1:])
        elif inner and find_module(inner):
            self._enter(inner, chain[1:])
        else:
            self._look_behind(found, syntax, chain)

    def _look_behind(self, found: Module, syntax: Syntax, chain: Chain) -> None:
        """Look for a name that nothing binds where everything was imported from, or where it is made when asked for."""
        for star in syntax.stars:
            self._enter(star, chain)
        if "__getattr__" in syntax and not hasattr(builtins, chain[0]):
            self._bind(found, syntax, "__getattr__", ())

    def _bind(self, module: Module, syntax: Syntax, name: str, rest: Chain) -> None:
        key = f"{module.name}:{name}"
        for source, attribute in syntax.origins.get(name, ()):
            self._texts[f"{key} from {source} {attribute}".rstrip()] = "is imported"
            self._enter(source, (*([attribute] if attribute else []), *rest))
        if name in syntax.bindings and key not in self._texts:
            self._texts[key] = "\n".join(syntax.statements[place].text for place in syntax.bindings[name])
            self._left.append((module, syntax, name))

    def _take_name(self, module: Module, syntax: Syntax, name: str) -> None:
        for place in syntax.bindings[name]:
            self._read_statement(module, syntax, syntax.statements[place])

    def _read_statement(self, module: Module, syntax: Syntax, statement: Statement) -> None:
        """Follow what a statement mentions, and say what it hides."""
        inner = statement.inner_origins
        for chain in sorted(statement.mentions):
            name, rest = chain[0], chain[1:]
            if name in syntax:
                self._bind(module, syntax, name, rest)
            elif name not in inner:
                self._look_behind(module, syntax, chain)
            for source, attribute in inner.get(name, ()):
                self._enter(source, (*([attribute] if attribute else []), *rest))
            for source, attribute in (*syntax.origins.get(name, ()), *inner.get(name, ())):
                if is_opaque(".".join(filter(None, (source, attribute, *rest)))):
                    self.unseen[f"{module.name}, line {statement.line_of(chain)}: {_called(attribute, rest)}"] = None
        for hidden in statement.hidden:
            if not hidden.of or _is_own_module(syntax, inner, hidden.of):
                self.unseen[f"{module.name}, line {hidden.line}: {hidden.what}"] = None
            if hidden.module:
                self._enter(hidden.module, ())

    def _execute(self, module: Module) -> None:
        """Take note that a module is run when it is imported, and with it those that it imports."""
        if module.name in self.executed:
            return
        self.executed[module.name] = module
        syntax = module.syntax
        for name in (module.name.rpartition(".")[0], *(syntax.imported if syntax else ())):
            found = find_module(name) if name else None
            if found is not None and found.is_own:
                self._execute(found)

    def _run_what_matters(self) -> bool:
        """Take statements that act on what is reached by now; tell whether there was one."""
        n_before = len(self._texts) + sum(map(len, self._runs.values()))
        for module in list(self.executed.values()):
            syntax = module.syntax
            for place, statement in enumerate(syntax.statements if syntax else ()):
                ran = self._runs.get(module.name, {})
                if syntax and place not in ran and matters(module, syntax, statement, self._texts):
                    self._runs.setdefault(module.name, {})[place] = statement.text
                    self._read_statement(module, syntax, statement)
        return len(self._texts) + sum(map(len, self._runs.values())) > n_before

    def _note_package(self, name: str) -> None:
        package, version = distribution_of(name)
        if not package or is_recorded(package):
            return
        self._texts[f"package {package}"] = version
        if version == "unknown":
            self.unseen[f"{name}: a package of which no version is known"] = None

    def _take_without_text(self, module: Module) -> None:
        """Take bytes, or compiled code, of a module that has no text; where they lead is not known."""
        key = f"module {module.name}"
        if key in self._texts:
            return
        code = _code_of(module)
        if code is None:
            path = Path(module.spec.origin or "")
            self._texts[key] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "cannot be read"
            what = "a compiled extension" if module.is_compiled else "a file that does not read"
            self.unseen[f"{module.name}: {what}"] = None
        else:
            self._texts[key] = "\n".join(Outline().lines(code))
            self.unseen[f"{module.name}: compiled, without its source"] = None


def _code_of(module: Module) -> CodeType | None:
    read = getattr(module.spec.loader, "get_code", None)
    try:
        return None if module.is_compiled or read is None else read(module.name)
    except (ImportError, SyntaxError, ValueError, OSError):
        # Whoever imports it is told.
        return None


def _called(attribute: str, rest: Chain) -> str:
    name = (attribute, *rest)[-1]
    return f"{name}()" if name != "modules" else "sys.modules"


def _is_own_module(syntax: Syntax, inner: Origins, chain: Chain) -> bool:
    for source, attribute in (*syntax.origins.get(chain[0], ()), *inner.get(chain[0], ())):
        found = find_module(".".join(filter(None, (source, attribute, *chain[1:]))))
        if found is not None and found.is_own:
            return True
    return False
