"""Options of a model as data: a class says what it takes, and its constructor, signature and checks follow.

A family declares its options once, and a member of it what differs, in one row each::

    class GAT(AttentionStack):
        defaults = AttentionStack.defaults.but(heads=8, dropout=0.6)

``GAT(16, 8, 3, heads=2)`` then works, ``heads=0`` is refused, and ``self.options.heads`` is what was chosen.
:class:`Sizes` are facts of the data that a model needs before its parameters can be drawn.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn

from torch import nn

from gnz_track.errors import BadValue

__all__ = [
    "MOST_COUNTED",
    "ChosenOptions",
    "Defaults",
    "Model",
    "Option",
    "Sizes",
    "choice",
    "count",
    "fixed",
    "probability",
    "switch",
]

# Of layers, hops and the like; each is an object or a step, which takes time and memory.
MOST_COUNTED = 4096


@dataclass(frozen=True)
class Option:
    """One option of a constructor: its default, and which values are allowed, as a test and in words.

    An option that is not ``is_open`` is decided by the class.
    """

    default: Any
    allows: Callable[[Any], bool] = lambda _: True
    allowed: str = ""
    is_open: bool = True


class Defaults(Mapping[str, Option]):
    """The options of a family of models, by name; frozen, and changed for one member of it by :meth:`but`."""

    def __init__(self, **options: Option) -> None:
        self._options = options

    def __getitem__(self, name: str) -> Option:
        return self._options[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def but(self, **changes: Any) -> Defaults:
        """Return the same options with some more, or others; a bare value is another default.

        >>> changed = Defaults(n_layers=count(2), act=fixed("relu")).but(n_layers=4, heads=count(8))
        >>> {name: option.default for name, option in changed.items()}
        {'n_layers': 4, 'act': 'relu', 'heads': 8}
        """
        changed = {
            name: change if isinstance(change, Option) else replace(self._options[name], default=change)
            for name, change in changes.items()
        }
        return Defaults(**{**self._options, **changed})


class ChosenOptions(SimpleNamespace):
    """The options that a model was built with, by name; they cannot be changed."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(name)


def count(default: int) -> Option:
    """Return an option that is a whole number from 1 upwards."""
    return Option(default, lambda value: type(value) is int and value >= 1, "a whole number from 1 upwards")


def probability(default: float) -> Option:
    """Return an option that is a probability of dropping, which may not be 1."""
    return Option(default, _is_probability, "a number from 0 up to but not 1")


def choice(default: str, table: Mapping[str, object]) -> Option:
    """Return an option that is a name in a table."""
    return Option(default, lambda value: isinstance(value, str) and value in table, ", ".join(table))


def switch(*, default: bool) -> Option:
    """Return an option that is on or off."""
    return Option(default, lambda value: type(value) is bool, "true or false")


def fixed(value: Any) -> Option:
    """Return an option of a family that a member of it decides, and that no caller may set."""
    return Option(value, is_open=False)


def _is_probability(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1


class _ConstructorSignature:
    """The signature of a class: that of its ``__init__``, with its open options in place of ``**options``."""

    def __get__(self, model: Model | None, owner: type[Model]) -> inspect.Signature:
        if model is not None:
            # A model is called with data.
            message = "__signature__"
            raise AttributeError(message)
        written = inspect.signature(owner.__init__)
        given = list(written.parameters.values())[1:]
        if given and given[-1].kind is inspect.Parameter.VAR_KEYWORD:
            given[-1:] = [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
                for name, option in owner.defaults.items()
                if option.is_open
            ]
        return written.replace(parameters=given)


class Model(nn.Module):
    """A network whose class says in ``defaults`` what its constructor takes beside the three widths.

    ``self.options`` holds what was chosen. A constructor ``(in_channels, hidden_channels, out_channels, **options)``
    hands its options on.
    """

    defaults: ClassVar[Defaults] = Defaults()
    __signature__ = _ConstructorSignature()

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__()
        for name in options:
            if name not in self.defaults or not self.defaults[name].is_open:
                message = f"{type(self).__name__}() got an unexpected keyword argument {name!r}"
                raise TypeError(message)
        chosen = {name: options.get(name, option.default) for name, option in self.defaults.items()}
        for name, value in chosen.items():
            if not self.defaults[name].allows(value):
                raise BadValue(name, value, self.defaults[name].allowed)
        self.options = ChosenOptions(**chosen)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Facts of the data that a model is built by.

    ``vocabulary`` holds one size per integer feature column and is empty for real features; ``n_relations`` is above
    zero for knowledge graphs only. ``n_edge_features`` counts the features of labelled edges, ``is_directed`` says
    whether these have an order; both matter where edges are classified. ``edge_channels`` counts the features of the
    message edges, ``edge_vocabulary`` is to them what ``vocabulary`` is to those of nodes. ``n_encoding`` is the width
    of the positional encoding, ``n_nodes`` the number of nodes where there is one graph, ``n_graph_targets`` counts
    what is predicted of a graph beside the ``out_channels`` of each of its nodes. ``category_channels`` is the width of
    what stands for a category, ``code_channels`` that of codes by which links are scored; 0 is ``hidden_channels``.
    """

    in_channels: int
    hidden_channels: int
    out_channels: int
    vocabulary: tuple[int, ...] = ()
    n_relations: int = 0
    n_edge_features: int = 0
    is_directed: bool = False
    edge_channels: int = 0
    edge_vocabulary: tuple[int, ...] = ()
    n_encoding: int = 0
    n_nodes: int = 0
    n_graph_targets: int = 0
    category_channels: int = 0
    code_channels: int = 0

    @property
    def embedding_channels(self) -> int:
        """The width of what stands for a category."""
        return self.category_channels or self.hidden_channels
