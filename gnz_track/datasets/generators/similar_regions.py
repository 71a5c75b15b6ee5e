"""Regions of an image joined to those most like them, in place and colour together."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["join_similar", "similarity"]

Array = np.ndarray[Any, Any]

_NEIGHBOURS = 8
_LEAST_SCALE = 1e-8


def join_similar(colours: Array, places: Array, k: int) -> tuple[Array, Array]:
    """Return the edges ``[2, n * k]`` of each region to the most similar others, and how similar ``[n * k]``.

    Edges have a direction: whom a region is most like need not be most like it.

    Parameters
    ----------
    colours, places
        Mean colours ``[n, c]`` and centroids ``[n, 2]``.
    k
    """
    weight = similarity(colours, places)
    n = len(weight)
    # A region is not its own neighbour. Rounded, so that ties fall to the lower number on every machine.
    order = (-weight + np.diag(np.full(n, np.inf))).round(12).argsort(axis=1, kind="stable")[:, : min(k, n - 1)]
    ends = np.stack([np.arange(n).repeat(order.shape[1]), order.ravel()])
    return ends, weight[ends[0], ends[1]]


def similarity(colours: Array, places: Array) -> Array:
    """Return ``[n, n]`` in [0, 1] from mean colours ``[n, c]`` and centroids ``[n, 2]``; nothing is like itself, 0.

    ``exp(-(d / s)^2 - (f / t)^2)`` of distances d and differences of colour f, each in units of its mean over the eight
    regions with the least of it, then the mean of both directions. Knyazev, Lin, Amer, Taylor: Image classification
    with hierarchical multigraph networks, BMVC 2019.
    """
    exponent = sum(np.square(_scaled(values)) for values in (places, colours))
    weight = np.exp(-exponent)
    np.fill_diagonal(weight, 0)
    found: Array = (weight + weight.T) / 2
    return found


def _scaled(values: Array) -> Array:
    """Return distances ``[n, n]`` between rows, each row in units of its mean over the nearest ones."""
    distance = np.sqrt(np.square(values[:, None] - values[None]).sum(axis=2))
    n_near = min(_NEIGHBOURS, max(len(values) - 1, 1))
    # The least distance is that to itself, 0.
    near = np.sort(distance, axis=1)[:, : n_near + 1].sum(axis=1) / n_near
    scaled: Array = distance / (near + _LEAST_SCALE)[:, None]
    return scaled
