"""Sums, means and maxima over the edges that enter each node."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["count_incoming", "largest_to", "mean_to", "normalise_both", "softmax_to", "sum_to"]


def sum_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the sum of what enters each node ``[n_nodes, width]``.

    Parameters
    ----------
    values
        what edges carry ``[n_edges, width]``
    targets
        the nodes that edges enter ``[n_edges]``
    n_nodes
        how many nodes there are
    """
    return values.new_zeros((n_nodes, *values.shape[1:])).index_add_(0, targets, values)


def count_incoming(targets: Tensor, n_nodes: int, like: Tensor) -> Tensor:
    """Return how many edges enter each node ``[n_nodes, 1]``.

    Parameters
    ----------
    targets
        the nodes that edges enter ``[n_edges]``
    n_nodes
        how many nodes there are
    like
        a tensor of the wanted dtype
    """
    return torch.bincount(targets, minlength=n_nodes).to(like.dtype).unsqueeze(1)


def mean_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the mean of what enters each node ``[n_nodes, width]``; one that no edge enters gets zeros.

    Parameters
    ----------
    values, targets, n_nodes
        those of :func:`sum_to`
    """
    return sum_to(values, targets, n_nodes) / count_incoming(targets, n_nodes, values).clamp_(min=1)


def largest_to(values: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return the largest of what enters each node ``[n_nodes, width]``; one that no edge enters gets zeros.

    Parameters
    ----------
    values, targets, n_nodes
        those of :func:`sum_to`
    """
    index = targets.unsqueeze(1).expand_as(values)
    start = values.new_zeros((n_nodes, values.size(1)))
    return start.scatter_reduce(0, index, values, reduce="amax", include_self=False)


def softmax_to(scores: Tensor, targets: Tensor, n_nodes: int) -> Tensor:
    """Return weights ``[n_edges, heads]`` that sum to 1 over the edges that enter a node.

    Parameters
    ----------
    scores
        logarithms of the weights, up to a sum for each node ``[n_edges, heads]``
    targets, n_nodes
        those of :func:`sum_to`
    """
    largest = largest_to(scores.detach(), targets, n_nodes)
    weights = (scores - largest.index_select(0, targets)).exp()
    return weights / sum_to(weights, targets, n_nodes).index_select(0, targets)


def normalise_both(edge_index: Tensor, n_nodes: int, like: Tensor) -> Tensor:
    """Return ``1 / sqrt(out-degree of the source * in-degree of the target)`` of each edge ``[n_edges, 1]``.

    On undirected graphs this is the symmetric normalisation of Kipf and Welling (2017), without loops.

    Parameters
    ----------
    edge_index
        sources and targets ``[2, n_edges]``
    n_nodes
        how many nodes there are
    like
        a tensor of the wanted dtype
    """
    source, target = edge_index
    leaving = count_incoming(source, n_nodes, like).index_select(0, source)
    entering = count_incoming(target, n_nodes, like).index_select(0, target)
    return (leaving * entering).rsqrt_()
