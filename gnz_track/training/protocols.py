"""The table of protocols. A protocol is data: to add one, add a row."""

from __future__ import annotations

from gnz_track.registry import Registry
from gnz_track.training.deep_protocols import make_deep_protocols
from gnz_track.types import Optimiser, Protocol, Selection, TaskType

__all__ = ["PROTOCOLS"]

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
for _protocol in make_deep_protocols():
    PROTOCOLS.add(_protocol.name, _protocol)
