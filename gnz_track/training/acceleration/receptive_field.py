"""Receptive field of some nodes: what each layer has to compute for a loss that sees those nodes alone.

Where few nodes have labels, most of what layers compute reaches no loss. The last layer is needed at the labelled
nodes, the one before at these and at the sources of their edges, and so on. A :class:`Hop` is the structure of one
layer that gives the codes of its ``targets`` only, one row after another; the next layer is given these rows and no
others. All numbers are those that the whole graph gives: sums run in the same order, and masks of dropout are drawn for
the whole graph, of which those of the targets are taken.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, TransformerConv

from gnz_track.training.acceleration.compiled import serves
from gnz_track.training.acceleration.dropout import draw_mask
from gnz_track.training.acceleration.guards import GUARDS, FastForward, is_ordinary, is_unwatched
from gnz_track.training.acceleration.library import kernels
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.structure import Structure, attach, structure_of

__all__ = ["Hop", "ReceptiveField", "draw_mask_of", "receptive_field_of", "tag"]

# Layers that can leave nodes out.
_LAYERS = frozenset({GATConv, GCNConv, SAGEConv, TransformerConv})
# A layer that is needed at more of the nodes than this is computed at all of them.
LARGEST_SHARE = 0.8
_HOP = "gnz_hop"


class Hop(Structure):
    """Structure of a layer that gives the codes of some nodes, from rows of some nodes, both by ascending numbers.

    ``sources`` are the nodes that are needed of its input, None all of them; ``targets`` those of its output. The first
    layer is given the rows of all nodes, and any other those of its sources.
    """

    def __init__(self, whole: Structure, sources: Tensor | None, targets: Tensor, *, is_first: bool) -> None:
        n_nodes = whole.n_nodes if is_first or sources is None else sources.numel()
        super().__init__(whole.edge_index, n_nodes, is_trusted=True)
        self._of, self.targets = whole, targets
        self.places = places = targets if sources is None else torch.searchsorted(sources, targets)
        self.rows_of_sources, self.rows_of_targets = (sources, targets) if is_first else (None, places)
        self._sources = sources

    @property
    def whole(self) -> Structure:
        """The structure with every node among the targets."""
        return self._of

    def _make_plain(self) -> Pattern:
        return self.whole.plain.choose(self.targets, self._sources, self.places)

    def _make_looped(self) -> Pattern:
        return self.whole.looped.choose(self.targets, self._sources, self.places)

    @property
    def degrees(self) -> Tensor:
        """Number of incoming edges of each target, at least 1 ``[n_targets, 1]`` (float)."""
        return self.keep("degrees", lambda: self.whole.degrees[self.targets])

    def normalised_weights(self, dtype: torch.dtype) -> Tensor:
        """Values of :attr:`looped` under symmetric normalisation in the whole graph."""
        entries = functools.partial(self.whole.looped.entries_of, self.targets)
        return self.keep(("normalised", dtype), lambda: self.whole.normalised_weights(dtype)[entries()])


@dataclass(frozen=True, eq=False)
class ReceptiveField:
    """Edges for each layer of a chain, and the rows ``[n]`` of its output, of which there are ``n_rows``."""

    edges: Sequence[Tensor]
    rows: Tensor
    n_rows: int


def receptive_field_of(
    model: nn.Module,
    edge_index: Tensor,
    rows: Tensor,
    n_nodes: int,
    *,
    known: dict[int, ReceptiveField | None] | None = None,
) -> ReceptiveField | None:
    """Return what layers have to compute for a loss that sees some nodes; None where all layers compute everything.

    Parameters
    ----------
    model
        Model that is about to be called.
    edge_index
        Edges that it would be given.
    rows
        The nodes ``[n]``.
    n_nodes
        How many nodes there are.
    known
        Those of the same edges and nodes that were made before, by the number of layers; with the edges they would be a
        ring of references, and stay in memory.
    """
    chain: Callable[[], list[nn.Module]] | None = getattr(model, "chain", None)
    if chain is None or not type(model).__module__.startswith("gnz_track.models.") or kernels() is None:
        return None
    layers, structure = chain(), structure_of(edge_index, n_nodes)
    if structure is None or not structure.is_trusted or not layers or not is_ordinary():
        return None
    # Of other types, masks would be drawn for the rows that are there.
    if not serves(*model.parameters()):
        return None
    if not all(map(_may_leave_out, layers)) or not all(map(is_unwatched, model.modules())):
        return None
    known = {} if known is None else known
    if len(layers) not in known:
        known[len(layers)] = _make_field(structure, edge_index, rows, len(layers))
    return known[len(layers)]


def _may_leave_out(layer: Any) -> bool:
    if type(layer) not in _LAYERS or type(vars(layer).get("forward")) is not FastForward:
        return False
    # A residual would have more rows.
    return getattr(layer, "res", None) is None and GUARDS[type(layer)].admits(layer)


def _make_field(structure: Structure, edge_index: Tensor, rows: Tensor, n_layers: int) -> ReceptiveField | None:
    source, target = structure.edge_index
    targets = rows.unique()
    needed: list[Tensor | None] = [targets]
    is_seen = torch.zeros(structure.n_nodes, dtype=torch.bool)
    is_seen[rows] = True
    for _ in range(n_layers):
        is_seen[source[is_seen[target]]] = True
        is_small = int(is_seen.sum()) <= LARGEST_SHARE * structure.n_nodes
        needed.append(is_seen.nonzero().flatten() if is_small and needed[-1] is not None else None)
    needed.reverse()
    if targets.numel() > LARGEST_SHARE * structure.n_nodes:
        return None
    edges = [
        edge_index if after is None else _attach(edge_index, Hop(structure, before, after, is_first=place == 0))
        for place, (before, after) in enumerate(itertools.pairwise(needed))
    ]
    return ReceptiveField(edges, torch.searchsorted(targets, rows), targets.numel())


def _attach(edge_index: Tensor, hop: Hop) -> Tensor:
    return attach(edge_index.view_as(edge_index), hop.n_nodes, structure=hop)


def tag(codes: Tensor, structure: Structure) -> Tensor:
    """Write on codes that a layer gives whose they are, where they are not those of all nodes; return them."""
    if isinstance(structure, Hop):
        setattr(codes, _HOP, structure)
    return codes


def draw_mask_of(x: Tensor, keep: float) -> Tensor:
    """Draw a mask of as many numbers as codes have ``[n, width]``; for those of some nodes, that of all is drawn.

    Parameters
    ----------
    x
        The codes.
    keep
        Probability of each number to stay.
    """
    hop: Hop | None = getattr(x, _HOP, None)
    if hop is None:
        return draw_mask(x.numel(), keep)
    width = x.size(1)
    return draw_mask(hop.whole.n_nodes * width, keep).view(-1, width).index_select(0, hop.targets)
