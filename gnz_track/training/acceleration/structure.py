"""Structure of a graph: computed once from its edges, and needed at every step.

A :class:`Structure` belongs to one ``edge_index`` tensor and hangs on it as an attribute. Layers look for it there
(:func:`structure_of`); where there is none, because a model made its own edges, they take their ordinary path.
Everything is computed at first use. A batch takes its part of a larger structure by slicing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor

from gnz_track.training.acceleration.patterns import Pattern

__all__ = ["Structure", "attach", "count_writes", "lend_edges", "structure_of"]

ATTRIBUTE = "gnz_structure"


class Structure:
    """The edges ``[2, n_edges]`` of a graph (or of a batch of graphs, one after another) in the forms layers need.

    Rows are targets and columns are sources, as messages flow from source to target. Where only some nodes are targets,
    ``places`` are those of their rows among the sources; ``rows_of_sources`` and ``rows_of_targets`` tell which rows of
    a layer's input are theirs, None: all.
    """

    places: Tensor | None = None
    rows_of_sources: Tensor | None = None
    rows_of_targets: Tensor | None = None

    def __init__(self, edge_index: Tensor, n_nodes: int, *, is_trusted: bool = False) -> None:
        """Take edges that are to be looked at before every use.

        Parameters
        ----------
        edge_index
            The edges.
        n_nodes
            Nodes of the graph.
        is_trusted
            Whether nobody writes into the edges by other ways than those that Torch counts: then no copy is kept.
        """
        # An alias at most, because the structure hangs on the tensor itself: a ring of references would be kept in
        # memory until Python looks for rings.
        self.edge_index = edge_index.detach() if is_trusted else edge_index.detach().clone()
        self.n_nodes, self.is_trusted, self.n_writes = n_nodes, is_trusted, count_writes(edge_index)
        self._whole: tuple[Structure, int, int] | None = None
        self._lender: Structure | None = None
        self._patterns: dict[str, Pattern] = {}
        self._blocks: dict[tuple[str, int], Pattern] = {}
        self._degrees: Tensor | None = None
        self._weights: dict[torch.dtype, Tensor] = {}
        self._kept: dict[Hashable, Tensor] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Structure:
        # Graphs are copied with what hangs on them; the rest is made again at first use.
        return Structure(self.edge_index, self.n_nodes)

    def __reduce__(self) -> tuple[Any, ...]:
        # Whoever reads a graph from a file needs nothing of ours.
        return OrderedDict, ()

    def part(self, first: int, end: int, edge_index: Tensor) -> Structure:
        """Return the structure of some nodes, which are whole graphs.

        Parameters
        ----------
        first, end
            First node, and the one after the last.
        edge_index
            Edges of these nodes, counted from ``first``.
        """
        part = Structure(edge_index, end - first, is_trusted=self.is_trusted)
        part._whole = (self, first, end)
        return part

    def lend(self, edge_index: Tensor) -> Structure:
        """Return the structure of a copy of the same edges; what is known of them is copied when it is asked for."""
        lent = Structure(edge_index, self.n_nodes, is_trusted=True)
        lent._lender, lent.is_trusted = self, False
        return lent

    @property
    def whole(self) -> Structure:
        """The structure with every node among the targets."""
        return self

    @property
    def lender(self) -> Structure:
        """The structure that this one was copied from; any other is its own."""
        return self._lender or self

    def holds_for(self, edge_index: Tensor) -> bool:
        """Tell whether these are its edges still, whatever was written, and by whatever name, unless it is trusted."""
        if self.n_writes != count_writes(edge_index):
            return False
        return self.is_trusted or torch.equal(edge_index, self.lender.edge_index)

    @property
    def plain(self) -> Pattern:
        """The edges as they are; entry order is ``edge_index`` order."""
        if "plain" not in self._patterns:
            self._patterns["plain"] = self._make_plain()
        return self._patterns["plain"]

    @property
    def looped(self) -> Pattern:
        """The edges without loops, followed by one loop at every node, as GCN and GAT want them."""
        if "looped" not in self._patterns:
            self._patterns["looped"] = self._make_looped()
        return self._patterns["looped"]

    def _make_plain(self) -> Pattern:
        if self._lender is not None:
            return self._lender.plain.copy()
        if self._whole is not None:
            whole, first, end = self._whole
            return whole.plain.window(first, end)
        return Pattern.from_entries(self.edge_index[1], self.edge_index[0], self.n_nodes, self.n_nodes)

    def _make_looped(self) -> Pattern:
        if self._lender is not None:
            return self._lender.looped.copy()
        if self._whole is not None:
            whole, first, end = self._whole
            return whole.looped.window(first, end)
        source, target = self.edge_index
        is_edge = source != target
        loops = torch.arange(self.n_nodes)
        if not bool(is_edge.all()):
            source, target = source[is_edge], target[is_edge]
        targets, sources = torch.cat([target, loops]), torch.cat([source, loops])
        return Pattern.from_entries(targets, sources, self.n_nodes, self.n_nodes)

    def blocks(self, kind: str, heads: int) -> Pattern:
        """Return a pattern (``"plain"`` or ``"looped"``) repeated along the diagonal, once a head.

        With features as ``[heads * n_nodes, width]`` and values as ``[heads * n_entries]``, all heads are one product.
        """
        single = self.looped if kind == "looped" else self.plain
        if heads == 1:
            return single
        if (kind, heads) not in self._blocks:
            lender = self._lender
            self._blocks[kind, heads] = single.repeat(heads) if lender is None else lender.blocks(kind, heads).copy()
        return self._blocks[kind, heads]

    @property
    def degrees(self) -> Tensor:
        """Number of incoming edges of each node, at least 1 ``[n_nodes, 1]`` (float)."""
        if self._degrees is None:
            lender = self._lender
            degrees = self.plain.offsets.diff().clamp_(min=1).float() if lender is None else lender.degrees.clone()
            self._degrees = degrees.view(-1, 1)
        return self._degrees

    def normalised_weights(self, dtype: torch.dtype) -> Tensor:
        """Values ``[n_entries]`` of :attr:`looped` under symmetric normalisation (Kipf and Welling, 2017)."""
        if dtype not in self._weights and self._lender is not None:
            self._weights[dtype] = self._lender.normalised_weights(dtype).clone()
        elif dtype not in self._weights and self._whole is not None:
            whole, first, end = self._whole
            self._weights[dtype] = whole.normalised_weights(dtype)[whole.looped.entries(first, end)]
        elif dtype not in self._weights:
            pattern = self.looped
            degrees = pattern.offsets.diff()
            inverse_root = degrees.to(dtype).pow_(-0.5)
            weights = inverse_root.repeat_interleave(degrees, output_size=pattern.n_entries)
            # One vector as long as the edges beside the weights, and no more.
            self._weights[dtype] = weights.mul_(inverse_root[pattern.columns])
        return self._weights[dtype]

    def keep(self, name: Hashable, make: Callable[[], Tensor]) -> Tensor:
        """Return what is the same at every call with these edges, by name; it is made at the first."""
        if name not in self._kept:
            self._kept[name] = make() if self._lender is None else self._lender.keep(name, make).clone()
        return self._kept[name]

    def balanced_weights(self, dtype: torch.dtype) -> Tensor:
        """Values ``[n_entries]`` of :attr:`plain`: 1 / root of out-degree of source by in-degree of target."""

        def make() -> Tensor:
            pattern = self.plain
            leaving = torch.bincount(pattern.columns, minlength=self.n_nodes).to(dtype)
            return (leaving[pattern.columns] * pattern.offsets.diff().to(dtype)[pattern.rows]).rsqrt_()

        return self.keep(("balanced", dtype), make)


def attach(edge_index: Tensor, n_nodes: int, *, structure: Structure | None = None, is_trusted: bool = False) -> Tensor:
    """Hang a structure on edges that will be used many times, and return them.

    Parameters
    ----------
    edge_index
        Edges ``[2, n_edges]``.
    n_nodes
        Nodes of the graph.
    structure
        Structure of the same edges; None: a new one.
    is_trusted
        Whether nobody writes into the edges by other ways than those that Torch counts (as ``edge_index.data``); else
        they are compared at every use with a copy.
    """
    setattr(edge_index, ATTRIBUTE, structure or Structure(edge_index, n_nodes, is_trusted=is_trusted))
    return edge_index


def structure_of(edge_index: object, n_nodes: int) -> Structure | None:
    """Return the structure of an ``edge_index``, or None where there is none or it no longer holds."""
    structure = getattr(edge_index, ATTRIBUTE, None)
    if not isinstance(structure, Structure) or structure.n_nodes != n_nodes:
        return None
    return structure if structure.holds_for(edge_index) else None


def lend_edges(tensor: Tensor) -> Tensor:
    """Return a copy of a tensor, with a copy of the structure that hangs on it, where one does."""
    copied, structure = tensor.clone(), getattr(tensor, ATTRIBUTE, None)
    if isinstance(structure, Structure) and structure.holds_for(tensor):
        attach(copied, structure.n_nodes, structure=structure.lend(copied))
    return copied


def count_writes(tensor: Tensor) -> int:
    """Return how often a tensor has been written in place, by whatever name; those of inference are not counted."""
    return -1 if tensor.is_inference() else tensor._version  # noqa: SLF001  (there is no public name)
