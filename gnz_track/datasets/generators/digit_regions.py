"""Images as graphs of regions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch_geometric.data import Data

from gnz_track.datasets.generators.superpixels import join_touching, measure_regions

__all__ = ["digits_regions"]

Array = np.ndarray[Any, Any]

_BRIGHTEST = 16.0


def digits_regions(*, grid: int, intensity_weight: float, n_rounds: int) -> list[Data]:
    """Turn the 1,797 handwritten 8 x 8 digits of scikit-learn into graphs of regions.

    x ``[n, 4]``: mean intensity, centroid row and column in [0, 1], share of the pixels; edges join regions that touch;
    y ``[1]`` the digit. Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998.

    Parameters
    ----------
    grid
        An image has about ``grid ** 2`` regions.
    intensity_weight
        Weight of intensity against place.
    n_rounds
        Rounds of k-means.
    """
    digits = load_digits()
    images = digits.images / _BRIGHTEST
    labels = _regions_of(images, grid=grid, intensity_weight=intensity_weight, n_rounds=n_rounds)
    pairs = zip(images, labels, digits.target, strict=True)
    return [_digit_graph(image, label, int(digit)) for image, label, digit in pairs]


def _regions_of(images: Array, *, grid: int, intensity_weight: float, n_rounds: int) -> Array:
    """Return the region number of every pixel, ``[n_images, n_pixels]``, by k-means on place and intensity.

    ``images [n_images, side, side]`` in [0, 1]. Regions start as the squares of a ``grid`` x ``grid`` division, so that
    nothing is random. After Achanta et al., SLIC Superpixels, TPAMI 2012.
    """
    n_images, side, _ = images.shape
    place = (np.stack(np.divmod(np.arange(side * side), side), axis=1) + 0.5) / side
    flat = images.reshape(n_images, -1, 1) * intensity_weight
    pixels = np.concatenate([np.broadcast_to(place, (n_images, *place.shape)), flat], axis=2)
    start = (place * grid).astype(int)
    labels = np.broadcast_to(start[:, 0] * grid + start[:, 1], (n_images, side * side))
    for _ in range(n_rounds):
        member = np.eye(grid * grid)[labels]
        size = member.sum(axis=1)
        centre = np.einsum("ipr,ipc->irc", member, pixels) / np.maximum(size, 1)[:, :, None]
        distance = ((pixels[:, :, None, :] - centre[:, None, :, :]) ** 2).sum(axis=3)
        # Rounded, so that ties fall to the lower number on every machine; empty regions attract nothing.
        labels = np.where(size[:, None, :] > 0, distance.round(9), np.inf).argmin(axis=2)
    return labels


def _digit_graph(image: Array, labels: Array, target: int) -> Data:
    regions = np.unique(labels, return_inverse=True)[1].reshape(image.shape)
    return Data(
        x=torch.from_numpy(measure_regions(image[:, :, None], regions).astype(np.float32)),
        edge_index=torch.from_numpy(join_touching(regions)),
        y=torch.tensor([target]),
    )
