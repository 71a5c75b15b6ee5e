"""The network of MetaGL: attention over a graph of past graphs and settings (in the manner of Hu et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["KINDS", "RELATIONS", "MetaNetwork", "Ties"]

HIDDEN, HEADS, LAYERS, DROPOUT = 32, 4, 2, 0.5
KINDS = ("graph", "setting")
# Name -> (kind at which it starts, kind at which it ends).
RELATIONS = {
    "by_features": ("graph", "graph"),
    "by_factors": ("graph", "graph"),
    "of_setting": ("setting", "graph"),
    "of_graph": ("graph", "setting"),
    "of_settings": ("setting", "setting"),
}
Ties = dict[str, Tensor]


class _Attention(nn.Module):  # type: ignore[misc]
    """One layer: per relation, attention over neighbours; the mean over relations, behind a gate."""

    def __init__(self) -> None:
        super().__init__()
        width = HIDDEN // HEADS
        self.keys, self.queries, self.values, self.out = (
            nn.ModuleDict({kind: nn.Linear(HIDDEN, HIDDEN) for kind in KINDS}) for _ in range(4)
        )
        self.norms = nn.ModuleDict({kind: nn.LayerNorm(HIDDEN) for kind in KINDS})
        self.gates = nn.ParameterDict({kind: nn.Parameter(torch.ones(())) for kind in KINDS})
        scale = width**-0.5
        self.likeness, self.message = (
            nn.ParameterDict({name: nn.Parameter(torch.randn(HEADS, width, width) * scale) for name in RELATIONS})
            for _ in range(2)
        )
        self.weights = nn.ParameterDict({name: nn.Parameter(torch.ones(HEADS)) for name in RELATIONS})

    def forward(self, sources: dict[str, Tensor], targets: dict[str, Tensor], ties: Ties) -> dict[str, Tensor]:
        """Return new states of the targets.

        Parameters
        ----------
        sources, targets
            Kind of node -> states [nodes, HIDDEN].
        ties
            Relation -> [targets, sources], 0 where there is an edge, else minus infinity; no target is without an edge.
        """
        found: dict[str, list[Tensor]] = {kind: [] for kind in targets}
        for name, (start, end) in RELATIONS.items():
            if end in targets and name in ties:
                found[end].append(self._attend(name, sources[start], targets[end], ties[name]))
        return {kind: self._gate(kind, states, targets[kind]) for kind, states in found.items()}

    def _attend(self, name: str, source: Tensor, target: Tensor, tie: Tensor) -> Tensor:
        start, end = RELATIONS[name]
        keys, values = self._split(self.keys[start](source)), self._split(self.values[start](source))
        queries = self._split(self.queries[end](target))
        scale = self.weights[name][:, None, None] / (HIDDEN // HEADS) ** 0.5
        likeness = keys @ (self.likeness[name] * scale)
        # Masking by a sum takes a third of the time of masking in place.
        logits = torch.baddbmm(tie.expand(HEADS, -1, -1), queries, likeness.transpose(1, 2))
        shares = torch.softmax(logits, dim=2)
        return (shares @ (values @ self.message[name])).transpose(0, 1).reshape(len(target), HIDDEN)

    def _gate(self, kind: str, states: list[Tensor], target: Tensor) -> Tensor:
        mean = functional.gelu(torch.stack(states).mean(dim=0))
        moved = functional.dropout(self.out[kind](mean), DROPOUT, training=self.training)
        gate = torch.sigmoid(self.gates[kind])
        return self.norms[kind](gate * moved + (1 - gate) * target)

    def _split(self, states: Tensor) -> Tensor:
        return states.view(len(states), HEADS, HIDDEN // HEADS).transpose(0, 1)


class MetaNetwork(nn.Module):  # type: ignore[misc]
    """States of graphs and settings, whose products are scores to rank by."""

    def __init__(self, n_features: int, n_factors: int) -> None:
        super().__init__()
        self.graph = nn.Linear(n_features + n_factors, HIDDEN)
        self.setting = nn.Linear(n_factors, HIDDEN)
        self.layers = nn.ModuleList([_Attention() for _ in range(LAYERS)])

    def start(self, graphs: Tensor, settings: Tensor) -> dict[str, Tensor]:
        """Return the states before the first layer, from features with factors, and factors."""
        return {"graph": self.graph(graphs), "setting": self.setting(settings)}

    def spread(self, states: dict[str, Tensor], ties: Ties) -> list[dict[str, Tensor]]:
        """Return the states of all past graphs and settings before and after each layer."""
        found = [states]
        for layer in self.layers:
            found.append(layer(found[-1], found[-1], ties))
        return found

    def score(self, states: dict[str, Tensor], ties: Ties, rows: Tensor) -> Tensor:
        """Return the scores of some past graphs [rows, settings]; nobody hears the last states of the others.

        Parameters
        ----------
        states, ties
            States of all past graphs and settings, and their edges.
        rows
            Places of the graphs.
        """
        *first, last = self.layers
        for layer in first:
            states = layer(states, states, ties)
        some = {name: tie[rows] if RELATIONS[name][1] == "graph" else tie for name, tie in ties.items()}
        found = last(states, {"graph": states["graph"][rows], "setting": states["setting"]}, some)
        return found["graph"] @ found["setting"].T

    def attach(self, graphs: Tensor, past: list[dict[str, Tensor]], ties: Ties) -> Tensor:
        """Return the last states of new graphs, which hear past graphs and settings and are heard by none of them.

        Parameters
        ----------
        graphs
            Features with factors of the new graphs.
        past
            Result of :meth:`spread`.
        ties
            Edges from past graphs and settings to new graphs.
        """
        own = self.graph(graphs)
        for layer, states in zip(self.layers, past[:-1], strict=True):
            own = layer(states, {"graph": own}, ties)["graph"]
        return own
