"""A linear map of codes that were found once, from the graph alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from scipy import sparse
from threadpoolctl import threadpool_limits
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.options import Defaults, Model, Option, Sizes
from gnz_track.types import TaskType

__all__ = ["FittedEmbedding", "OneGraphEmbedding", "undirected_links"]


# Names in the state of a model of the codes that it has found, and of the nodes and edges of their graph.
CODES, SHAPE = "codes", "graph"


def undirected_links(data: Data) -> sparse.csr_matrix:
    """Return who is linked with whom ``[n_nodes, n_nodes]``: directions, repetitions and self-loops do not count."""
    n = int(data.num_nodes)
    ends = data.edge_index.cpu().numpy()
    both = np.concatenate([ends, ends[::-1]], axis=1)[:, np.tile(ends[0] != ends[1], 2)]
    links = sparse.csr_matrix((np.ones(both.shape[1]), both), shape=(n, n))
    links.data[:] = 1.0
    return links


class FittedEmbedding(Model):
    """Codes by ``embed``, found on the first graph and kept, then a linear map; ``forward(data) -> [n_nodes, out]``.

    What is seen are the edges that messages go along, so that no hidden link is among them. With ``is_scaled`` the mean
    square of the codes is 1, as a map that is trained at the usual rates expects; without it they are as published.
    What is random is drawn from a seed that the constructor takes from the global generator, whenever that is used.
    """

    task_types = (TaskType.node_cls, TaskType.link_pred)
    # Codes belong to the nodes of one graph, and say nothing of another one.
    is_of_one_graph = True
    defaults = Defaults(is_scaled=Option(default=True))

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, **options: Any) -> None:
        del in_channels
        super().__init__(options)
        self.linear = nn.Linear(self.code_width(hidden_channels), out_channels)
        self._seed = int(torch.randint(2**62, (), device="cpu"))
        self._fitted: tuple[tuple[int, int], Tensor] | None = None

    def code_width(self, hidden_channels: int) -> int:
        """Return how wide codes are."""
        return hidden_channels

    @abstractmethod
    def embed(self, data: Data, generator: Generator) -> Tensor:
        """Return codes ``[n_nodes, up to their width]`` of a graph; all that is random is drawn from the generator."""

    def codes(self, data: Data) -> Tensor:
        """Return the codes of the nodes ``[n_nodes, width]``; columns that a small graph has no use for are 0."""
        shape = (int(data.num_nodes), int(data.edge_index.size(1)))
        if self._fitted is None:
            # Sums over several threads are added in another order; Torch is on one while it trains, and so is this.
            with threadpool_limits(limits=1, user_api="blas"):
                found = self.embed(data, Generator().manual_seed(self._seed)).detach().float()
            if self.options.is_scaled:
                found = found / found.square().mean().sqrt().clamp(min=torch.finfo(found.dtype).tiny)
            codes = torch.zeros(found.size(0), self.linear.in_features, device=found.device)
            codes[:, : found.size(1)] = found
            self._fitted = shape, codes
        if self._fitted[0] != shape:
            raise BadValue(
                "nodes and edges of the graph", shape, f"{self._fitted[0]}, those of the one embedded before"
            )
        return self._fitted[1].to(data.edge_index.device)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:  # noqa: FBT001  (Torch's)
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[no-untyped-call]
        if self._fitted is not None:
            shape, codes = self._fitted
            destination[prefix + CODES], destination[prefix + SHAPE] = codes, torch.tensor(shape)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *more: Any) -> None:
        found = {name: state_dict.pop(prefix + name) for name in (CODES, SHAPE) if prefix + name in state_dict}
        super()._load_from_state_dict(state_dict, prefix, *more)  # type: ignore[no-untyped-call]
        if not found:
            return
        codes, shape = found[CODES], found[SHAPE].tolist()
        if codes.dim() != 2 or [len(codes), codes.size(1)] != [shape[0], self.linear.in_features]:
            message = f"codes {list(codes.shape)} of a graph of {shape[0]} nodes, {self.linear.in_features} wide"
            raise ValueError(message)
        self._fitted = (shape[0], shape[1]), codes

    def forward(self, data: Data) -> Tensor:
        """Map the codes of the nodes."""
        mapped: Tensor = self.linear(self.codes(data))
        return mapped


class OneGraphEmbedding(FittedEmbedding):
    """A fitted embedding of the links alone, which refuses data of many graphs before anything is trained."""

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, sizes: Sizes, **options: Any
    ) -> None:
        if not sizes.n_nodes:
            raise BadValue(f"the task of {type(self).__name__}", "many graphs", "nodes or links of one graph")
        super().__init__(in_channels, hidden_channels, out_channels, **options)
