"""From the row of a model and the sizes of a dataset to a module."""

from __future__ import annotations

import inspect
import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue, ModelInvalid
from gnz_track.models.adapters import CategoricalInput, EncodedInput, EncoderFactory, LinkHead, LinkScorer, TripleHead
from gnz_track.models.catalogue import MODULES, ROOM
from gnz_track.models.options import Sizes
from gnz_track.registry import import_target
from gnz_track.types import ModelRow, TaskType

__all__ = ["Options", "Sizes", "build", "count_parameters", "load_parts", "options_of"]


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


def build(row: ModelRow, task_type: TaskType, sizes: Sizes, *, options: Mapping[str, Any] | None = None) -> nn.Module:
    """Construct the model of a row for a task type.

    What is fitted is drawn from the global Torch generator, in the order of construction. A constructor that asks for
    ``task_type`` or ``sizes`` is given them; with ``sizes`` it takes features as they are, categories included.

    Parameters
    ----------
    row
        the model
    task_type
        the kind of problem
    sizes
        facts of the data, and the width of the model
    options
        keywords of the model's constructor, in place of those that belong to the row
    """
    construct = _told_of_edges(_constructor(row), sizes)
    options = {**row.options, **(options or {})}
    _check_options(row, construct, options)
    told = {"task_type": task_type, "sizes": sizes}
    asked = {name: value for name, value in told.items() if _takes(construct, name)}
    first = sizes.embedding_channels if sizes.vocabulary else sizes.in_channels + sizes.n_encoding
    model = construct(first, sizes.hidden_channels, sizes.out_channels, **asked, **options)
    if not isinstance(model, nn.Module):
        raise ModelInvalid(row.name, f"it built a {type(model).__name__}", remedy="return a torch.nn.Module")
    if "sizes" in asked:
        # It embeds categories and positions itself, and its codes may be wider than its layers.
        width = getattr(model, "width", sizes.hidden_channels)
        sizes = replace(sizes, vocabulary=(), n_encoding=0, hidden_channels=width)
    return _as_link_model(model, sizes) if task_type is TaskType.link_pred else _behind_input(model, sizes)


def count_parameters(model: nn.Module) -> int:
    """Count the trainable numbers of a model; parameters that have no shape before they see data count nothing."""
    found = (parameter for parameter in model.parameters() if parameter.requires_grad)
    return sum(item.numel() for item in found if not isinstance(item, nn.UninitializedParameter))


def options_of(row: ModelRow) -> Options:
    """Return what the constructor of a row takes; it is looked at, and not called."""
    cls, _ = load_parts(row)
    found = _parameters(_constructor(row))
    return Options(
        names=_names_of(found),
        defaults={name: found[name].default for name in _names_of(found) if found[name].default is not _NONE},
        takes_any=any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in found.values()),
        search_space=getattr(cls, "search_space", None),
    )


_NONE = inspect.Parameter.empty


def load_parts(row: ModelRow) -> tuple[Any, Any]:
    """Return the class and the factory of a row, None where it has none."""
    if row.payload:
        # By value, and only from the process that made the row, or one that trusts it.
        cls, factory = _Payload(io.BytesIO(row.payload)).load()
        return cls, factory
    return (
        import_target(row.target) if row.target else None,
        import_target(row.factory) if row.factory else None,
    )


class _Payload(pickle.Unpickler):
    """Reads a model that travels by value; of this package it names modules as they were when it was written."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(ROOM) and name in MODULES:
            # The room has the class, wherever in it that lies by now.
            return super().find_class(ROOM, name)
        return super().find_class(_FORMER.get(module, module), name)


# Modules that payloads in stores name -> where their classes lie by now.
_FORMER: dict[str, str] = {}


def _constructor(row: ModelRow) -> Callable[..., Any]:
    cls, factory = load_parts(row)
    if row.is_encoder:
        return EncoderFactory(cls)
    construct: Callable[..., Any] = factory or cls
    return construct


def _told_of_edges(construct: Callable[..., Any], sizes: Sizes) -> Callable[..., Any]:
    if not isinstance(construct, EncoderFactory):
        return construct
    about_edges = {"n_edge_features": sizes.n_edge_features, "is_directed": sizes.is_directed}
    return replace(construct, **about_edges, n_graph_targets=sizes.n_graph_targets, code_channels=sizes.code_channels)


def _takes(construct: Callable[..., Any], name: str) -> bool:
    """Tell, from the signature and once, whether a fact is wanted."""
    if isinstance(construct, EncoderFactory):
        return name == "task_type"
    return name in inspect.signature(construct).parameters


def _parameters(construct: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(construct.encoder if isinstance(construct, EncoderFactory) else construct).parameters


def _names_of(parameters: Mapping[str, inspect.Parameter]) -> tuple[str, ...]:
    """Return the options among the parameters of a constructor: all but the three widths, and what collects others."""
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = [name for name in list(parameters)[3:] if parameters[name].kind not in several]
    return tuple(name for name in named if name not in ("task_type", "sizes"))


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
        encoder = _LinkEncoder(encoder) if isinstance(encoder, LinkScorer) else encoder
        return TripleHead(_behind_input(encoder, sizes), sizes.hidden_channels, sizes.n_relations)
    if isinstance(model, LinkHead):
        return LinkHead(_behind_input(model.encoder, sizes))
    if isinstance(model, LinkScorer):
        return _LinksBehindInput(sizes, model) if sizes.vocabulary or sizes.n_encoding else model
    return LinkHead(_behind_input(model, sizes))


def _behind_input(model: nn.Module, sizes: Sizes) -> nn.Module:
    """Return a model behind what turns categories and positions into features, where there are any."""
    if sizes.n_encoding:
        return EncodedInput(sizes.vocabulary, sizes.n_encoding, sizes.embedding_channels, model)
    return CategoricalInput(sizes.vocabulary, sizes.embedding_channels, model) if sizes.vocabulary else model


class _LinkEncoder(nn.Module):
    """The encoder of a link model, where a relational head takes the place of its own."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, data: Data) -> Tensor:
        return self.model.encode(data)  # type: ignore[no-any-return]


class _LinksBehindInput(nn.Module):
    """A link model of one's own behind embedded features."""

    def __init__(self, sizes: Sizes, model: Any) -> None:
        super().__init__()
        self.model = model
        self.input: Any = _behind_input(nn.Identity(), sizes)

    def encode(self, data: Data) -> Tensor:
        return self.model.encode(self.input.embed(data))  # type: ignore[no-any-return]

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        return self.model.decode(codes, pairs)  # type: ignore[no-any-return]
