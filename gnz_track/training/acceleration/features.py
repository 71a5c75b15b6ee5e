"""Sparse node features that pass for an ordinary tensor.

Bag-of-words features are zero in 99 of 100 places. Layers of any model, users' own included, receive them as a tensor
that knows two things better than its dense form: how to be multiplied with a weight and how to be dropped out.
For everything else it is the dense tensor, and becomes it where that matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.parameter import Parameter
from torch.utils import swap_tensors

from gnz_track.training.acceleration.compiled import (
    Entries,
    collect_compiled,
    has_same_bits,
    multiply_compiled,
    serves,
    sum_columns,
    thin_compiled,
    transpose,
)
from gnz_track.training.acceleration.dropout import drop_entries
from gnz_track.training.acceleration.gathered import find_largest
from gnz_track.training.acceleration.guards import is_ordinary
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.products import DTYPES
from gnz_track.training.acceleration.structure import Structure, count_writes

__all__ = ["SparseFeatures", "is_served", "sparsify"]

# Where sparse products begin to win on a CPU; `benchmarks/sparse.py` measures it.
LARGEST_DENSITY = 0.12
SMALLEST_WIDTH = 32


# Products kept of one set of features; a first layer has one to four weights.
MOST_PRODUCTS = 8


class _Seen:
    """A tensor as it was when it was seen: by how often it was written, where writes are counted, or by a copy."""

    def __init__(self, tensor: Tensor, *, is_counted: bool) -> None:
        self._tensor = tensor if is_counted else tensor.clone()
        self._n_writes = count_writes(tensor) if is_counted else None

    def is_still(self, tensor: Tensor) -> bool:
        """Tell whether this is the tensor, unchanged."""
        if self._n_writes is None:
            return has_same_bits(self._tensor, tensor)
        is_same = tensor.data_ptr() == self._tensor.data_ptr() and tensor.stride() == self._tensor.stride()
        return is_same and tensor.shape == self._tensor.shape and count_writes(tensor) == self._n_writes


class _Product:
    """A product and the weight and bias that it was made with."""

    def __init__(self, weight: Tensor, bias: Tensor | None, values: Tensor, *, is_counted: bool) -> None:
        self.values, self._weight = values, _Seen(weight, is_counted=is_counted)
        self._bias = None if bias is None else _Seen(bias, is_counted=is_counted)
        self._n_writes = count_writes(values)

    def holds_for(self, weight: Tensor, bias: Tensor | None) -> bool:
        """Tell whether this is the product with a weight and a bias, and nobody has written into it."""
        if count_writes(self.values) != self._n_writes or (bias is None) != (self._bias is None):
            return False
        return self._weight.is_still(weight) and (bias is None or self._bias.is_still(bias))  # type: ignore[union-attr]


class _Shared:
    """Facts that features share with those that they became by dropout."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._turned: dict[int, tuple[_Seen, Tensor]] = {}
        self._chosen: dict[int, tuple[Tensor, Tensor, Pattern]] = {}

    def part(self, pattern: Pattern) -> _Shared:
        """Return what some rows know: transposes are those of the whole, places are not."""
        part = _Shared(pattern)
        part._turned = self._turned
        return part

    def turn(self, weight: Tensor) -> Tensor | None:
        """Return the transpose of a weight whose every write is counted; None where it is not finite."""
        seen, turned = self._turned.get(weight.data_ptr(), (None, None))
        if seen is None or not seen.is_still(weight):
            if not _is_finite(weight):
                return None
            if len(self._turned) >= MOST_PRODUCTS:
                self._turned.clear()
            seen, turned = _Seen(weight, is_counted=True), transpose(weight)
            self._turned[weight.data_ptr()] = (seen, turned)
        return turned

    def choose(self, rows: Tensor) -> tuple[Tensor, Pattern]:
        """Return the entries of some rows, and their pattern."""
        known = self._chosen.get(id(rows))
        if known is None:
            if len(self._chosen) >= MOST_PRODUCTS:
                self._chosen.clear()
            known = self._chosen[id(rows)] = rows, self._pattern.entries_of(rows), self._pattern.choose(rows)
        return known[1:]


# What is ours among the attributes of features.
_FIELDS = frozenset(
    (
        *(
            "pattern",
            "values",
            "is_trusted",
            "is_counted",
            "is_dropped",
            "is_out_of_hand",
            "n_writes",
            "_dense",
            "_gathered",
            "_products",
        ),
        *("_lender", "_entries", "_apart", "_shared", "_whole"),
    )
)


class SparseFeatures(Tensor):
    """Features ``[n_nodes, width]`` held by their non-zero entries; the dense form is made when something needs it.

    Whoever asks for a view of them, for their memory or for their gradient, or writes into them, finds that they have
    become an ordinary tensor by then (:meth:`become_dense`): what goes on there is known to nobody but Torch.
    """

    pattern: Pattern
    values: Tensor
    is_trusted: bool
    # Whether every write into the weights that these are multiplied by is counted.
    is_counted: bool
    n_writes: int
    _dense: Tensor | None
    _gathered: dict[tuple[int, str], tuple[Structure, SparseFeatures]]
    _products: dict[tuple[int, bool], _Product]
    _lender: SparseFeatures | None
    is_out_of_hand: bool
    is_dropped: bool

    @staticmethod
    def __new__(cls: type[Self], pattern: Pattern, values: Tensor, dense: Tensor | None = None) -> Self:
        """Hold ``values [n_entries]`` at the places of a pattern; ``dense`` is the same as a tensor, where known."""
        shape = (pattern.n_rows, pattern.n_columns)
        return Tensor._make_wrapper_subclass(cls, shape, dtype=values.dtype, device=values.device)  # type: ignore[no-any-return]  # noqa: SLF001

    def __init__(self, pattern: Pattern, values: Tensor, dense: Tensor | None = None) -> None:
        super().__init__()
        self.pattern, self.values, self._gathered, self._products = pattern, values, {}, {}
        self._lender, self.is_out_of_hand, self.is_trusted, self.is_dropped = None, False, False, False
        self.is_counted = False
        self._entries: Entries | None = None
        self._apart: dict[bool, SparseFeatures] = {}
        self._shared = _Shared(pattern)
        # Whose rows these are, and which, where the product of all is known from scoring.
        self._whole: tuple[SparseFeatures, Tensor] | None = None
        self._keep(dense)
        # Functions of Torch that ask nobody would read at address zero; now they raise an error.
        torch._C._set_throw_on_mutable_data_ptr(self)  # noqa: SLF001

    def _keep(self, dense: Tensor | None) -> None:
        self._dense, self.n_writes = dense, 0 if dense is None else count_writes(dense)

    def dense(self) -> Tensor:
        """Return the ordinary tensor ``[n_nodes, width]``, which is not to be handed on."""
        if self._dense is None:
            lender = self._lender
            # By its place: Torch's compiler does not know the argument by its name.
            with torch.inference_mode(False), torch.no_grad():  # noqa: FBT003
                made = self.pattern.matrix(self.values).to_dense() if lender is None else lender.dense().clone()
            self._keep(made)
        return self._dense  # type: ignore[return-value]

    def become_dense(self) -> None:
        """Turn into the ordinary tensor, for good; it stays the same object."""
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  (the documented way out)
            dense = self.dense()
            if dense._use_count() > 1:  # noqa: SLF001
                # Held by a graph of gradients, which goes on holding it.
                dense = dense.detach()
            others = {name: value for name, value in vars(self).items() if name not in _FIELDS}
            try:
                swap_tensors(self, dense)
            except RuntimeError:
                # Somebody holds on to this object in a way that forbids it.
                self.is_out_of_hand = True
            else:
                vars(self).update(others)

    def lend(self) -> Tensor:
        """Return a copy; what is computed of it once is computed here, and copied."""
        if not self.is_sparse_still:
            return self.dense().clone()
        lent = SparseFeatures(self.pattern.copy(), self.values.clone())
        lent._lender = self
        return lent

    @property
    def lender(self) -> SparseFeatures:
        """The features that these were copied from; any other are their own."""
        return self if self._lender is None else self._lender

    @property
    def is_sparse_still(self) -> bool:
        """Whether the entries say it all: they know nothing of what was written into the dense form in place."""
        if self.is_out_of_hand:
            return False
        return self._dense is None or count_writes(self._dense) == self.n_writes

    def choose(self, rows: Tensor) -> SparseFeatures:
        """Return some rows ``[n]``, ascending, of features that are trusted and whole."""
        entries, pattern = self._shared.choose(rows)
        chosen = SparseFeatures(pattern, self.values.index_select(0, entries))
        chosen.is_trusted, chosen.is_counted = True, self.is_counted
        if self.is_dropped:
            chosen._shared = self._shared.part(pattern)
        else:
            chosen._whole = (self, rows)
        return chosen

    def apart(self) -> SparseFeatures:
        """Return the same features, which stay as they are whatever is written into these."""
        return self.lender.apart_once(is_counted=self.is_counted)

    def apart_once(self, *, is_counted: bool) -> SparseFeatures:
        """Return what :meth:`apart` does."""
        if is_counted not in self._apart:
            self._apart[is_counted] = SparseFeatures(self.pattern, self.values)
            self._apart[is_counted].is_trusted, self._apart[is_counted].is_counted = True, is_counted
        return self._apart[is_counted]

    def gather(self, structure: Structure, how: str = "mean") -> SparseFeatures:
        """Return the mean, or largest (``max``), of the features of each node's sources.

        They are the same at every step, so computed once.
        """
        found = self.lender.gather_once(structure if self._lender is None else structure.lender, how)
        return found if self.is_trusted else found.lend()  # type: ignore[return-value]

    def gather_once(self, structure: Structure, how: str) -> SparseFeatures:
        """Return what :meth:`gather` copies."""
        key = id(structure), how
        if key not in self._gathered:
            found = (self._find_largest if how == "max" else self._average)(structure)
            found.is_trusted = found.is_counted = self.is_trusted
            self._gathered[key] = (structure, found)
        return self._gathered[key][1]

    def _average(self, structure: Structure) -> SparseFeatures:
        edges = structure.plain
        total = edges.matrix(edges.ones(self.values.dtype)) @ self.pattern.matrix(self.values)
        rows = torch.repeat_interleave(torch.arange(edges.n_rows), total.crow_indices().diff())
        pattern = Pattern.from_sorted(rows, total.col_indices(), edges.n_rows, self.pattern.n_columns)
        return SparseFeatures(pattern, total.values() / structure.degrees.flatten()[rows])

    def _find_largest(self, structure: Structure) -> SparseFeatures:
        with torch.no_grad():
            largest = find_largest(structure.plain, self.dense())
        rows, columns = largest.nonzero(as_tuple=True)
        return SparseFeatures(Pattern.from_sorted(rows, columns, *largest.shape), largest[rows, columns])

    def multiply(self, weight: Tensor, bias: Tensor | None) -> Tensor | None:
        """Return ``x @ weight.T + bias``, or None for a weight that is not finite: times zero it is not zero.

        Scoring at the end of an epoch and the first step of the next multiply by the same weight: the second time the
        product is there. Weights are compared by value, since optimisers may change them without leaving a trace; but
        for models that are trusted, and trained by an optimiser that leaves one.
        """
        # Weights of others may be written by any name, and are compared.
        product = self.lender.multiply_once(weight, bias, is_counted=self.is_counted)
        if product is None:
            return None
        # Whoever is not trusted may write there, by whatever name.
        return product.detach() if self.is_trusted else product.clone()

    def multiply_once(self, weight: Tensor, bias: Tensor | None, *, is_counted: bool) -> Tensor | None:
        """Return what :meth:`multiply` copies.

        Parameters
        ----------
        weight, bias
            What is multiplied by, and added.
        is_counted
            Whether every write into these is counted.
        """
        if self._whole is not None:
            whole, rows = self._whole
            product = whole.multiply_once(weight, bias, is_counted=is_counted)
            return None if product is None else product.index_select(0, rows)
        key = weight.data_ptr(), is_counted
        known = self._products.get(key)
        if known is None or not known.holds_for(weight, bias):
            values = self._multiply(weight, bias, is_counted=is_counted)
            if values is None:
                return None
            if len(self._products) >= MOST_PRODUCTS:
                self._products.clear()
            known = self._products[key] = _Product(weight, bias, values, is_counted=is_counted)
        return known.values

    def _multiply(self, weight: Tensor, bias: Tensor | None, *, is_counted: bool) -> Tensor | None:
        if self._entries is None:
            self._entries = thin_compiled(self.pattern, self.values)
        is_served = self._entries is not None and serves(weight, bias)
        if is_served and is_counted:
            turned = self._shared.turn(weight)
            return None if turned is None else multiply_compiled(self._entries, turned, bias)  # type: ignore[arg-type]
        if not _is_finite(weight):
            return None
        if is_served:
            return multiply_compiled(self._entries, transpose(weight), bias)  # type: ignore[arg-type]
        product = self.pattern.matrix(self.values) @ weight.t()
        return product if bias is None else product + bias

    def __repr__(self, **_: Any) -> str:
        return f"SparseFeatures({tuple(self.shape)}, {self.pattern.n_entries} non-zero)"

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _UNCHANGED and not any(map(_is_hidden, args)):
            with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
                return func(*args, **kwargs)
        shortcut = _SHORTCUTS.get(func)
        if shortcut is not None and kwargs.keys() <= _KEYWORDS and is_ordinary():
            result = shortcut(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return _call_densely(func, args, kwargs)

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _call_densely(func, args, kwargs or {})


def _call_densely(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with ordinary tensors; features that it changes, or gives away a view of, become one."""
    features = [item for item in _flatten((*args, *kwargs.values())) if isinstance(item, SparseFeatures)]
    func = _inner(func)
    if func in _GIVES_HOLD:
        for item in features:
            item.become_dense()
    result = func(*map(_densify, args), **{name: _densify(value) for name, value in kwargs.items()})
    for item in features:
        if isinstance(item, SparseFeatures) and not item.is_out_of_hand:
            dense = item.dense()
            if result is dense:
                result = item
            elif any(_share_memory(part, dense) for part in _flatten((result,))):
                # A view is to be one of the tensor that these will be. To look twice does no harm.
                item.become_dense()
                return func(*map(_densify, args), **{name: _densify(value) for name, value in kwargs.items()})
            if not item.is_sparse_still:
                item.become_dense()
    return result


# Functions of Torch by their names, as they were.
_FUNCTIONS = {name: value for name, value in vars(functional).items() if isinstance(value, FunctionType)}


def _inner(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that asked for this one by its name.

    Torch's functions hand themselves on by name. Under that name may stand somebody's wrapper, which is being run
    already, and is not to be run within itself.
    """
    if isinstance(func, FunctionType) and not func.__globals__.get("__name__", "").startswith("torch"):
        return next((own for name, own in _FUNCTIONS.items() if getattr(functional, name, None) is func), func)
    return func


def _is_hidden(value: Any) -> bool:
    """Tell whether these are features that could not become dense where they should have."""
    return isinstance(value, SparseFeatures) and value.is_out_of_hand


def _flatten(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _flatten(value)
        else:
            yield value


def _share_memory(value: Any, dense: Tensor) -> bool:
    if not isinstance(value, Tensor) or value.layout is not torch.strided:
        return False
    try:
        return torch._C._is_alias_of(value, dense)  # type: ignore[no-any-return]  # noqa: SLF001  (no public name)
    except RuntimeError:
        # It has no memory of its own, and may be a window to any.
        return True


def _densify(value: Any) -> Any:
    if isinstance(value, SparseFeatures):
        return value.dense()
    if isinstance(value, tuple | list) and any(isinstance(item, SparseFeatures) for item in value):
        return type(value)(map(_densify, value))
    return value


def _is_finite(tensor: Tensor) -> bool:
    return math.isfinite(float(tensor.sum()))


class _Factor:
    """Constant sparse x in a product, as no tensor, for functions that are not to see it as one."""

    def __init__(self, features: SparseFeatures, product: Tensor | None = None) -> None:
        lender = features.lender
        self._pattern, self._values, self._product = lender.pattern, lender.values, product
        self._features, self._n_writes = features, features.n_writes

    def take_product(self, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return ``x @ weight.T + bias``; where it is known already, that is told once."""
        product, self._product = self._product, None
        if product is not None:
            return product
        product = self._choose(weight) @ weight.t()
        return product if bias is None else product + bias

    def collect(self, gradient: Tensor) -> Tensor:
        """Return ``gradient.T @ x``."""
        chosen = self._choose(gradient)
        if chosen.layout is torch.strided:
            return gradient.t() @ chosen
        found = collect_compiled(self._pattern, self._values, gradient)
        if found is not None:
            return found
        return (self._pattern.transposed_matrix(self._values) @ gradient.contiguous()).t().contiguous()

    def _choose(self, other: Tensor) -> Tensor:
        """Return x sparse, or dense where that matters to a product with another matrix."""
        features = self._features
        if isinstance(features, SparseFeatures) and features.is_sparse_still:
            matrix = self._pattern.matrix(self._values)
            # What is not finite is not zero times zero.
            return matrix if _is_finite(other) else matrix.to_dense()
        # They have become dense since the product was made: as Torch would, take what is there now, or refuse it.
        dense = features.dense() if isinstance(features, SparseFeatures) else features
        if count_writes(dense) != self._n_writes:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"features {list(dense.shape)} are at version {count_writes(dense)}; expected version {self._n_writes}"
            )
        return dense.detach()


class _Multiply(torch.autograd.Function):
    """``x @ weight.T + bias`` for constant sparse x."""

    @staticmethod
    def forward(ctx: Any, x: _Factor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.x = x
        return x.take_product(weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        needs_weight, needs_bias = ctx.needs_input_grad[1:]
        to_weight = None
        if needs_weight:
            # With a gradient only where one of the gradient is asked for.
            to_weight = _Collect.apply(ctx.x, gradient) if torch.is_grad_enabled() else ctx.x.collect(gradient)
        return None, to_weight, sum_columns(gradient) if needs_bias else None


class _Collect(torch.autograd.Function):
    """``gradient.T @ x`` for constant sparse x: what :class:`_Multiply` gives back, and it in turn."""

    @staticmethod
    def forward(ctx: Any, x: _Factor, gradient: Tensor) -> Tensor:
        ctx.x = x
        return x.collect(gradient)

    @staticmethod
    def backward(ctx: Any, weight: Tensor) -> tuple[None, Tensor]:
        return None, _Multiply.apply(ctx.x, weight, None)


def _is_sparse(x: object) -> bool:
    return isinstance(x, SparseFeatures) and x.is_sparse_still


_PLAIN = frozenset({Tensor, Parameter})


def _linear(x: Any, weight: Any, bias: Tensor | None = None) -> Any:
    if not _is_sparse(x) or type(weight) not in _PLAIN or weight.layout is not torch.strided:
        return NotImplemented
    if weight.dim() != 2 or weight.size(1) != x.size(1) or weight.dtype is not x.dtype or not weight.is_cpu:
        return NotImplemented
    if bias is not None and (type(bias) not in _PLAIN or bias.shape != weight.shape[:1] or bias.dtype is not x.dtype):
        return NotImplemented
    known = x.multiply(weight.detach(), None if bias is None else bias.detach())
    if known is None:
        return NotImplemented
    return _Multiply.apply(_Factor(x, known), weight, bias)


def _matmul(x: Any, y: Any) -> Any:
    return _linear(x, y.t()) if type(y) in _PLAIN and y.dim() == 2 else NotImplemented


def _dropout(x: SparseFeatures, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: FBT001, FBT002
    if inplace or not 0.0 <= p < 1.0 or not _is_sparse(x):
        return NotImplemented
    if not training or p == 0.0:
        return x
    pattern, keep = x.pattern, 1.0 - p
    dropped = SparseFeatures(pattern, drop_entries(x.values, pattern.positions, x.numel(), keep))
    dropped.is_trusted, dropped.is_counted = x.is_trusted, x.is_counted
    dropped._shared = x.lender._shared  # noqa: SLF001
    dropped.is_dropped = True
    return dropped


# What a shortcut may be told by name; any other name belongs to the general path.
_KEYWORDS = {"weight", "bias", "p", "training", "inplace"}

_SHORTCUTS: dict[Any, Callable[..., Any]] = {
    functional.linear: _linear,
    functional.dropout: _dropout,
    torch.matmul: _matmul,
    torch.mm: _matmul,
    Tensor.matmul: _matmul,
    Tensor.__matmul__: _matmul,
    Tensor.mm: _matmul,
}

# Ways to the memory of a tensor, to its gradient, and to another memory in its place, that no returned tensor shows.
_GIVES_HOLD = {
    *(Tensor.numpy, Tensor.__array__, Tensor.__dlpack__, Tensor.__reduce_ex__),
    *(Tensor.data_ptr, Tensor.storage, Tensor.untyped_storage, Tensor._typed_storage),  # noqa: SLF001
    *(Tensor.set_, Tensor.resize_, Tensor.resize_as_, Tensor.share_memory_, Tensor.apply_, Tensor.map_, Tensor.map2_),
    *(Tensor.requires_grad_, Tensor.retain_grad, Tensor.register_hook, Tensor.register_post_accumulate_grad_hook),
    *(Tensor.data.__get__, Tensor.data.__set__),  # type: ignore[attr-defined]
    *(Tensor.grad.__set__, Tensor.requires_grad.__set__),  # type: ignore[attr-defined]
}

# Questions that need no values.
_UNCHANGED = {
    Tensor.size,
    Tensor.dim,
    Tensor.numel,
    Tensor.is_floating_point,
    Tensor.shape.__get__,  # type: ignore[attr-defined]
    Tensor.device.__get__,  # type: ignore[attr-defined]
    Tensor.dtype.__get__,  # type: ignore[attr-defined]
    Tensor.ndim.__get__,  # type: ignore[attr-defined]
    Tensor.layout.__get__,  # type: ignore[attr-defined]
    Tensor.is_cpu.__get__,  # type: ignore[attr-defined]
    Tensor.is_cuda.__get__,  # type: ignore[attr-defined]
    Tensor.is_sparse.__get__,  # type: ignore[attr-defined]
    Tensor.requires_grad.__get__,  # type: ignore[attr-defined]
}


def is_served(x: Any) -> bool:
    """Tell whether fast layers can take this input: an ordinary matrix with something in it, or sparse features."""
    return (
        (type(x) in _PLAIN or _is_sparse(x))
        and x.dim() == 2
        and x.numel() > 0
        and x.dtype in DTYPES
        and x.is_cpu
        and x.layout is torch.strided
    )


def sparsify(x: Tensor, *, is_trusted: bool = False) -> Tensor:
    """Return features ``[n_nodes, width]`` in sparse form where that is faster, else as they are.

    Parameters
    ----------
    x
        The features. Whoever writes into this very tensor later on, by other ways than those that Torch counts, is
        not noticed.
    is_trusted
        Whether all who are given what is computed of them leave it as it is, so that it needs no copies; and write into
        the weights that they multiply by in ways alone that Torch counts, so that these need no comparing.
    """
    is_candidate = x.dim() == 2 and x.dtype in DTYPES and x.size(1) >= SMALLEST_WIDTH and not x.requires_grad
    if not is_candidate or x.device.type != "cpu" or x.layout is not torch.strided or type(x) is not Tensor:
        return x
    rows, columns = x.nonzero(as_tuple=True)
    if rows.numel() > LARGEST_DENSITY * x.numel() or rows.numel() == 0:
        return x
    features = SparseFeatures(Pattern.from_sorted(rows, columns, *x.shape), x[rows, columns], x.detach())
    features.is_trusted = features.is_counted = is_trusted
    return features
