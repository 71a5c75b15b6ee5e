"""MetaGL (Park et al., 2023): ranking by attention over a graph of past graphs and settings, alike ones tied.

A new graph hears its likes and is heard by nobody, so that an answer does not depend on what else is asked. The layers
are in the manner of Hu et al. (2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.ensemble import RandomForestRegressor
from torch import Tensor, nn
from torch.nn import functional

from gnz_track.selection.selectors.factor_models import factorise, forest_arrays, predict_forest
from gnz_track.selection.selectors.neural import Stopping, arrays_of, hold_out, load_arrays, seeded_network
from gnz_track.selection.selectors.simple import normalise
from gnz_track.selection.selectors.training_set import Arrays, Real, Selector, TrainingSet
from gnz_track.selection.study.ranking_metrics import area_under_curve, reciprocal_rank

__all__ = ["KINDS", "META_GL", "RELATIONS", "MetaNetwork", "Ties"]


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


RANK, NEIGHBOURS, N_TREES = 64, 30, 100
EPOCHS, PATIENCE, BATCH, LEARNING_RATE, WEIGHT_DECAY = 500, 50, 80, 7.5e-4, 1e-4


@dataclass(frozen=True, eq=False)
class _Past:
    """Ties of new graphs: features with their logarithms, factors of graphs and of settings, the forest."""

    features: Real
    factors: Real
    settings: Real
    forest: Arrays

    def inputs(self, features: Real, factors: Real) -> Tensor:
        """Return what the network sees of graphs."""
        return torch.from_numpy(np.concatenate([features, factors], axis=1)).float()

    def ties(self, features: Real, factors: Real) -> Ties:
        """Return which past graphs and settings each graph hears, 30 of each relation."""
        return {
            "by_features": _nearest(features, self.features),
            "by_factors": _nearest(factors, self.factors),
            "of_setting": _nearest(factors, self.settings),
        }

    def own_ties(self) -> Ties:
        """Return all ties among past graphs and settings."""
        return {
            **self.ties(self.features, self.factors),
            "of_graph": _nearest(self.settings, self.factors),
            "of_settings": _nearest(self.settings, self.settings),
        }


def _fit(data: TrainingSet) -> Arrays:
    low, high = (f(data.scores, axis=1, keepdims=True) for f in (np.nanmin, np.nanmax))
    scores = 1 + 10 * (data.scores - low) / np.where(high > low, high - low, 1)
    train, held = hold_out(len(scores), 0.3, data.seed)
    past = _describe_past(_with_logarithms(data.features)[train], scores[train], data.seed)
    network = seeded_network(lambda: MetaNetwork(past.features.shape[1], past.factors.shape[1]), data.seed)

    arrays = _train(network, past, scores[train], (data.features[held], data.scores[held]), data.seed)
    return arrays | _pack(past)


def _describe_past(features: Real, scores: Real, seed: int) -> _Past:
    rank = min(RANK, *scores.shape)
    factors, settings = factorise(scores, rank, np.random.default_rng(seed))
    forest = RandomForestRegressor(N_TREES, random_state=seed % 2**32, max_features=1 / 3).fit(features, factors)
    return _Past(features, factors, settings.T, forest_arrays(forest))


def _train(network: MetaNetwork, past: _Past, scores: Real, held: tuple[Real, Real], seed: int) -> Arrays:
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    graphs, settings = past.inputs(past.features, past.factors), torch.from_numpy(past.settings).float()
    ties, y = past.own_ties(), torch.from_numpy(scores).float()
    generator, stop = np.random.default_rng([seed, 1]), Stopping(PATIENCE)
    held_features = _with_logarithms(held[0])
    held_factors = predict_forest(past.forest, held_features)
    new, new_ties = past.inputs(held_features, held_factors), past.ties(held_features, held_factors)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for epoch in range(EPOCHS):
            network.train()
            for rows in np.array_split(generator.permutation(len(y)), max(1, round(len(y) / BATCH))):
                optimiser.zero_grad()
                found = network.score(network.start(graphs, settings), ties, torch.from_numpy(rows))
                _list_loss(found, y[rows]).backward()
                optimiser.step()
            network.eval()
            with torch.no_grad():
                states = network.spread(network.start(graphs, settings), ties)
                found = (network.attach(new, states, new_ties) @ states[-1]["setting"].T).double().numpy()
            good = (np.nanmean(area_under_curve(held[1], found)) + np.nanmean(reciprocal_rank(held[1], found))) / 2
            if stop.is_over(epoch, float(good), network):
                break
    return dict(stop.arrays) or arrays_of(network)


def _list_loss(predicted: Tensor, scores: Tensor) -> Tensor:
    """Return the cross entropy between both softmaxes over known settings (ListNet: Cao et al., 2007)."""
    known = torch.isfinite(scores)
    wanted = torch.softmax(scores.masked_fill(~known, -torch.inf), dim=1)
    logs = torch.log_softmax(predicted.masked_fill(~known, -torch.inf), dim=1).masked_fill(~known, 0)
    return -(wanted * logs).sum(dim=1).mean()


def _predict(arrays: Arrays, features: Real) -> Real:
    past = _unpack(arrays)
    sizes = (past.features.shape[1], past.factors.shape[1])
    network = load_arrays(seeded_network(lambda: MetaNetwork(*sizes), 0), arrays)
    features = _with_logarithms(features)
    factors = predict_forest(past.forest, features)
    with torch.no_grad():
        start = network.start(past.inputs(past.features, past.factors), torch.from_numpy(past.settings).float())
        states = network.spread(start, past.own_ties())
        own = network.attach(past.inputs(features, factors), states, past.ties(features, factors))
        return (own @ states[-1]["setting"].T).double().numpy()  # type: ignore[no-any-return]


def _with_logarithms(features: Real) -> Real:
    return np.concatenate([features, np.log1p(features)], axis=1)


def _nearest(rows: Real, columns: Real) -> Tensor:
    """Return 0 where the 30 most similar columns of each row are, by cosine, and minus infinity elsewhere."""
    likeness = normalise(rows) @ normalise(columns).T
    n = min(NEIGHBOURS, likeness.shape[1])
    tie = np.full(likeness.shape, -np.inf, dtype=np.float32)
    np.put_along_axis(tie, np.argsort(-likeness, axis=1, kind="stable")[:, :n], 0, axis=1)
    return torch.from_numpy(tie)


def _pack(past: _Past) -> Arrays:
    whole: Arrays = {"past.features": past.features, "past.factors": past.factors, "past.settings": past.settings}
    return whole | {f"forest.{name}": array for name, array in past.forest.items()}


def _unpack(arrays: Arrays) -> _Past:
    forest = {name.removeprefix("forest."): array for name, array in arrays.items() if name.startswith("forest.")}
    return _Past(arrays["past.features"], arrays["past.factors"], arrays["past.settings"], forest)


META_GL = Selector(
    name="meta_gl",
    fit=_fit,
    predict=_predict,
    description="attention over a graph of past graphs and settings (Park et al., 2023)",
)
