"""Published settings as they are written here: the model of this package, its hyperparameters, what of them matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["CORES", "TRANSLATIONS", "Values"]

Values = Mapping[str, Any]


def _without(values: Values, *names: str) -> Values:
    return {name: value for name, value in values.items() if name not in names}


def _core_of_gcn(values: Values) -> Values:
    # One layer: nothing stands between two.
    return _without(values, "act", "dropout") if values["num_layers"] == 1 else values


def _core_of_sage(values: Values) -> Values:
    return _without(values, "act") if values["num_layers"] == 1 and values["jk"] is None else values


def _core_of_gat(values: Values) -> Values:
    # One head beside itself, and its mean, are one; and the last layer, which may be the only one, takes the mean.
    return _without(values, "concat") if 1 in (values["heads"], values["num_layers"]) else values


def _core_of_cheb(values: Values) -> Values:
    # The first polynomial is the node itself.
    return _without(values, "normalization") if values["K"] == 1 else values


def _gcn(values: Values) -> tuple[str, Values]:
    return "GCN", {**_stacked(values, dropout=values["dropout"]), "act": values["act"]}


def _sage(values: Values) -> tuple[str, Values]:
    more = {"act": values["act"], "aggr": values["aggr"], "jumping": values["jk"] or "none"}
    return "GraphSAGE", {**_stacked(values, dropout=0.0), **more}


def _gat(values: Values) -> tuple[str, Values]:
    more = {"heads": values["heads"], "concat": values["concat"]}
    return "AveragedGAT", {**_stacked(values, dropout=values["dropout"]), **more}


def _gin(values: Values) -> tuple[str, Values]:
    return "NodeGIN", {**_stacked(values, dropout=0.0), "eps": values["eps"], "train_eps": values["train_eps"]}


def _egc(values: Values) -> tuple[str, Values]:
    more = {"aggregators": values["aggregators"][0], "num_bases": values["num_bases"]}
    return "EGC", {**_stacked(values, dropout=0.0), **more}


def _pna(values: Values) -> tuple[str, Values]:
    more = {"aggregators": values["aggregators"][0], "scalers": values["scalers"][0], "towers": values["towers"]}
    return "PNA", {**_stacked(values, dropout=0.0), **more}


def _sgc(values: Values) -> tuple[str, Values]:
    return "SGC", {"n_hops": values["k"], "bias": values["bias"]}


def _cheb(values: Values) -> tuple[str, Values]:
    more = {"order": values["K"], "normalisation": values["normalization"] or "none"}
    return "ChebNet", {**_stacked(values, dropout=0.0), **more}


def _stacked(values: Values, *, dropout: float) -> Values:
    return {"n_layers": values["num_layers"], "hidden_channels": values["hidden_channels"], "dropout": dropout}


def _as_it_is(model: str, **fixed: Any) -> Callable[[Values], tuple[str, Values]]:
    # Hyperparameters have the same names here.
    return lambda values: (model, {**values, **fixed})


# Method -> what the network depends on of its hyperparameters, where that is not all of them.
CORES: Mapping[str, Callable[[Values], Values]] = {
    "GCN": _core_of_gcn,
    "GraphSAGE": _core_of_sage,
    "GAT": _core_of_gat,
    "ChebNet": _core_of_cheb,
}
# Method -> from its hyperparameters to the model and hyperparameters of this package. Vectors of length 1 as published:
# scaled, embeddings are other settings, and better ones.
TRANSLATIONS: Mapping[str, Callable[[Values], tuple[str, Values]]] = {
    "GCN": _gcn,
    "GraphSAGE": _sage,
    "GAT": _gat,
    "GIN": _gin,
    "EGC": _egc,
    "SGC": _sgc,
    "ChebNet": _cheb,
    "PNA": _pna,
    "SpectralEmbedding": _as_it_is("SpectralEmbedding", is_scaled=False),
    "GraRep": _as_it_is("GraRep", is_scaled=False),
    "DGI": _as_it_is("DGILinear", is_scaled=False),
    "LabelPropagation": _as_it_is("LabelPropagation"),
    "Node2Vec": _as_it_is("Node2Vec", is_scaled=False),
    "AdamicAdar": _as_it_is("AdamicAdar"),
    "Jaccard": _as_it_is("Jaccard"),
    "ResourceAllocation": _as_it_is("ResourceAllocation"),
    "SEAL": _as_it_is("SEAL"),
}
