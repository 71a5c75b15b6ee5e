"""Train each model for twenty epochs and print, as JSON, the losses and a digest of the bits of its parameters.

``python twenty_epochs.py fast|plain [MIRROR HOME]``: accelerated, or on PyG's own path. Without a mirror of Cora the
graph is a random one with features as sparse as words.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings

warnings.filterwarnings("ignore")

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch_geometric.data import Data  # noqa: E402

from gnz_track.models.building import Sizes, build  # noqa: E402
from gnz_track.models.catalogue import MODELS  # noqa: E402
from gnz_track.optimisers import Adam  # noqa: E402
from gnz_track.training.acceleration import accelerate, attach, sparsify  # noqa: E402
from gnz_track.types import TaskType  # noqa: E402

EPOCHS = 20
NAMES = ("GCN", "GraphSAGE", "GAT", "GraphTransformer", "NodeGIN", "MLP")


def _random_graph() -> Data:
    generator = torch.Generator().manual_seed(1)
    n, width = 400, 300
    x = (torch.rand(n, width, generator=generator) < 0.03).float()
    x = x / x.sum(dim=1, keepdim=True).clamp(min=1)
    edges = torch.randint(n, (2, 1500), generator=generator)
    y = torch.randint(5, (n,), generator=generator)
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=y, train_mask=torch.arange(n) < 60)


def _cora(mirror: str, home: str) -> Data:
    from gnz_track.datasets.preparation import prepare

    tensors = prepare("cora", seed=0, home=home, mirror=mirror).tensors
    return Data(**{name: tensors[name] for name in ("x", "edge_index", "y", "train_mask")})


def _train(name: str, data: Data, *, is_fast: bool) -> dict[str, object]:
    torch.manual_seed(3)
    sizes = Sizes(in_channels=data.x.size(1), hidden_channels=64, out_channels=int(data.y.max()) + 1)
    model = build(MODELS.get(name), TaskType.node_cls, sizes)
    if is_fast:
        data = Data(**dict(data.items()))
        data.edge_index = attach(data.edge_index.clone(), data.num_nodes)
        data.x, model = sparsify(data.x), accelerate(model)
    optimiser, losses, mask = Adam(model.parameters(), lr=0.01, weight_decay=5e-4, fused=True), [], data.train_mask
    for _ in range(EPOCHS):
        optimiser.zero_grad()
        loss = functional.cross_entropy(model.train()(data)[mask], data.y[mask])
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        with torch.no_grad():
            model.eval()(data)
    bits = b"".join(parameter.detach().contiguous().numpy().tobytes() for parameter in model.parameters())
    return {"losses": losses, "bits": hashlib.sha256(bits).hexdigest()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    graph = _cora(*sys.argv[2:]) if len(sys.argv) > 2 else _random_graph()
    print(json.dumps({name: _train(name, graph, is_fast=sys.argv[1] == "fast") for name in NAMES}))  # noqa: T201  (the answer)
