"""Conditions under which a fast forward computes what PyG's own would, read anew at every call.

A layer may be told anything after it was built: another setting, a hook, a method of its own, another aggregation. So
nothing is decided once. What a fast forward takes for granted of its layer is a row of :data:`GUARDS`; what it takes
for granted of the process is :func:`is_ordinary`. Whatever is not as it was when the fast forward was written goes
PyG's own way. Reading it all takes a few microseconds.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn import functional
from torch.nn.modules import module as modules
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from torch.nn.parameter import Parameter
from torch_geometric.nn import (
    APPNP,
    ChebConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GPSConv,
    InnerProductDecoder,
    Linear,
    SAGEConv,
    SGConv,
    TransformerConv,
)
from torch_geometric.nn.aggr import Aggregation, MaxAggregation, MeanAggregation, SumAggregation
from torch_geometric.nn.aggr import base as aggregation_base
from torch_geometric.nn.conv import gps_conv

__all__ = [
    "GUARDS",
    "FastForward",
    "Guard",
    "gives",
    "is_ordinary",
    "is_unwatched",
    "may_activate",
    "may_attend",
    "may_drop",
    "may_multiply",
    "may_normalise",
    "may_pair",
    "may_pool",
]

# What PyG's layers call of themselves between their input and their output.
METHODS = (
    *("message", "aggregate", "update", "propagate", "collect", "edge_update", "edge_updater", "edge_collect"),
    *("_check_input", "_set_size", "_lift", "_index_select", "_index_select_safe", "__norm__"),
)
_HOOKS = itemgetter(
    *(f"_{step}_forward{kind}hooks" for step in ("propagate", "message", "aggregate") for kind in ("_", "_pre_")),
    *("_edge_update_forward_hooks", "_edge_update_forward_pre_hooks"),
)
_HOOKS_OF_MODULE = itemgetter("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")

# Attributes of every layer that passes messages along its edges and sums them up in one go.
_SETTINGS = {"flow": "source_to_target", "_explain": None, "_decomposed_layers": 1}


class FastForward(functools.partial):  # type: ignore[type-arg]
    """A fast forward, bound to a layer."""


class _Functions:
    """Functions of Torch and PyG that a fast forward does without, as long as nobody has put others in their place."""

    def __init__(self, *places: tuple[Any, tuple[str, ...]]) -> None:
        """Take modules or classes, each with names of theirs."""
        # The first once more, so that there are always several to get.
        self._places = [(attrgetter(*names, names[0]), owner) for owner, names in places]
        self._known: Any = None

    def are_theirs(self) -> bool:
        """Tell whether these are the functions that the libraries define."""
        found = [read(owner) for read, owner in self._places]
        if self._known is None and all(_is_of_libraries(function) for functions in found for function in functions):
            self._known = found
        return bool(found == self._known)


def _is_of_libraries(function: Any) -> bool:
    """Tell where the code of a function is from; what it says of itself is copied by decorators."""
    if isinstance(function, BuiltinFunctionType):
        return True
    name = function.__globals__.get("__name__", "") if isinstance(function, FunctionType) else ""
    return name.partition(".")[0] in {"torch", "torch_geometric"}


class Guard:
    """Conditions that the fast forward of one class of layers takes for granted."""

    def __init__(
        self,
        cls: type,
        aggregations: tuple[type[Aggregation], ...],
        settings: Mapping[str, Any],
        *,
        calls: tuple[str, ...] = (),
        agrees: Callable[[Any], bool] | None = None,
        takes: tuple[str, ...] = (),
    ) -> None:
        """Take the conditions.

        Parameters
        ----------
        cls
            Class of the layer; no subclass of it.
        aggregations
            Classes of its aggregation.
        settings
            Value of each attribute that the fast forward does not look at.
        calls
            Functions that PyG's own forward calls from its module, and the fast one does not.
        agrees
            Whether what else the fast forward relies on holds for a layer.
        takes
            What the fast forward is given beside features and edges, by the layer's own words.
        """
        settings = {**_SETTINGS, **settings}
        self.cls, self._aggregations, self._agrees, self._takes = cls, aggregations, agrees, takes
        self._read, self._expected = itemgetter(*settings), tuple(settings.values())
        methods = (name for name in METHODS if (name[0] != "_" or name[-1] == "_") and hasattr(cls, name))
        self._functions = _Functions(
            (cls, ("forward", *methods)),
            *((aggregation, ("forward", "reduce")) for aggregation in aggregations),
            (aggregation_base, ("scatter",)),
            (functional, ("linear", "dropout")),
            *([(sys.modules[cls.__module__], calls)] if calls else []),
        )
        code = cls.forward.__code__  # type: ignore[attr-defined]
        # Without the layer itself, the features and the edges.
        self._further = code.co_varnames[3 : code.co_argcount]
        self._nothing = (None,) * len(takes)

    def admits(self, layer: Any) -> bool:
        """Tell whether the fast forward computes what this layer would."""
        own = vars(layer)
        try:
            if self._read(own) != self._expected or any(_HOOKS(own)) or type(layer) is not self.cls:
                return False
            aggregation = own["_modules"]["aggr_module"]
        except KeyError:
            return False
        if not own.keys().isdisjoint(METHODS) or type(aggregation) not in self._aggregations:
            return False
        told = vars(aggregation)
        if any(_HOOKS_OF_MODULE(told)) or "reduce" in told:
            return False
        if "forward" in told and type(told["forward"]) is not FastForward:
            return False
        return self._functions.are_theirs() and (self._agrees is None or self._agrees(layer))

    def read_further(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return what the fast forward takes of what was given beside features and edges; None where there is more."""
        if not args and not kwargs:
            return self._nothing
        if len(args) > len(self._further) or not kwargs.keys() <= set(self._further[len(args) :]):
            return None
        given = {**dict(zip(self._further, args, strict=False)), **kwargs}
        taken = tuple(given.pop(name, None) for name in self._takes)
        return taken if all(value is None for value in given.values()) else None


_DROPOUT = _Functions((functional, ("dropout",)))
_LINEAR = _Functions((functional, ("linear",)))
_GPS = _Functions((functional, ("dropout", "multi_head_attention_forward")), (gps_conv, ("to_dense_batch",)))
_NORMS = _Functions((functional, ("batch_norm",)))
_ACTIVATIONS = _Functions((functional, ("relu", "elu")))
_POOLS = _Functions(
    *((aggregation, ("forward", "reduce")) for aggregation in (SumAggregation, MeanAggregation, MaxAggregation)),
    (aggregation_base, ("scatter",)),
)
_PAIRS = _Functions((InnerProductDecoder, ("forward",)))


def gives(layer: Any, names: tuple[str, ...], width: int) -> bool:
    """Tell whether linear maps of a layer give rows of some width; one that has no weight yet will be asked again.

    Parameters
    ----------
    layer
        The layer.
    names
        The maps, by its own words.
    width
        How wide their rows are to be.
    """
    for name in names:
        linear = layer._modules.get(name)  # noqa: SLF001  (five times as fast as by its name)
        if type(linear) is not Linear:
            return False
        weight = linear._parameters.get("weight")  # noqa: SLF001
        if type(weight) is not Parameter or weight.dim() != 2 or weight.size(0) != width:
            return False
    return True


def _gat_agrees(layer: GATConv) -> bool:
    heads, width, own = layer.heads, layer.out_channels, layer._parameters  # noqa: SLF001
    source, target, shape = own.get("att_src"), own.get("att_dst"), (1, heads, width)
    return (
        0.0 <= layer.dropout < 1.0
        and type(layer.add_self_loops) is bool
        and layer.lin_edge is None
        and gives(layer, ("lin",), heads * width)
        and type(source) is type(target) is Parameter
        and source.shape == target.shape == shape
    )


def _gatv2_agrees(layer: GATv2Conv) -> bool:
    heads, width = layer.heads, layer.out_channels
    vector = layer._parameters.get("att")  # noqa: SLF001
    return (
        0.0 <= layer.dropout < 1.0
        and gives(layer, ("lin_l", "lin_r"), heads * width)
        and type(vector) is Parameter
        and vector.shape == (1, heads, width)
    )


def _appnp_agrees(layer: APPNP) -> bool:
    return not layer.dropout > 0 or not layer.training


def _transformer_agrees(layer: TransformerConv) -> bool:
    own = layer._modules  # noqa: SLF001
    return (
        0.0 <= layer.dropout < 1.0
        and own.get("lin_edge") is None
        and own.get("lin_beta") is None
        and gives(layer, ("lin_query", "lin_key", "lin_value"), layer.heads * layer.out_channels)
    )


_NORMALISED = {"normalize": True, "add_self_loops": True, "improved": False}
_UNCACHED = {"cached": False, "_cached_edge_index": None}

_SUM = (SumAggregation,)

GUARDS: dict[type, Guard] = {
    guard.cls: guard
    for guard in (
        Guard(GCNConv, _SUM, {"node_dim": -2, **_NORMALISED, **_UNCACHED}, calls=("gcn_norm",)),
        Guard(SAGEConv, (MeanAggregation, MaxAggregation), {"node_dim": -2, "project": False}),
        Guard(GINConv, _SUM, {"node_dim": -2}),
        Guard(GINEConv, _SUM, {"node_dim": -2}, takes=("edge_attr",)),
        Guard(
            GATConv,
            _SUM,
            {"node_dim": 0},
            calls=("softmax", "remove_self_loops", "add_self_loops"),
            agrees=_gat_agrees,
        ),
        Guard(
            GATv2Conv,
            _SUM,
            {"node_dim": 0},
            calls=("softmax", "remove_self_loops", "add_self_loops"),
            agrees=_gatv2_agrees,
        ),
        Guard(TransformerConv, _SUM, {"node_dim": 0}, calls=("softmax",), agrees=_transformer_agrees),
        Guard(
            SGConv,
            _SUM,
            {"node_dim": -2, "add_self_loops": True, "cached": False, "_cached_x": None},
            calls=("gcn_norm",),
        ),
        Guard(
            APPNP,
            _SUM,
            {"node_dim": -2, "normalize": True, "add_self_loops": True, **_UNCACHED},
            calls=("gcn_norm",),
            agrees=_appnp_agrees,
        ),
        Guard(ChebConv, _SUM, {"node_dim": -2}, calls=("get_laplacian",)),
    )
}


# Each tells of something under way in which operations are not run as they come. Looked up once, as half of what asking
# costs is the way there.
_is_autocast = torch._C._is_any_autocast_enabled  # noqa: SLF001  (of most of these there are no public names)
_count_function_modes, _count_dispatch_modes = torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack  # noqa: SLF001
_tracing, _transform = torch._C._get_tracing_state, torch._C._functorch.peek_interpreter_stack  # noqa: SLF001
_is_inference, _is_compiling = torch.is_inference_mode_enabled, torch.compiler.is_compiling
_has_hooks = modules._has_any_global_hook  # noqa: SLF001


def is_ordinary() -> bool:
    """Tell whether Torch runs operations as they come: unwatched, untraced, in the precision of their input.

    Nor under inference: what is kept there from one call to the next would be of no use to a gradient.
    """
    return not (
        # Asked first: a compiler that traces this asks nothing else.
        _is_compiling()
        or _is_autocast()
        or _count_function_modes()
        or _count_dispatch_modes()
        or _tracing() is not None
        or _transform() is not None
        or _is_inference()
        or forward_ad._current_level >= 0  # noqa: SLF001
        or _has_hooks()
    )


_FLOATS = frozenset({torch.float32, torch.float64, torch.float16, torch.bfloat16})


def may_drop(layer: nn.Dropout, x: Any) -> bool:
    """Tell whether dropout by the fast way is that of the layer.

    Parameters
    ----------
    layer
        The layer.
    x
        Its input.
    """
    return (
        is_ordinary()
        and not layer.inplace
        and 0.0 <= layer.p < 1.0
        and type(x) in {Tensor, Parameter}
        and x.dtype in _FLOATS
        and x.is_cpu
        and x.layout is torch.strided
        and _DROPOUT.are_theirs()
    )


def may_activate(layer: nn.Module, x: Any) -> bool:
    """Tell whether the fast activation is that of a layer, ``ReLU`` or ``ELU``.

    Parameters
    ----------
    layer
        The layer.
    x
        Its input.
    """
    is_usual = not layer.inplace and getattr(layer, "alpha", 1.0) == 1.0
    return is_usual and type(x) in {Tensor, Parameter} and is_ordinary() and _ACTIVATIONS.are_theirs()


def may_multiply(layer: Any, x: Any) -> bool:
    """Tell whether the fast linear map is that of a layer, of Torch or PyG.

    Parameters
    ----------
    layer
        The layer.
    x
        Its input.
    """
    own = layer._parameters  # noqa: SLF001  (a weight may be made anew from others at every call)
    is_known = type(own.get("weight")) is Parameter and "bias" in own
    return is_known and type(x) in {Tensor, Parameter} and is_ordinary() and _LINEAR.are_theirs()


def _is_tensor(x: Any) -> bool:
    is_plain = type(x) in {Tensor, Parameter}
    return is_plain and x.dtype in _FLOATS and x.is_cpu and x.layout is torch.strided and x.dim() == 2


def may_pool(layer: Aggregation, x: Any) -> bool:
    """Tell whether the fast way of pooling is that of a layer.

    Parameters
    ----------
    layer
        The layer.
    x
        What it pools.
    """
    return _is_tensor(x) and "reduce" not in vars(layer) and is_ordinary() and _POOLS.are_theirs()


def may_pair(x: Any) -> bool:
    """Tell whether the fast way of multiplying the codes ``[n_nodes, width]`` of pairs is that of PyG's decoder."""
    return _is_tensor(x) and is_ordinary() and _PAIRS.are_theirs()


def may_normalise(layer: nn.BatchNorm1d, x: Any) -> bool:
    """Tell whether the fast batch normalisation is that of a layer.

    Parameters
    ----------
    layer
        The layer.
    x
        Its input.
    """
    own, kept = layer._parameters, layer._buffers  # noqa: SLF001
    return (
        type(layer) is nn.BatchNorm1d
        and type(own.get("weight")) is type(own.get("bias")) is Parameter
        and type(kept.get("running_mean")) is type(kept.get("running_var")) is Tensor
        and type(kept.get("num_batches_tracked")) is Tensor
        and type(layer.momentum) is float
        and layer.track_running_stats
        and type(x) in {Tensor, Parameter}
        and x.dim() == 2
        and own["weight"].numel() == own["bias"].numel() == kept["running_mean"].numel() == x.size(1)  # type: ignore[union-attr]
        and is_ordinary()
        and _NORMS.are_theirs()
    )


def may_attend(layer: GPSConv, x: Any) -> bool:
    """Tell whether the fast attention between all nodes is that of a layer.

    Parameters
    ----------
    layer
        The layer.
    x
        Its input.
    """
    attention = layer._modules.get("attn")  # noqa: SLF001
    return (
        type(x) in {Tensor, Parameter}
        and x.dim() == 2
        and type(attention) is nn.MultiheadAttention
        and is_unwatched(attention)
        and "forward" not in vars(attention)
        and _is_usual_attention(attention, x.size(1))
        and layer.conv is not None
        and not layer.norm_with_batch
        and 0.0 <= layer.dropout < 1.0
        and is_ordinary()
        and _GPS.are_theirs()
    )


def _is_usual_attention(attention: Any, width: int) -> bool:
    """Tell whether queries, keys and values are of one width, with biases, and nothing is dropped or added."""
    own, last = attention._parameters, attention._modules.get("out_proj")  # noqa: SLF001
    parameters = [own.get("in_proj_weight"), own.get("in_proj_bias"), *(last._parameters.get(one) for one in _OF_A_MAP)]  # noqa: SLF001
    return (
        attention.embed_dim == width
        and attention.batch_first
        and (attention.dropout == 0.0 or not attention.training)
        and not attention.add_zero_attn
        and own.get("bias_k") is None
        and own.get("bias_v") is None
        and type(last) is NonDynamicallyQuantizableLinear
        and "forward" not in vars(last)
        and is_unwatched(last)
        and all(type(one) is Parameter for one in parameters)
        and [tuple(one.shape) for one in parameters] == [(3 * width, width), (3 * width,), (width, width), (width,)]
    )


_OF_A_MAP = ("weight", "bias")


def is_unwatched(module: nn.Module) -> bool:
    """Tell whether a module can be computed without being called: nobody has hung a hook on it."""
    return not any(_HOOKS_OF_MODULE(vars(module)))
