"""From the row of a model and the sizes of a dataset to a module."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue, ModelInvalid
from gnz_track.models.adapters import CategoricalInput, EncoderFactory, LinkHead, LinkScorer, TripleHead
from gnz_track.registry import import_target
from gnz_track.types import ModelRow, TaskType

__all__ = ["Options", "Sizes", "build", "count_parameters", "options_of"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The keywords that the constructor of a model takes beside the three widths.

    ``defaults`` maps those that have a default to it, ``takes_any`` says that any other name is taken as well, and
    ``search_space`` is what the class declares under that name: by hyperparameter, the values that a search may take.
    """

    names: tuple[str, ...]
    defaults: Mapping[str, Any]
    takes_any: bool
    search_space: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a model has to know of its data.

    ``vocabulary`` holds one size per integer feature column and is empty for real features; ``n_relations`` is above
    zero for knowledge graphs only. ``n_edge_features`` counts the features of labelled edges, ``is_directed`` says
    whether these have an order; both matter where edges are classified.
    """

    in_channels: int
    hidden_channels: int
    out_channels: int
    vocabulary: tuple[int, ...] = ()
    n_relations: int = 0
    n_edge_features: int = 0
    is_directed: bool = False


def build(row: ModelRow, task_type: TaskType, sizes: Sizes, *, options: Mapping[str, Any] | None = None) -> nn.Module:
    """Construct the model of a row for a task type; ``options`` are keywords of its constructor.

    Parameters are drawn from the global Torch generator, in the order of construction.
    """
    construct = _told_of_edges(_constructor(row), sizes)
    _check_options(row, construct, options or {})
    first = sizes.hidden_channels if sizes.vocabulary else sizes.in_channels
    widths = (first, sizes.hidden_channels, sizes.out_channels)
    if _takes_task_type(construct):
        model = construct(*widths, task_type=task_type, **(options or {}))
    else:
        model = construct(*widths, **(options or {}))
    if not isinstance(model, nn.Module):
        raise ModelInvalid(row.name, f"it built a {type(model).__name__}", remedy="return a torch.nn.Module")
    if task_type is TaskType.link_pred:
        return _as_link_model(model, sizes)
    return CategoricalInput(sizes.vocabulary, sizes.hidden_channels, model) if sizes.vocabulary else model


def count_parameters(model: nn.Module) -> int:
    """Count the trainable numbers of a model."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def options_of(row: ModelRow) -> Options:
    """Return what the constructor of a row takes; it is looked at, and not called."""
    cls, _ = _parts(row)
    found = _parameters(_constructor(row))
    return Options(
        names=_names_of(found),
        defaults={name: found[name].default for name in _names_of(found) if found[name].default is not _NONE},
        takes_any=any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in found.values()),
        search_space=getattr(cls, "search_space", None),
    )


_NONE = inspect.Parameter.empty


def _parts(row: ModelRow) -> tuple[Any, Any]:
    """Return the class and the factory of a row, None where it has none."""
    if row.payload:
        # By value, and only from the process that made the row.
        cls, factory = pickle.loads(row.payload)  # noqa: S301
        return cls, factory
    return (
        import_target(row.target) if row.target else None,
        import_target(row.factory) if row.factory else None,
    )


def _constructor(row: ModelRow) -> Callable[..., Any]:
    cls, factory = _parts(row)
    if row.is_encoder:
        return EncoderFactory(cls)
    construct: Callable[..., Any] = factory or cls
    return construct


def _told_of_edges(construct: Callable[..., Any], sizes: Sizes) -> Callable[..., Any]:
    if not isinstance(construct, EncoderFactory):
        return construct
    return replace(construct, n_edge_features=sizes.n_edge_features, is_directed=sizes.is_directed)


def _takes_task_type(construct: Callable[..., Any]) -> bool:
    """Tell, from the signature and once, whether ``task_type=`` is wanted."""
    return isinstance(construct, EncoderFactory) or "task_type" in inspect.signature(construct).parameters


def _parameters(construct: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(construct.encoder if isinstance(construct, EncoderFactory) else construct).parameters


def _names_of(parameters: Mapping[str, inspect.Parameter]) -> tuple[str, ...]:
    """Return the options among the parameters of a constructor: all but the three widths, and what collects others."""
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = [name for name in list(parameters)[3:] if parameters[name].kind not in several]
    return tuple(name for name in named if name != "task_type")


def _check_options(row: ModelRow, construct: Callable[..., Any], options: Mapping[str, Any]) -> None:
    parameters = _parameters(construct)
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    allowed = _names_of(parameters)
    for name in options:
        if name not in allowed:
            raise BadValue(f"hyperparameter of {row.name}", name, ", ".join(allowed) or "none")


def _as_link_model(model: nn.Module, sizes: Sizes) -> nn.Module:
    """Return a model with ``encode`` and ``decode``; a bare encoder gets the usual head."""
    if sizes.n_relations:
        encoder = model.encoder if isinstance(model, LinkHead) else model
        encoder = _Codes(encoder) if isinstance(encoder, LinkScorer) else encoder
        return TripleHead(_with_vocabulary(encoder, sizes), sizes.hidden_channels, sizes.n_relations)
    if isinstance(model, LinkHead):
        return LinkHead(_with_vocabulary(model.encoder, sizes))
    if isinstance(model, LinkScorer):
        return _CategoricalLinks(sizes, model) if sizes.vocabulary else model
    return LinkHead(_with_vocabulary(model, sizes))


def _with_vocabulary(encoder: nn.Module, sizes: Sizes) -> nn.Module:
    return CategoricalInput(sizes.vocabulary, sizes.hidden_channels, encoder) if sizes.vocabulary else encoder


class _Codes(nn.Module):
    """The encoder of a link model, where a relational head takes the place of its own."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, data: Data) -> Tensor:
        return self.model.encode(data)  # type: ignore[no-any-return]


class _CategoricalLinks(nn.Module):
    """A link model of one's own behind embedded features."""

    def __init__(self, sizes: Sizes, model: Any) -> None:
        super().__init__()
        self.model = model
        self.input = CategoricalInput(sizes.vocabulary, sizes.hidden_channels, nn.Identity())

    def encode(self, data: Data) -> Tensor:
        return self.model.encode(self.input.embed(data))  # type: ignore[no-any-return]

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        return self.model.decode(codes, pairs)  # type: ignore[no-any-return]
