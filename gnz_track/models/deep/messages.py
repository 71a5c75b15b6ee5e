"""Sums, means and maxima over the edges that enter each node."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["count_incoming", "largest_to", "mean_to", "normalise_both", "softmax_to", "sum_to"]


def sum_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the sum ``[n_nodes, width]`` of values ``[n_edges, width]`` at their targets ``[n_edges]``."""
    return values.new_zeros((n_nodes, *values.shape[1:])).index_add_(0, targets, values)


def count_incoming(targets: Tensor, n_nodes: int, like: Tensor) -> Tensor:
    """Return how many edges end at each node ``[n_nodes, 1]``, in the numbers of another tensor."""
    return torch.bincount(targets, minlength=n_nodes).to(like.dtype).unsqueeze(1)


def mean_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the mean ``[n_nodes, width]``; a node that no edge enters gets zeros."""
    return sum_to(values, targets, n_nodes) / count_incoming(targets, n_nodes, values).clamp_(min=1)


def largest_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the largest number ``[n_nodes, width]``; a node that no edge enters gets zeros."""
    index = targets.unsqueeze(1).expand_as(values)
    start = values.new_zeros((n_nodes, values.size(1)))
    return start.scatter_reduce(0, index, values, reduce="amax", include_self=False)


def softmax_to(scores: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return scores ``[n_edges, heads]`` as weights that sum to 1 over the edges that enter a node."""
    largest = largest_to(scores.detach(), targets, n_nodes)
    weights = (scores - largest.index_select(0, targets)).exp()
    return weights / sum_to(weights, targets, n_nodes).index_select(0, targets)


def normalise_both(edge_index: Tensor, n_nodes: int, like: Tensor) -> Tensor:
    """Return ``1 / sqrt(out-degree of the source * in-degree of the target)`` of each edge ``[n_edges, 1]``.

    On undirected graphs this is the symmetric normalisation of Kipf and Welling (2017), without loops.
    """
    source, target = edge_index
    leaving = count_incoming(source, n_nodes, like).index_select(0, source)
    entering = count_incoming(target, n_nodes, like).index_select(0, target)
    return (leaving * entering).rsqrt_()
