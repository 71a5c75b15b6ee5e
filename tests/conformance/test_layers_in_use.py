"""Accelerated layers as people use layers: under Torch's modes, and in their own models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from torch_geometric.nn import JumpingKnowledge
from torch_geometric.utils import dropout_edge, k_hop_subgraph, subgraph
from trials import FORMS, N_NODES
from uses import USES, Use, all_of, at_turns, hold

# Torch warns of its own modes, and of PyG's ways in them.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled(backend: str) -> None:
    def use(model: Any, x: Any, edges: Tensor) -> Any:
        torch.compiler.reset()
        return torch.compile(model, backend=backend)(x, edges), model(x, edges)

    hold(all_of({"compiled": use}, ("ordinary", "sparse", "sparse and lent")), wants_gradient=False)


def test_uses() -> None:
    hold(at_turns(USES, FORMS))


@pytest.mark.slow
def test_uses_in_all_forms() -> None:
    hold(all_of(USES, FORMS))


def _in_place_in_training(model: Any, x: Any, edges: Tensor) -> Any:
    out = model(x, edges)
    out += 1
    out[0] = 0
    return functional.relu(out.mul_(1.5), inplace=True)


class _Jumping(nn.Module):
    def __init__(self, layer: Any, mode: str) -> None:
        super().__init__()
        self.first, self.second = layer, nn.Identity()
        self.jump, self.mode = JumpingKnowledge(mode), mode

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.first(x, edges)
        return self.jump([h, functional.dropout(h.relu(), 0.5, self.training), self.first(x, edges.flip(0))])


def _sampled(model: Any, x: Any, edges: Tensor) -> Any:
    nodes, part, _, _ = k_hop_subgraph([0, 3], 1, edges, relabel_nodes=True, num_nodes=N_NODES)
    kept, _ = subgraph(torch.arange(6), edges)
    return model(x[nodes], part), model(x, kept), model(x, edges)


def _with_dropped_edges(model: Any, x: Any, edges: Tensor) -> Any:
    kept, _ = dropout_edge(edges, p=0.3, training=model.training)
    return model(x, kept), model(x, edges)


def _masked(model: Any, x: Any, edges: Tensor) -> Any:
    return model(x * (x > 0), edges[:, edges[0] != edges[1]]), model(x, edges)


def _noised(model: Any, x: Any, edges: Tensor) -> Any:
    data = Data(x=x, edge_index=edges)
    data.x = data.x + 0.1 * torch.randn_like(data.x)
    return model(data.x, data.edge_index)


def _unusual(change: Callable[[Any], Any]) -> Use:
    return lambda model, x, edges: model(change(x), edges)


IDIOMS: dict[str, Use] = {
    "in place in training": _in_place_in_training,
    "jumping, concatenated": lambda model, x, edges: _Jumping(model, "cat")(x, edges),
    "jumping, largest": lambda model, x, edges: _Jumping(model, "max")(x, edges),
    "subgraphs": _sampled,
    "DropEdge": _with_dropped_edges,
    "masked": _masked,
    "noised": _noised,
    "typed edges": lambda model, x, edges: model(x, EdgeIndex(edges, sparse_size=(N_NODES, N_NODES))),
    "a sparse adjacency": lambda model, x, edges: model(
        x,
        torch.sparse_coo_tensor(
            edges.flip(0), torch.ones(edges.size(1), dtype=x.dtype), (N_NODES, N_NODES)
        ).to_sparse_csr(),
    ),
    "32-bit edges": lambda model, x, edges: model(x, edges.int()),
    "pairs": lambda model, x, edges: model((x, x), edges),
    "a column-major matrix": _unusual(lambda x: (x + 0).t().contiguous().t()),
    "every second row of more": _unusual(lambda x: x.repeat_interleave(2, dim=0)[::2]),
    "a row for all": _unusual(lambda x: (x + 0)[:1].expand(N_NODES, -1)),
    "a parameter": _unusual(lambda x: nn.Parameter((x + 0).detach())),
    "a vector": _unusual(lambda x: x[:, 0]),
    "two graphs at once": _unusual(lambda x: torch.stack([x + 0, x * 2])),
    "integers": _unusual(lambda x: x.long()),
    "another precision": _unusual(lambda x: x.detach().float()),
    "too narrow": _unusual(lambda x: (x + 0)[:, :3]),
    "too few nodes": _unusual(lambda x: (x + 0)[:5]),
    "too many nodes": _unusual(lambda x: torch.cat([x, x])),
    "on no device": _unusual(lambda x: x.to("meta")),
    "infinite": _unusual(lambda x: x + torch.where(torch.arange(N_NODES) == 4, float("inf"), 0.0)[:, None]),
    "not numbers": _unusual(lambda x: x / x),
    "a sparse tensor": _unusual(lambda x: (x + 0).detach().to_sparse()),
}


def _of_weights(value: float) -> Use:
    """Return a use with a weight that is no number, which is so times zero too."""

    def use(model: Any, x: Any, edges: Tensor) -> Any:
        before = model(x, edges)
        for parameter in model.parameters():
            parameter.data.view(-1)[parameter.numel() // 2] = value
        return before, model(x, edges), model(functional.dropout(x, 0.3), edges)

    return use


def _of_gradients(model: Any, x: Any, edges: Tensor) -> Any:
    out = model(x, edges)
    weights = [parameter for parameter in model.parameters() if parameter.dim() == 2]
    (out[3] / 0).sum().backward()
    found = tuple(weight.grad for weight in weights if weight.grad is not None)
    model.zero_grad()
    return found


IDIOMS |= {
    "a weight that is not a number": _of_weights(float("nan")),
    "an infinite weight": _of_weights(float("inf")),
    "an infinite gradient": _of_gradients,
}


def test_idioms() -> None:
    hold(at_turns(IDIOMS, ("ordinary", "sparse", "sparse and lent")))


@pytest.mark.slow
def test_idioms_in_all_forms() -> None:
    hold(all_of(IDIOMS, FORMS), order=2)
