"""What can be computed once from the edges of a graph, and is needed at every step.

A :class:`Structure` belongs to one ``edge_index`` tensor and hangs on it as an attribute. Layers look for it there
(:func:`structure_of`); where there is none, because a model made its own edges, they take their ordinary path.
Everything is computed at first use. A batch takes its part of a larger structure by slicing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gnz_track.training.acceleration.products import Pattern

__all__ = ["Span", "Structure", "attach", "count_writes", "structure_of"]

ATTRIBUTE = "gnz_structure"


@dataclass(frozen=True)
class Span:
    """A run of nodes and edges of a larger graph: the graphs of a batch."""

    first_node: int
    end_node: int
    first_edge: int
    end_edge: int


class Structure:
    """The edges ``[2, n_edges]`` of a graph (or of a batch of graphs, one after another) in the forms layers need.

    Rows are targets and columns are sources, as messages flow from source to target.
    """

    def __init__(self, edge_index: Tensor, n_nodes: int) -> None:
        # An alias, because the structure hangs on the tensor itself: a ring of references would be kept in memory
        # until Python looks for rings.
        self.edge_index, self.n_nodes = edge_index.detach(), n_nodes
        self.n_writes = count_writes(edge_index)
        self._whole: tuple[Structure, Span] | None = None
        self._patterns: dict[str, Pattern] = {}
        self._blocks: dict[tuple[str, int], Pattern] = {}
        self._degrees: Tensor | None = None
        self._weights: dict[torch.dtype, Tensor] = {}

    def part(self, span: Span, edge_index: Tensor) -> Structure:
        """Return the structure of some consecutive graphs, whose own edges are ``edge_index``."""
        part = Structure(edge_index, span.end_node - span.first_node)
        part._whole = (self, span)
        return part

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
        if self._whole is None:
            return Pattern.from_entries(self.edge_index[1], self.edge_index[0], self.n_nodes, self.n_nodes)
        whole, span = self._whole
        return _slice(whole.plain, span)

    def _make_looped(self) -> Pattern:
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
            self._blocks[kind, heads] = _repeat(single, heads)
        return self._blocks[kind, heads]

    @property
    def degrees(self) -> Tensor:
        """Number of incoming edges of each node, at least 1 ``[n_nodes, 1]`` (float)."""
        if self._degrees is None:
            self._degrees = self.plain.offsets.diff().clamp_(min=1).float().unsqueeze(1)
        return self._degrees

    def normalised_weights(self, dtype: torch.dtype) -> Tensor:
        """Values ``[n_entries]`` of :attr:`looped` under symmetric normalisation (Kipf and Welling, 2017)."""
        if dtype not in self._weights:
            pattern = self.looped
            inverse_root = pattern.offsets.diff().to(dtype).pow_(-0.5)
            self._weights[dtype] = inverse_root[pattern.columns] * inverse_root[pattern.rows]
        return self._weights[dtype]


def _slice(whole: Pattern, span: Span) -> Pattern:
    """Cut the rows of consecutive graphs out of a pattern; edges of a batch lie together and stay sorted."""
    nodes, edges = slice(span.first_node, span.end_node + 1), slice(span.first_edge, span.end_edge)
    return Pattern(
        whole.offsets[nodes] - span.first_edge,
        whole.columns[edges] - span.first_node,
        whole.order[edges] - span.first_edge,
        span.end_node - span.first_node,
    )


def _repeat(single: Pattern, heads: int) -> Pattern:
    step = torch.arange(heads).unsqueeze(1)
    starts = single.offsets[:-1] + step * single.n_entries
    end = torch.tensor([heads * single.n_entries])
    columns = single.columns + (step * single.n_columns).int()
    order = single.order + step * single.n_entries
    return Pattern(torch.cat([starts.flatten(), end]), columns.flatten(), order.flatten(), heads * single.n_columns)


def attach(edge_index: Tensor, n_nodes: int, *, structure: Structure | None = None) -> Tensor:
    """Hang a structure on an ``edge_index [2, n_edges]`` that will be used many times, and return the tensor."""
    setattr(edge_index, ATTRIBUTE, structure or Structure(edge_index, n_nodes))
    return edge_index


def structure_of(edge_index: object, n_nodes: int) -> Structure | None:
    """Return the structure of an ``edge_index``, or None where there is none or it no longer holds."""
    structure = getattr(edge_index, ATTRIBUTE, None)
    if structure is None or structure.n_nodes != n_nodes:
        return None
    return structure if structure.n_writes == count_writes(edge_index) else None  # type: ignore[arg-type]


def count_writes(tensor: Tensor) -> int:
    """Return how often a tensor has been written in place, by whatever name."""
    return tensor._version  # noqa: SLF001  (there is no public name)
