"""The table of protocols. A protocol is data: to add one, add a row.

Those of "Benchmarking Graph Neural Networks" (Dwivedi et al., JMLR 2023) train with Adam; the learning rate halves
while the validation loss does not fall, and training ends once it is too small. Models get the width of a parameter
budget, and are scored at the last epoch.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from gnz_track.registry import Registry
from gnz_track.types import Optimiser, Override, Protocol, Selection, TaskType, Value

__all__ = ["PROTOCOLS", "make_deep_protocols"]


_PLATEAU = Optimiser(lr=1e-3, batch_size=128, schedule="plateau", factor=0.5, patience=10, min_lr=1e-5)
_OPTIMISERS = {
    TaskType.node_cls: _PLATEAU,
    TaskType.graph_cls: _PLATEAU,
    TaskType.graph_reg: replace(_PLATEAU, loss="mae"),
    TaskType.link_pred: replace(_PLATEAU, batch_size=0),
    TaskType.edge_cls: replace(_PLATEAU, batch_size=64),
    TaskType.multi_task: replace(_PLATEAU, batch_size=25, patience=15, min_lr=1e-6),
}
_BLOCKS = Override(optimiser={"patience": 5, "loss": "balanced"})
_FOLDED = {"batch_size": 20, "patience": 25, "min_lr": 1e-6}
_BY_MODEL: dict[str, dict[str, Value]] = {
    # Dense tensors: few layers whatever the budget, and batches of the size after which gradients were applied.
    "RingGNN": {"n_layers": 2, "batch_size": 4},
    "ThreeWLGNN": {"n_layers": 3, "batch_size": 4},
}
# Where others wait for 10 epochs, these wait for 5; elsewhere all wait alike.
_HASTY: dict[str, dict[str, Value]] = {name: {"patience": 5} for name in _BY_MODEL}
_IMAGES = Override(by_model={**_HASTY, "RingGNN": {"lr": 1e-4, "patience": 5, "min_lr": 1e-6}})


def _rates(**rates: float) -> dict[str, dict[str, Value]]:
    return {name: {"lr": rate} for name, rate in rates.items()}


# Dataset -> what is otherwise there; a name stands for all sizes of a dataset too, ``tsp`` for ``tsp_tiny``.
_BY_DATASET: dict[str, Override] = {
    "zinc": Override(by_model=_HASTY),
    "aqsol": Override(by_model=_HASTY),
    "mnist": _IMAGES,
    "cifar10": _IMAGES,
    "sbm_pattern": _BLOCKS,
    "sbm_cluster": _BLOCKS,
    "tsp": Override(epochs=500),
    # A batch counts links; the graph is taken whole for each. The rate waits for the score, as published here alone.
    "ogbl_collab": Override(
        optimiser={"batch_size": 32_768, "schedule": "score_plateau"},
        options={"n_layers": 3},
        by_model=_rates(MatrixFactorisation=1e-2),
        epochs=500,
    ),
    "csl": Override(
        optimiser={"batch_size": 5, "lr": 5e-4, "patience": 5, "min_lr": 1e-6},
        by_model={name: {"batch_size": 5} for name in _BY_MODEL},
        hours=1.2,
    ),
    "cycles": Override(optimiser={"batch_size": 25, "lr": 1e-4, "min_lr": 1e-6}, options={"readout": "sum"}),
    "graph_theory": Override(options={"n_layers": 8}),
    "wikics": Override(
        optimiser={"lr": 1e-2, "weight_decay": 5e-4, "patience": 25}, options={"dropout": 0.35}, hours=0.6
    ),
    "enzymes": Override(
        optimiser={**_FOLDED, "lr": 7e-4},
        by_model=_rates(DeepMLP=1e-3, DeepGAT=1e-3, MoNet=1e-3, DeepGIN=7e-3, RingGNN=1e-4, ThreeWLGNN=1e-3),
        splits="ten_folds",
        hours=1.2,
    ),
    "dd": Override(
        optimiser={**_FOLDED, "lr": 1e-4},
        by_model=_rates(DeepGCN=7e-4, DeepGraphSAGE=1e-3, DeepGAT=5e-5, MoNet=1e-5, GatedGCN=1e-5, DeepGIN=1e-3),
        splits="ten_folds",
        hours=1.2,
    ),
    "proteins": Override(
        optimiser={**_FOLDED, "lr": 1e-4},
        by_model={
            **_rates(DeepGCN=7e-4, DeepGraphSAGE=7e-5, DeepGAT=1e-3, MoNet=7e-5, RingGNN=7e-5),
            "ThreeWLGNN": {"lr": 1e-3, "min_lr": 1e-5},
        },
        splits="ten_folds",
        hours=1.2,
    ),
}
# Columns of the Laplacian encoding, where there is one.
_POSITIONS = {
    "zinc": 8,
    "aqsol": 4,
    "sbm_pattern": 2,
    "sbm_cluster": 20,
    "ogbl_collab": 20,
    "csl": 20,
    "cycles": 20,
    "graph_theory": 12,
    "wikics": 20,
}
_USUAL_POSITIONS = 8
# Smaller batches under the large budget, as published for want of memory.
_SMALL_BATCHES: dict[str, dict[str, Value]] = {
    "DeepGCN": {"batch_size": 64},
    "DeepGraphSAGE": {"batch_size": 64},
    "GatedGCN": {"batch_size": 32},
}
# Budget -> its name, and the layers of models that say how many.
_BUDGETS: dict[int, tuple[str, dict[str, Value]]] = {100_000: ("100k", {}), 500_000: ("500k", {"n_layers": 16})}


def make_deep_protocols() -> list[Protocol]:
    """Return a protocol for each budget, without and with positions, scored as a whole and batch by batch."""
    choices = itertools.product(_BUDGETS, (False, True), (False, True))
    return [_make_protocol(budget, has_positions=first, is_per_batch=second) for budget, first, second in choices]


def _make_protocol(budget: int, *, has_positions: bool, is_per_batch: bool) -> Protocol:
    size, options = _BUDGETS[budget]
    suffix = ("-pe" if has_positions else "") + ("-per-batch" if is_per_batch else "")
    told = [
        f"plateau schedule, {budget:,} parameters, scored at the last epoch",
        *(["Laplacian positions"] if has_positions else []),
        *(["scores are means over batches"] if is_per_batch else []),
    ]
    return Protocol(
        name=f"dwivedi-{size}{suffix}",
        version=1,
        optimisers=_OPTIMISERS,
        selection=Selection.last_epoch,
        epochs=1000,
        hours=12.0,
        budget=budget,
        options=options,
        by_model=_BY_MODEL,
        by_dataset=_overrides(budget, has_positions=has_positions),
        encoding=f"lap{_USUAL_POSITIONS}" if has_positions else "",
        scoring="per_batch" if is_per_batch else "whole",
        also=("best_validation", "training"),
        description="; ".join(told),
    )


def _overrides(budget: int, *, has_positions: bool) -> Mapping[str, Override]:
    found = dict(_BY_DATASET)
    if has_positions:
        found |= {name: replace(found[name], encoding=f"lap{k}") for name, k in _POSITIONS.items()}
    if _BUDGETS[budget][1]:
        found |= {name: replace(found[name], by_model=_SMALL_BATCHES) for name in ("sbm_pattern", "sbm_cluster")}
    return found


PROTOCOLS: Registry[Protocol] = Registry(
    "protocol", command="gnz protocols", entry_point_group="gnz_track.protocols", row_type=Protocol
)

# The published settings of the GraphNetz benchmark (graph regression: batches of 64).
_PUBLISHED = {
    TaskType.node_cls: Optimiser(lr=1e-2, weight_decay=5e-4),
    TaskType.graph_cls: Optimiser(lr=1e-3, batch_size=32),
    TaskType.graph_reg: Optimiser(lr=1e-3, batch_size=64),
    TaskType.link_pred: Optimiser(lr=1e-2),
    # Not published: as for links, whose full batch it shares.
    TaskType.edge_cls: Optimiser(lr=1e-2),
}

PROTOCOLS.add(
    "graphnetz",
    Protocol(
        name="graphnetz",
        version=1,
        optimisers=_PUBLISHED,
        selection=Selection.last_epoch,
        description="Adam, hidden 64, scored at the fixed last epoch",
    ),
)
PROTOCOLS.add(
    "best-val",
    Protocol(
        name="best-val",
        version=1,
        optimisers=_PUBLISHED,
        selection=Selection.best_validation,
        patience=50,
        description="as graphnetz, scored at the best validation epoch; stops after 50 epochs without a better one",
    ),
)
PROTOCOLS.add(
    "graphnetz-identity",
    Protocol(
        name="graphnetz-identity",
        version=1,
        optimisers=_PUBLISHED,
        selection=Selection.last_epoch,
        features="identity",
        description="as graphnetz; nodes without features are told apart by number, as in the published networks",
    ),
)
PROTOCOLS.add(
    "glemos",
    Protocol(
        name="glemos",
        version=1,
        optimisers={TaskType.node_cls: Optimiser(lr=1e-3), TaskType.link_pred: Optimiser(lr=1e-3)},
        selection=Selection.best_validation,
        patience=30,
        splits="fifths",
        features="learned",
        epochs=300,
        code_channels=32,
        by_model={"SEAL": {"batch_size": 256}},
        description="as published scores of 366 settings were made: 64/16/20, 300 epochs, best validation epoch",
    ),
)
_DRAWN = Optimiser(lr=3e-3, weight_decay=5e-4, batch_size=1024)
PROTOCOLS.add(
    "sampled",
    Protocol(
        name="sampled",
        version=1,
        optimisers={TaskType.node_cls: _DRAWN, TaskType.link_pred: replace(_DRAWN, weight_decay=0.0)},
        selection=Selection.best_validation,
        patience=10,
        neighbours="10x10",
        description="for large graphs: batches of 1,024 nodes or pairs with 10 neighbours drawn of each, twice; scored "
        "along all edges at the best validation epoch",
    ),
)
for _protocol in make_deep_protocols():
    PROTOCOLS.add(_protocol.name, _protocol)
