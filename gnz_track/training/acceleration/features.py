"""Sparse node features that pass for an ordinary tensor.

Bag-of-words features are zero in 99 of 100 places. Layers of any model, users' own included, receive them as a tensor
that knows two things better than its dense form: how to be multiplied with a weight and how to be dropped out.
For everything else it is the dense tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from gnz_track.training.acceleration.dropout import draw_mask
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.products import DTYPES
from gnz_track.training.acceleration.structure import Structure, count_writes

__all__ = ["SparseFeatures", "sparsify"]

# Where sparse products begin to win on a CPU; `benchmarks/sparse.py` measures it.
LARGEST_DENSITY = 0.12
SMALLEST_WIDTH = 32


# Products kept of one set of features; a first layer has one to four weights.
MOST_PRODUCTS = 8


class _Product:
    """A product and the weight that it was made with."""

    def __init__(self, weight: Tensor, values: Tensor) -> None:
        self.weight, self.values = weight, values
        self._n_writes = count_writes(values)

    def holds_for(self, weight: Tensor) -> bool:
        """Tell whether this is the product with a weight, and nobody has written into it."""
        return count_writes(self.values) == self._n_writes and torch.equal(self.weight, weight)


class SparseFeatures(Tensor):
    """Features ``[n_nodes, width]`` held by their non-zero entries; the dense form is made when something needs it."""

    pattern: Pattern
    values: Tensor
    _dense: Tensor | None
    _n_writes: int
    _averages: dict[int, tuple[Structure, SparseFeatures]]
    _products: dict[int, _Product]
    _lender: SparseFeatures | None
    may_be_written: bool

    @staticmethod
    def __new__(cls: type[Self], pattern: Pattern, values: Tensor, dense: Tensor | None = None) -> Self:
        """Hold ``values [n_entries]`` at the places of a pattern; ``dense`` is the same as a tensor, where known."""
        shape = (pattern.n_rows, pattern.n_columns)
        return Tensor._make_wrapper_subclass(cls, shape, dtype=values.dtype, device=values.device)  # type: ignore[no-any-return]  # noqa: SLF001

    def __init__(self, pattern: Pattern, values: Tensor, dense: Tensor | None = None) -> None:
        super().__init__()
        self.pattern, self.values, self._averages, self._products = pattern, values, {}, {}
        self._lender, self.may_be_written = None, False
        self._keep(dense)

    def _keep(self, dense: Tensor | None) -> None:
        self._dense, self._n_writes = dense, 0 if dense is None else count_writes(dense)

    def dense(self) -> Tensor:
        """Return the ordinary tensor ``[n_nodes, width]``."""
        if self._dense is None:
            lender = self._lender
            self._keep(self.pattern.matrix(self.values).to_dense() if lender is None else lender.dense().clone())
        return self._dense  # type: ignore[return-value]

    def lend(self) -> SparseFeatures:
        """Return a copy; what is computed of it once is computed here, and copied."""
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
        if self.may_be_written:
            return False
        return self._dense is None or count_writes(self._dense) == self._n_writes

    def average(self, structure: Structure) -> SparseFeatures:
        """Return the mean of the features of each node's sources; the same at every step, so computed once."""
        if self._lender is not None:
            return self._lender.average(structure.lender).lend()
        key = id(structure)
        if key not in self._averages:
            edges = structure.plain
            total = edges.matrix(edges.ones(self.values.dtype)) @ self.pattern.matrix(self.values)
            rows = torch.repeat_interleave(torch.arange(edges.n_rows), total.crow_indices().diff())
            pattern = Pattern.from_sorted(rows, total.col_indices(), edges.n_rows, self.pattern.n_columns)
            values = total.values() / structure.degrees.flatten()[rows]
            self._averages[key] = (structure, SparseFeatures(pattern, values))
        return self._averages[key][1]

    def multiply(self, weight: Tensor) -> Tensor:
        """Return the values of ``x @ weight.T``.

        Scoring at the end of an epoch and the first step of the next multiply by the same weight: the second time the
        product is there. Weights are compared by value, since optimisers change them without leaving a trace.
        """
        if self._lender is not None:
            return self._lender.multiply(weight).clone()
        key = weight.data_ptr()
        known = self._products.get(key)
        if known is None or not known.holds_for(weight):
            if len(self._products) >= MOST_PRODUCTS:
                self._products.clear()
            known = _Product(weight.clone(), self.pattern.matrix(self.values) @ weight.t())
            self._products[key] = known
        return known.values.detach()

    def __repr__(self, **_: Any) -> str:
        return f"SparseFeatures({tuple(self.shape)}, {self.pattern.n_entries} non-zero)"

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _MEMORY:
            # What is written there is counted by nobody.
            for features in filter(_is_features, args):
                features.may_be_written = True
        if func in _UNCHANGED:
            with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  (the documented way out)
                return func(*args, **kwargs)
        shortcut = _SHORTCUTS.get(func)
        if shortcut is not None and kwargs.keys() <= _KEYWORDS and not torch.is_autocast_enabled("cpu"):
            result = shortcut(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return func(*map(_densify, args), **{name: _densify(value) for name, value in kwargs.items()})

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*map(_densify, args), **{name: _densify(value) for name, value in (kwargs or {}).items()})


def _is_features(value: object) -> bool:
    return isinstance(value, SparseFeatures)


def _densify(value: Any) -> Any:
    if isinstance(value, SparseFeatures):
        return value.dense()
    if isinstance(value, tuple | list) and any(isinstance(item, SparseFeatures) for item in value):
        return type(value)(map(_densify, value))
    return value


class _Held:
    """Features as no tensor, for a function that is not to see them as one."""

    def __init__(self, features: SparseFeatures) -> None:
        self.features = features


class _Multiply(torch.autograd.Function):
    """``x @ weight.T`` for constant sparse x."""

    @staticmethod
    def forward(ctx: Any, x: _Held, weight: Tensor) -> Tensor:
        ctx.x = x.features.lender.pattern, x.features.lender.values
        return x.features.multiply(weight.detach())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        pattern, values = ctx.x
        return None, (pattern.transposed_matrix(values) @ gradient.contiguous()).t().contiguous()


def _is_sparse(x: object) -> bool:
    return isinstance(x, SparseFeatures) and x.is_sparse_still


def _linear(x: Any, weight: Any, bias: Tensor | None = None) -> Any:
    if not _is_sparse(x) or isinstance(weight, SparseFeatures):
        return NotImplemented
    product = _Multiply.apply(_Held(x), weight)
    return product if bias is None else product + bias


def _matmul(x: Any, y: Any) -> Any:
    if not _is_sparse(x) or isinstance(y, SparseFeatures) or y.dim() != 2 or y.layout is not torch.strided:
        return NotImplemented
    return _Multiply.apply(_Held(x), y.t())


def _dropout(x: SparseFeatures, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: FBT001, FBT002
    if inplace or not 0.0 <= p < 1.0 or not _is_sparse(x):
        return NotImplemented
    if not training or p == 0.0:
        return x
    keep = 1.0 - p
    pattern = x.pattern
    positions = pattern.rows.long() * pattern.n_columns + pattern.columns
    mask = draw_mask(pattern.n_rows * pattern.n_columns, keep).take(positions)
    return SparseFeatures(pattern, x.values * mask.to(x.values.dtype).div_(keep))


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

# Ways to the memory of the dense form.
_MEMORY = {
    Tensor.numpy,
    Tensor.__array__,
    Tensor.data.__get__,  # type: ignore[attr-defined]
    Tensor.data_ptr,
    Tensor.storage,
    Tensor.untyped_storage,
    Tensor.__dlpack__,
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
    Tensor.is_cuda.__get__,  # type: ignore[attr-defined]
    Tensor.is_sparse.__get__,  # type: ignore[attr-defined]
    Tensor.requires_grad.__get__,  # type: ignore[attr-defined]
}


def sparsify(x: Tensor) -> Tensor:
    """Return features ``[n_nodes, width]`` in sparse form where that is faster, else as they are."""
    is_candidate = x.dim() == 2 and x.dtype in DTYPES and x.size(1) >= SMALLEST_WIDTH
    if not is_candidate or x.device.type != "cpu":
        return x
    rows, columns = x.nonzero(as_tuple=True)
    if rows.numel() > LARGEST_DENSITY * x.numel() or rows.numel() == 0:
        return x
    return SparseFeatures(Pattern.from_sorted(rows, columns, *x.shape), x[rows, columns], x)
