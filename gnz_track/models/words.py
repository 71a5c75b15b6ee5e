"""Models as they are typed: ``GCN``, ``mynets:Net``, ``./nets.py:Net``, ``wide=GCN(n_layers=4)``.

Options are read as Python literals, and a bare word is a text: nothing of a word is evaluated. A file is imported as
what it is to Python, a module of its folder or of its package, so that workers and records know it by a name.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gnz_track.errors import BadValue, ModelInvalid
from gnz_track.registry import is_target
from gnz_track.types import ModelRow, Value

__all__ = ["ModelWord", "find_target", "name_options", "parse_word", "plain_options", "tell_apart"]

_LONGEST = 2000
_SUFFIX = ".py"
_ALLOWED = "NAME, NAME(OPTION=VALUE,...), package.module:Class or FILE.py:Class, after LABEL= where it is named"
_EXAMPLE = "gnz run --models 'wide=GCN(n_layers=4),GCN'"


@dataclass(frozen=True, kw_only=True)
class ModelWord:
    """A model as it is typed: what it is, the options that it is given, and what it is called, if anything."""

    reference: str
    options: Mapping[str, Value]
    label: str = ""


def parse_word(text: str) -> ModelWord:
    """Read a model as it is typed.

    >>> parse_word("wide=mynets:Net(n_layers=4, norm=batch)")
    ModelWord(reference='mynets:Net', options={'n_layers': 4, 'norm': 'batch'}, label='wide')
    """
    head, parenthesis, inner = text.partition("(")
    label, equals, reference = (part.strip() for part in head.rpartition("="))
    is_closed = inner.rstrip().endswith(")") if parenthesis else ")" not in head
    if not reference or not is_closed or (equals and not label) or "=" in label or len(text) > _LONGEST:
        raise BadValue("model", text, _ALLOWED, command=_EXAMPLE)
    options = _read_options(text, inner.rstrip()[:-1]) if parenthesis else {}
    return ModelWord(reference=reference, options=options, label=label)


def _read_options(text: str, inner: str) -> dict[str, Value]:
    try:
        with warnings.catch_warnings():
            # What Python has to say of such a text is no matter of the user's.
            warnings.simplefilter("ignore")
            call: Any = ast.parse(f"_({inner}\n)", mode="eval").body
        # More than one call, or one that is closed too early, is another expression.
        is_plain = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args
        names = [keyword.arg for keyword in call.keywords] if is_plain else [None]
        if None in names or len(set(names)) < len(names):
            raise BadValue("model", text, _ALLOWED, command=_EXAMPLE)
        return {str(keyword.arg): _read_literal(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        allowed = f"{_ALLOWED}; a value is a number, true, false or a word in quotes"
        raise BadValue("model", text, allowed, command=_EXAMPLE) from error


def _read_literal(node: ast.expr) -> Value:
    value: object = node.id if isinstance(node, ast.Name) else ast.literal_eval(node)
    if not isinstance(value, int | float | str | bool):
        raise TypeError
    return value


def plain_options(model: functools.partial[Any]) -> dict[str, Value]:
    """Return the options of a partial as plain values; what a record cannot hold is refused."""
    if model.args:
        remedy = "name them: functools.partial(Net, n_layers=4)"
        raise ModelInvalid(model, f"it is a partial with {len(model.args)} values without a name", remedy=remedy)
    for name, value in model.keywords.items():
        if not isinstance(value, int | float | str | bool):
            reason = f"its option {name!r} is a {type(value).__name__}, which no table of runs can hold"
            raise ModelInvalid(model, reason, remedy="give numbers, words, True or False, or make it a class")
    return dict(model.keywords)


def name_options(name: str, options: Mapping[str, Value]) -> str:
    """Return the name of a model with options, where its user gives it none.

    >>> name_options("Net", {"n_layers": 4, "norm": "batch"})
    'Net(n_layers=4,norm=batch)'
    """
    return f"{name}({','.join(f'{key}={value}' for key, value in sorted(options.items()))})"


def find_target(reference: str, *, what: str = "model") -> str:
    """Return ``package.module:Class`` of a reference; of a file, it is imported by the name that Python has for it.

    What is neither a target nor a file is returned as it is; ``what`` it is stands in an error.
    """
    place, colon, name = reference.rpartition(":")
    if is_target(reference) or not colon or not place.endswith(_SUFFIX):
        return reference
    path = Path(place).expanduser().resolve()
    if not path.is_file() or not name.isidentifier():
        raise BadValue(what, reference, "FILE.py:NAME with a file that exists", command="ls " + place)
    return f"{_import_file(path, reference, what)}:{name}"


def _import_file(path: Path, reference: str, what: str) -> str:
    """Import a file as a module of its folder, or of the package that it lies in; return the module's name."""
    folder = path.parent
    parts = [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    name = ".".join(parts)
    if not all(part.isidentifier() for part in parts) or parts[0] in sys.stdlib_module_names:
        allowed = "a file whose name Python can import, and has none of its own for, as my_nets.py"
        raise BadValue(what, reference, allowed, command=f"mv {path.name} my_nets.py")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
    found = getattr(importlib.import_module(name), "__file__", None)
    if found is None or Path(found).resolve() != path:
        allowed = f"a file of another name: {name!r} is {found or 'a module of Python'}"
        raise BadValue(what, reference, allowed, command=f"mv {path.name} my_{path.name}")
    return name


def tell_apart(rows: Iterable[ModelRow]) -> list[ModelRow]:
    """Return rows with the module before the name where several classes share one.

    >>> nets = [ModelRow(name="Net", task_types=(), target=f"{module}:Net") for module in ("one", "two")]
    >>> [row.name for row in tell_apart(nets)]
    ['one:Net', 'two:Net']
    """
    rows = list(rows)
    places: Counter[str] = Counter(name for name, _ in {(row.name, row.target) for row in rows})
    return [
        replace(row, name=f"{row.target.partition(':')[0]}:{row.name}") if places[row.name] > 1 and row.target else row
        for row in rows
    ]
