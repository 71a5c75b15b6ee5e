"""Functions of tensors by the compiled kernels, with gradients of any order.

Each function here has a twin in Torch that computes the same but for rounding. The twin computes where there are no
kernels, or where they do not serve: other types than float32, other devices, memory in another order. It also computes
gradients of gradients: the kernels' own gradients have none.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter, functional

from gnz_track.training.acceleration.library import Attention, Bent, Edges, Gat, GatGradients, Products, kernels
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.products import sum_neighbours

__all__ = [
    "ACTIVATIONS",
    "Bits",
    "Entries",
    "address_of",
    "attend_by_bent_sums",
    "attend_by_products",
    "attend_by_sums",
    "bend_compiled",
    "collect_compiled",
    "differentiate",
    "has_same_bits",
    "is_left_to_torch",
    "multiply_compiled",
    "narrow_compiled",
    "save",
    "serves",
    "sum_columns",
    "sum_compiled",
    "thin_compiled",
    "transpose",
]

# As many numbers as ``kernels/attention.h`` has room for.
MOST_HEADS = 64


def serves(*tensors: Tensor | None) -> bool:
    """Tell whether there are kernels, and tensors (None: there is none) are what they take, and what Torch makes."""
    is_usual = kernels() is not None and torch.get_default_dtype() is torch.float32
    return is_usual and all(tensor is None or _is_usual(tensor) for tensor in tensors)


def _is_usual(tensor: Tensor) -> bool:
    is_plain = type(tensor) in {Tensor, Parameter}
    return is_plain and tensor.dtype is torch.float32 and tensor.is_cpu and tensor.layout is torch.strided


def _is_row(bias: Tensor | None, width: int) -> bool:
    """Tell whether a bias is none, or one number after another for every column; Torch would spread others."""
    return bias is None or (bias.shape == (width,) and bias.is_contiguous())


def address_of(tensor: Tensor | None) -> int | None:
    """Return where the numbers of a tensor lie; nowhere of none."""
    return None if tensor is None else tensor.data_ptr()


def save(ctx: Any, *inputs: Tensor | None) -> None:
    """Save inputs for the way back, with how they lie: by ``data``, others may be put into their place until then."""
    ctx.save_for_backward(*inputs)
    ctx.places = _lie_of(inputs)


def _lie_of(inputs: Sequence[Tensor | None]) -> list[Any]:
    return [one if one is None else (one.shape, one.stride()) for one in inputs]


def is_left_to_torch(ctx: Any, saved: Sequence[Tensor | None]) -> bool:
    """Tell whether gradients are to have gradients, or inputs no longer lie as the kernels found them."""
    return torch.is_grad_enabled() or ctx.places != _lie_of(saved)


def differentiate(
    twin: Callable[..., Any], inputs: Sequence[Tensor | None], needs: Sequence[bool], gradient: Any
) -> list[Tensor | None]:
    """Return gradients of a twin that have gradients themselves.

    Parameters
    ----------
    twin
        The function in Torch.
    inputs
        What it was given.
    needs
        Whether the gradient of each is needed.
    gradient
        That of its output, or of each of several.
    """
    with torch.enable_grad():
        # Under names of their own: one input may have been computed from another.
        own = [None if one is None else one.view_as(one) for one in inputs]
        wanted = [one for one, is_needed in zip(own, needs, strict=True) if is_needed]
        found = iter(torch.autograd.grad(twin(*own), wanted, gradient, create_graph=True, allow_unused=True))
    return [next(found) if is_needed else None for is_needed in needs]


# ------------------------------------------------------------------------------------------------ sums over neighbours


class _Sum(torch.autograd.Function):
    """``A(values) @ x / divisors + bias``, where values and divisors are constant."""

    @staticmethod
    def forward(
        ctx: Any,
        pattern: Pattern,
        values: Tensor | None,
        divisors: Tensor | None,
        x: Tensor,
        bias: Tensor | None,
    ) -> Tensor:
        ctx.pattern, ctx.values, ctx.divisors = pattern, values, divisors
        ctx.save_for_backward(x, bias)
        x, out = x.contiguous(), torch.empty(pattern.n_rows, x.size(1))
        kernels().sum_neighbours(pattern.edges, x.size(1), *map(address_of, (values, x, bias, divisors, out)))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        needs = ctx.needs_input_grad[3:]
        if torch.is_grad_enabled():
            twin = functools.partial(_sum_in_torch, ctx.pattern, ctx.values, ctx.divisors)
            return None, None, None, *differentiate(twin, ctx.saved_tensors, needs, gradient)
        gradient, to_x, to_bias = gradient.contiguous(), None, None
        width = gradient.size(1)
        if needs[0]:
            to_x = torch.zeros(ctx.pattern.n_columns, width)
            places = map(address_of, (ctx.values, gradient, ctx.divisors, to_x))
            kernels().spread_to_neighbours(ctx.pattern.edges, width, *places)
        if needs[1]:
            to_bias = sum_columns(gradient)
        return None, None, None, to_x, to_bias


def _sum_in_torch(
    pattern: Pattern, values: Tensor | None, divisors: Tensor | None, x: Tensor, bias: Tensor | None
) -> Tensor:
    out = sum_neighbours(pattern, values, x)
    out = out if divisors is None else out / divisors.unsqueeze(1)
    return out if bias is None else out + bias


def sum_compiled(
    pattern: Pattern,
    x: Tensor,
    *,
    values: Tensor | None = None,
    divisors: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Return ``A(values) @ x / divisors + bias``, differentiable in x and bias.

    Parameters
    ----------
    pattern
        Where A has entries.
    x
        Rows to sum, ``[n_columns, width]``.
    values
        Value of each entry, ``[n_entries]``; None: ones.
    divisors
        By which the sum of each row is divided, ``[n_rows]``; None: one.
    bias
        Added to each row, ``[width]``; None: nothing.
    """
    serving = serves(x, values, divisors, bias) and pattern.is_sound and x.dim() == 2
    is_constant = values is None or not values.requires_grad
    if serving and is_constant and x.size(0) == pattern.n_columns and _is_row(bias, x.size(1)):
        return _Sum.apply(pattern, values, divisors, x, bias)  # type: ignore[no-any-return]
    return _sum_in_torch(pattern, values, divisors, x, bias)


# ------------------------------------------------------------------------------------------ constant sparse matrices


def has_same_bits(one: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors of one shape and type have the same bits."""
    if not serves(one, other) or not one.is_contiguous() or not other.is_contiguous() or one.shape != other.shape:
        return torch.equal(one, other)
    return bool(kernels().has_same_bits(address_of(one), address_of(other), one.numel()))


def sum_columns(matrix: Tensor) -> Tensor:
    """Return the sum of each column ``[width]`` of ``[n, width]``."""
    if not serves(matrix) or not matrix.is_contiguous() or torch.is_grad_enabled():
        return matrix.sum(dim=0)
    out = torch.empty(matrix.size(1))
    kernels().sum_columns(address_of(matrix), *matrix.shape, address_of(out))
    return out


class Entries:
    """Entries of a sparse matrix that are not zero, in the kernels' form."""

    def __init__(self, edges: Edges, *held: Tensor) -> None:
        self.edges, self._held = edges, held

    @property
    def values(self) -> Tensor:
        """Value of each entry."""
        return self._held[-1]


def thin_compiled(pattern: Pattern, values: Tensor) -> Entries | None:
    """Return the entries of a matrix without those that are zero; None where kernels do not serve."""
    if not serves(values) or not values.is_contiguous() or not pattern.is_sound:
        return None
    return _thin(pattern.edges, None, values, None)


def _thin(edges: Edges, places: Tensor | None, values: Tensor, alive: Tensor | None) -> Entries:
    n, room = edges.n_rows, values.numel()
    pointers, columns = torch.empty(n + 1, dtype=torch.int32), torch.empty(room + 1, dtype=torch.int32)
    left = torch.empty(room + 1)
    kernels().thin(edges, *map(address_of, (places, values, alive, pointers, columns, left)))
    return Entries(Edges(n, edges.n_columns, address_of(pointers), address_of(columns), None), pointers, columns, left)


def transpose(matrix: Tensor) -> Tensor:
    """Return the transpose, in memory of its own; in a quarter of the time that Torch takes."""
    if not matrix.is_contiguous():
        return matrix.t().contiguous()
    out = torch.empty(matrix.size(1), matrix.size(0))
    kernels().transpose(*matrix.shape, address_of(matrix), address_of(out))
    return out


def multiply_compiled(entries: Entries, turned: Tensor, bias: Tensor | None) -> Tensor:
    """Return ``x @ turned + bias`` for the entries of x.

    Parameters
    ----------
    entries
        The entries ``[n, inputs]``.
    turned
        ``[inputs, outputs]``, contiguous.
    bias
        ``[outputs]``; None: nothing.
    """
    width = turned.size(1)
    out = torch.empty(entries.edges.n_rows, width)
    kernels().sum_neighbours(entries.edges, width, *map(address_of, (entries.values, turned, bias, None, out)))
    return out


def collect_compiled(pattern: Pattern, values: Tensor, gradient: Tensor) -> Tensor | None:
    """Return ``gradient.T @ x``, from the rows of the gradient that are not zero; None where kernels do not serve.

    Parameters
    ----------
    pattern, values
        Where x has entries, and which.
    gradient
        ``[n, outputs]``.
    """
    if not serves(values, gradient) or not values.is_contiguous() or not pattern.is_sound:
        return None
    gradient = gradient.contiguous()
    (n, width), alive = gradient.shape, torch.empty(gradient.size(0), dtype=torch.uint8)
    kernels().find_rows(address_of(gradient), n, width, address_of(alive))
    edges, places = pattern.transposed_edges
    entries = _thin(edges, places, values, alive)
    out = torch.empty(pattern.n_columns, width)
    kernels().sum_neighbours(entries.edges, width, *map(address_of, (entries.values, gradient, None, None, out)))
    return transpose(out)


# ------------------------------------------------------------------------------------------- activation and dropout


class Bits:
    """Mask of dropout, or None where nothing is dropped, and the scale of what stays."""

    def __init__(self, bits: Tensor | None, keep: float) -> None:
        self.bits, self.keep = bits, keep
        # As dropout computes it, in single precision.
        self.scale = float(torch.ones(1).div_(keep))

    def apply(self, x: Tensor) -> Tensor:
        """Return x dropped, by Torch."""
        return x if self.bits is None else x * self.bits.view_as(x).to(x.dtype).div_(self.keep)


# As in ``kernels/elementwise.cpp``.
ACTIVATIONS: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {
    "none": (0, torch.clone),
    "relu": (1, functional.relu),
    "elu": (2, functional.elu),
}


class _Bend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, bits: Bits, x: Tensor) -> Tensor:
        ctx.name, ctx.bits, out = name, bits, torch.empty_like(x)
        # As Torch does: whoever writes into what was rectified goes back all the same.
        save(ctx, {"none": None, "relu": out}.get(name, x))
        kernels().activate(
            address_of(x), x.numel(), ACTIVATIONS[name][0], address_of(bits.bits), bits.scale, address_of(out)
        )
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor | None]:
        (x,) = ctx.saved_tensors
        if is_left_to_torch(ctx, (x,)):
            return None, None, _bend_back_in_torch(ctx.name, ctx.bits, x, gradient)
        gradient = gradient.contiguous()
        out, code = torch.empty_like(gradient), ACTIVATIONS[ctx.name][0]
        places = (address_of(gradient if x is None else x), address_of(gradient), gradient.numel(), code)
        kernels().activate_back(*places, address_of(ctx.bits.bits), ctx.bits.scale, address_of(out))
        return None, None, out


def _bend_back_in_torch(name: str, bits: Bits, x: Tensor | None, gradient: Tensor) -> Tensor | None:
    """Return a gradient that has gradients."""
    if x is None:
        return bits.apply(gradient)
    (found,) = differentiate(lambda own: bits.apply(ACTIVATIONS[name][1](own)), [x], [True], gradient)
    return found


def bend_compiled(x: Tensor, name: str, bits: Bits) -> Tensor | None:
    """Return x activated and then dropped, or None where kernels do not serve.

    Parameters
    ----------
    x
        Tensor of any shape.
    name
        Activation: ``none``, ``relu`` or ``elu``.
    bits
        The mask, of as many elements.
    """
    return _Bend.apply(name, bits, x) if serves(x) and x.is_contiguous() else None  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- narrow linear maps


def _map_in_torch(x: Tensor, *parameters: Tensor | None) -> tuple[Tensor, ...]:
    pairs = zip(parameters[::2], parameters[1::2], strict=True)
    return tuple(functional.linear(x, weight, bias) for weight, bias in pairs)  # type: ignore[arg-type]


class _Narrow(torch.autograd.Function):
    """Several maps of one input: a weight and a bias of each."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *parameters: Tensor | None) -> tuple[Tensor, ...]:
        save(ctx, x, *parameters)
        outs = []
        for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
            width = weight.size(0)  # type: ignore[union-attr]
            outs.append(torch.empty(x.size(0), width))
            kernels().narrow(*x.shape, width, *map(address_of, (x, weight, bias, outs[-1])))
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        # Asked for once, as a checkpoint gives them once.
        needs, saved = ctx.needs_input_grad, ctx.saved_tensors
        if is_left_to_torch(ctx, saved):
            return tuple(differentiate(_map_in_torch, saved, needs, gradients))
        found = [torch.zeros_like(one) if is_needed else None for one, is_needed in zip(saved, needs, strict=True)]
        (x, *parameters), (to_x, *to_parameters) = saved, found
        for place, gradient in enumerate(gradients):
            weight, own = parameters[2 * place], to_parameters[2 * place : 2 * place + 2]
            # All add to one gradient of the input.
            places = map(address_of, (x, weight, gradient := gradient.contiguous(), to_x, *own))
            kernels().narrow_back(*x.shape, weight.size(0), *places)
        return tuple(found)


# Below this, calling costs more than it saves.
SMALLEST_INPUT = 1 << 14
MOST_OUTPUTS = 16


def narrow_compiled(x: Tensor, *maps: tuple[Tensor, Tensor | None]) -> tuple[Tensor, ...] | None:
    """Return ``x @ weight.T + bias`` of each of several maps to few outputs, or None where kernels do not serve.

    Parameters
    ----------
    x
        ``[n, inputs]``.
    maps
        Of each the weight ``[outputs, inputs]`` and the bias ``[outputs]``, or None.
    """
    if x.dim() != 2 or x.numel() < SMALLEST_INPUT or not x.is_contiguous() or not serves(x):
        return None
    if not all(_is_narrow(x, weight, bias) for weight, bias in maps):
        return None
    return _Narrow.apply(x, *(one for pair in maps for one in pair))  # type: ignore[no-any-return]


def _is_narrow(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    fits = weight.dim() == 2 and 1 <= weight.size(0) <= MOST_OUTPUTS and weight.size(1) == x.size(1)
    if not fits or not weight.is_contiguous() or not serves(weight, bias):
        return False
    return _is_row(bias, weight.size(0))


# ----------------------------------------------------------------------------------------------------------- attention


class _Heads:
    """Facts of one call of attention beside its inputs, and the weights after the softmax.

    ``number`` is the slope of the activation of scores, or the root of the width, by which they are divided.
    """

    def __init__(self, twin: Callable[..., Tensor], pattern: Pattern, heads: int, bits: Bits, number: float) -> None:
        self.twin, self.pattern, self.heads, self.bits, self.number = twin, pattern, heads, bits, number

    def serve(self, sources: Sequence[Tensor], targets: Sequence[Tensor | None] = ()) -> bool:
        """Tell whether the kernels compute with inputs of sources and of targets ``[n, heads * width]``."""
        pattern, width = self.pattern, sources[0].size(-1)
        fits = all(one.shape == (pattern.n_columns, width) for one in sources)
        fits = fits and all(one is None or one.shape == (pattern.n_rows, width) for one in targets)
        is_placed = pattern.n_rows == pattern.n_columns or pattern.places is not None
        return fits and is_placed and pattern.is_sound and width % self.heads == 0 and self.heads <= MOST_HEADS

    def begin(self, width: int) -> Attention:
        """Return the struct of the kernels, with room for weights."""
        self.weights = torch.empty(self.pattern.n_entries * self.heads)
        return self.struct(width)

    def struct(self, width: int) -> Attention:
        """Return the struct of the kernels."""
        bits = address_of(self.bits.bits)
        edges = self.pattern.edges if bits is None else self.pattern.ordered_edges
        return Attention(
            ctypes.pointer(edges), self.heads, width // self.heads, bits, self.bits.scale, address_of(self.weights)
        )


class _BySums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Heads, x: Tensor, *others: Tensor | None) -> Tensor:
        ctx.call = call
        save(ctx, x, *others)
        x, (source, target, bias) = x.contiguous(), others
        out = torch.empty(call.pattern.n_rows, x.size(1))
        ctx.products = [torch.empty(x.size(0) * call.heads) for _ in range(2)]
        gat = Gat(*map(address_of, (x, source, target, *ctx.products)), call.number)
        kernels().gat_forward(call.begin(x.size(1)), gat, address_of(bias), address_of(out))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        call, needs, saved = ctx.call, ctx.needs_input_grad[1:], ctx.saved_tensors
        if is_left_to_torch(ctx, saved):
            return None, *differentiate(call.twin, saved, needs, gradient)
        x, source, target, _ = saved
        x, gradient = x.contiguous(), gradient.contiguous()
        found = [torch.zeros_like(one) for one in (x, source, target, *ctx.products)]
        gat = Gat(*map(address_of, (x, source, target, *ctx.products)), call.number)
        kernels().gat_back(call.struct(x.size(1)), gat, address_of(gradient), GatGradients(*map(address_of, found)))
        return None, *found[:3], sum_columns(gradient) if needs[3] else None


def attend_by_sums(
    twin: Callable[..., Tensor],
    pattern: Pattern,
    bits: Bits,
    slope: float,
    x: Tensor,
    vectors: tuple[Tensor, Tensor],
    bias: Tensor | None,
) -> Tensor:
    """Return the attention of GAT over x ``[n_nodes, heads * width]``, with a bias ``[heads * width]``.

    Parameters
    ----------
    twin
        Function of x, both vectors and bias that computes the same in Torch.
    pattern
        The edges.
    bits
        The mask of dropout.
    slope
        Of the leaky activation of scores.
    x
        What is summed.
    vectors
        For sources and for targets, ``[1, heads, width]``.
    bias
        Added to each row; None: nothing.
    """
    source, target = vectors
    call = _Heads(twin, pattern, source.size(1), bits, slope)
    fits = source.is_contiguous() and target.is_contiguous() and source.numel() == target.numel() == x.size(1)
    if not (serves(x, source, target, bias) and call.serve([x]) and fits and _is_row(bias, x.size(1))):
        return twin(x, source, target, bias)
    return _BySums.apply(call, x, source, target, bias)  # type: ignore[no-any-return]


# As in ``attention.cpp``: kernels -> the struct of the three inputs that give scores.
_SCORES: dict[str, type[ctypes.Structure]] = {"bent": Bent, "products": Products}


class _ByScores(torch.autograd.Function):
    """Attention by scores of three inputs; the fourth, or None, is added: rows, or one of them to all."""

    @staticmethod
    def forward(ctx: Any, call: _Heads, name: str, *inputs: Tensor | None) -> Tensor:
        ctx.call, ctx.name = call, name
        save(ctx, *inputs)
        *three, added = (None if one is None else one.contiguous() for one in inputs)
        out = torch.empty(call.pattern.n_rows, three[0].size(1))
        scores = _SCORES[name](*map(address_of, three), call.number)
        getattr(kernels(), f"{name}_forward")(call.begin(out.size(1)), scores, address_of(added), address_of(out))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        call, name, needs, saved = ctx.call, ctx.name, ctx.needs_input_grad[2:], ctx.saved_tensors
        if is_left_to_torch(ctx, saved):
            return None, None, *differentiate(call.twin, saved, needs, gradient)
        inputs, gradient = [one.contiguous() for one in saved[:3]], gradient.contiguous()
        found = [torch.zeros_like(one) for one in inputs]
        scores, places = _SCORES[name](*map(address_of, inputs), call.number), map(address_of, (gradient, *found))
        getattr(kernels(), f"{name}_back")(call.struct(gradient.size(1)), scores, *places)
        to_added = None
        if needs[3]:
            to_added = sum_columns(gradient) if saved[3].dim() == 1 else gradient
        return None, None, *found, to_added


def attend_by_bent_sums(
    twin: Callable[..., Tensor],
    pattern: Pattern,
    bits: Bits,
    slope: float,
    inputs: tuple[Any, ...],
) -> Tensor:
    """Return the attention of GATv2, ``[n_nodes, heads * width]``.

    Parameters
    ----------
    twin
        Function of the inputs that computes the same in Torch.
    pattern
        The edges.
    bits
        The mask of dropout.
    slope
        Of the leaky activation of sums of features.
    inputs
        Features as source and as target ``[n_nodes, heads * width]``, the vector ``[1, heads, width]``, and a bias
        added to each row, or None.
    """
    source, target, vector, bias = inputs
    call = _Heads(twin, pattern, vector.size(1), bits, slope)
    fits = vector.numel() == source.size(1) and _is_row(bias, source.size(1))
    if not (serves(*inputs) and call.serve([source], [target]) and fits):
        return twin(*inputs)
    return _ByScores.apply(call, "bent", *inputs)  # type: ignore[no-any-return]


def attend_by_products(
    twin: Callable[..., Tensor], pattern: Pattern, bits: Bits, heads: int, inputs: tuple[Any, ...]
) -> Tensor:
    """Return attention by products of queries and keys, over the root of their width.

    Parameters
    ----------
    twin
        Function of the inputs that computes the same in Torch.
    pattern
        The edges.
    bits
        The mask of dropout.
    heads
        How many heads lie side by side.
    inputs
        Query, key, value, and what is added, or None; all ``[n, heads * width]``, of targets or of sources.
    """
    call = _Heads(twin, pattern, heads, bits, (inputs[0].size(1) // heads) ** 0.5)
    query, key, value, added = inputs
    if not (serves(*inputs) and call.serve([key, value], [query, added])):
        return twin(*inputs)
    return _ByScores.apply(call, "products", *inputs)  # type: ignore[no-any-return]
