"""All of a user's code that some names reach, followed from module to module by syntax alone.

A name is followed to the statements that bind it, these to the names that they mention, and imports to where they lead.
Beside names, what a reached module runs counts as far as it matters. Nothing is named by a path, so that the same code
is the same on every machine.
"""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType

from gnz_track.user_code.effects import matters
from gnz_track.user_code.modules import Module, Origin, Statement, Syntax, find_module
from gnz_track.user_code.packages import distribution_of, is_recorded
from gnz_track.user_code.statements import Chain, is_opaque
from gnz_track.user_code.values import Outline

__all__ = ["Reach"]

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
