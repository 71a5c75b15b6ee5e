"""Images as graphs of regions, one after another: nothing but the image at hand is in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.errors import BadValue

__all__ = [
    "digits_regions",
    "find_regions",
    "join_similar",
    "join_touching",
    "measure_regions",
    "similarity",
    "superpixels",
]

Array = np.ndarray[Any, Any]
_SCALE_NEIGHBOURS = 8
_LEAST_SCALE = 1e-8
_ROUNDS = 5
_BRIGHTEST_DIGIT = 16.0


def superpixels(
    images: Iterable[Array],
    labels: Iterable[int | float] | None = None,
    *,
    n_regions: int = 75,
    compactness: float = 0.25,
    edges: str = "nearest",
    k: int = 8,
) -> Iterator[Data]:
    """Yield one graph of regions for each image.

    x ``[n, c + 3]`` are mean colour, row and column of the centroid in [0, 1], and share of the pixels; y ``[1]`` is
    the label. Design: Knyazev, Lin, Amer, Taylor, Image classification with hierarchical multigraph networks, BMVC
    2019.

    Parameters
    ----------
    images
        Each ``[h, w]`` or ``[h, w, c]``: whole numbers from 0 to 255, or real ones from 0 to 1.
    labels
    n_regions
        About how many regions an image has.
    compactness
        Weight of place against colour.
    edges
        Join the ``k`` "nearest" centroids (both ways), "touching" regions, or each to the ``k`` most "similar" in place
        and colour, with edge_attr ``[m, 1]``.
    k
    """
    if edges not in _JOINERS:
        raise BadValue("edges", edges, " or ".join(_JOINERS))
    if n_regions < 1 or k < 1 or compactness <= 0:
        raise BadValue("n_regions, k and compactness", (n_regions, k, compactness), "numbers above zero")
    for number, (image, label) in enumerate(_paired(images, labels)):
        colours = _colours(image, number)
        regions = find_regions(colours, n_regions=n_regions, compactness=compactness)
        x = measure_regions(colours, regions)
        ends, weight = _JOINERS[edges](regions, x, k)
        graph = Data(x=torch.from_numpy(x.astype(np.float32)), edge_index=torch.from_numpy(ends))
        if weight is not None:
            graph.edge_attr = torch.from_numpy(weight.astype(np.float32)).unsqueeze(1)
        if label is not None:
            graph.y = torch.tensor([label])
        yield graph


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
    # Images of other origins need none of it.
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = digits.images / _BRIGHTEST_DIGIT
    labels = _regions_of(images, grid=grid, intensity_weight=intensity_weight, n_rounds=n_rounds)
    pairs = zip(images, labels, digits.target, strict=True)
    return [_digit_graph(image, label, int(digit)) for image, label, digit in pairs]


def find_regions(image: Array, *, n_regions: int, compactness: float) -> Array:
    """Return the region of every pixel as ``[h, w]``, numbered from 0 without gaps.

    k-means on place and colour from a regular grid; a pixel chooses among the nine regions that began around it
    (Achanta et al., SLIC superpixels, TPAMI 2012; Ren, Reid, gSLIC, 2011). Nothing is random, and a region need not be
    in one piece.

    Parameters
    ----------
    image
        ``[h, w, c]`` in [0, 1].
    n_regions, compactness
    """
    height, width, _ = image.shape
    board = _board(height, width, n_regions)
    place = board.place * compactness
    pixels = np.concatenate([place, image.reshape(height * width, -1)], axis=1)
    labels = board.start
    for _ in range(_ROUNDS):
        size = np.bincount(labels, minlength=board.n_cells)
        sums = [np.bincount(labels, weights=column, minlength=board.n_cells) for column in pixels.T]
        centres = np.stack(sums, axis=1) / np.maximum(size, 1)[:, None]
        # Without a region there is nothing to be near to; the last row stands for cells beyond the border.
        centres = np.concatenate([np.where(size[:, None] > 0, centres, np.inf), np.full((1, centres.shape[1]), np.inf)])
        distance = np.square(pixels[:, None, :] - centres[board.candidates]).sum(axis=2)
        # Rounded, so that ties fall to the same region on every machine.
        nearest = distance.round(9).argmin(axis=1)
        labels = board.candidates[np.arange(height * width), nearest]
    return np.unique(labels, return_inverse=True)[1].reshape(height, width)


def measure_regions(image: Array, regions: Array) -> Array:
    """Return mean colour, row and column in [0, 1], and share of the pixels of regions ``[h, w]``: ``[n, c + 3]``."""
    height, width, n_colours = image.shape
    region = regions.ravel()
    size = np.bincount(region)
    row, column = np.divmod(np.arange(region.size), width)
    colours = image.reshape(-1, n_colours).T
    seen = [*colours, row / max(height - 1, 1), column / max(width - 1, 1)]
    sums = [np.bincount(region, weights=weights) for weights in seen]
    return np.stack([*(total / size for total in sums), size / region.size], axis=1)


def join_touching(regions: Array) -> Array:
    """Return the edges ``[2, m]``, both ways and sorted, between regions ``[h, w]`` that share a side of a pixel."""
    across = np.stack([regions[:, :-1].ravel(), regions[:, 1:].ravel()])
    down = np.stack([regions[:-1].ravel(), regions[1:].ravel()])
    touching = np.concatenate([across, down], axis=1)
    return _both_ways(touching[:, touching[0] != touching[1]], int(regions.max()) + 1)


def _join_nearest(centroids: Array, k: int) -> Array:
    n = len(centroids)
    distance = np.square(centroids[:, None] - centroids[None]).sum(axis=2).round(12)
    np.fill_diagonal(distance, np.inf)
    nearest = distance.argsort(axis=1, kind="stable")[:, : min(k, n - 1)]
    return _both_ways(np.stack([np.arange(n).repeat(nearest.shape[1]), nearest.ravel()]), n)


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
    n_near = min(_SCALE_NEIGHBOURS, max(len(values) - 1, 1))
    # The least distance is that to itself, 0.
    near = np.sort(distance, axis=1)[:, : n_near + 1].sum(axis=1) / n_near
    scaled: Array = distance / (near + _LEAST_SCALE)[:, None]
    return scaled


def _both_ways(ends: Array, n: int) -> Array:
    codes = np.unique(np.concatenate([ends[0] * n + ends[1], ends[1] * n + ends[0]]))
    return np.stack(np.divmod(codes, n)).astype(np.int64)


# How regions are joined -> edges of regions ``[h, w]`` with features ``[n, c + 3]``, and weights where there are any.
_JOINERS: dict[str, Callable[[Array, Array, int], tuple[Array, Array | None]]] = {
    "nearest": lambda _, x, k: (_join_nearest(x[:, -3:-1], k), None),
    "touching": lambda regions, _, __: (join_touching(regions), None),
    "similar": lambda _, x, k: join_similar(x[:, :-3], x[:, -3:-1], k),
}


@dataclass(frozen=True, eq=False)
class _Board:
    """Layout of images of one size: where pixels lie in units of a cell ``[p, 2]``, their cell and the nine around it.

    ``candidates [p, 9]`` has ``n_cells`` where the grid ends.
    """

    place: Array
    start: Array
    candidates: Array
    n_cells: int


@lru_cache(maxsize=8)
def _board(height: int, width: int, n_regions: int) -> _Board:
    spacing = math.sqrt(height * width / n_regions)
    # The shorter side first: what rounding adds to the number of regions is then about half of its root at most.
    short, long = sorted((height, width))
    n_short = min(short, max(1, round(short / spacing)))
    n_long = min(long, max(1, round(n_regions / n_short)))
    n_rows, n_columns = (n_short, n_long) if height <= width else (n_long, n_short)
    row, column = np.divmod(np.arange(height * width), width)
    cell_row, cell_column = row * n_rows // height, column * n_columns // width
    shifts = np.stack(np.divmod(np.arange(9), 3)) - 1
    rows, columns = cell_row[:, None] + shifts[0], cell_column[:, None] + shifts[1]
    is_inside = (rows >= 0) & (rows < n_rows) & (columns >= 0) & (columns < n_columns)
    candidates = np.where(is_inside, rows * n_columns + columns, n_rows * n_columns)
    place = np.stack([row + 0.5, column + 0.5], axis=1) / spacing
    return _Board(place, cell_row * n_columns + cell_column, candidates, n_rows * n_columns)


_MISSING = object()


def _paired(images: Iterable[Array], labels: Iterable[Any] | None) -> Iterator[tuple[Array, int | float | None]]:
    pairs = ((image, None) for image in images) if labels is None else zip_longest(images, labels, fillvalue=_MISSING)
    for number, (image, label) in enumerate(pairs):
        if image is _MISSING or label is _MISSING:
            more = "labels" if image is _MISSING else "images"
            raise BadValue(
                "the number of labels", f"not that of images: more {more} than {number}", "one for each image"
            )
        # A tensor of NumPy's numbers would have their type.
        yield image, label.item() if hasattr(label, "item") else label


def _colours(image: Array, number: int) -> Array:
    """Return an image as real numbers ``[h, w, c]`` in [0, 1]."""
    found = np.asarray(image)
    found = found[:, :, None] if found.ndim == 2 else found
    if found.ndim != 3 or 0 in found.shape or found.dtype.kind not in "uif":
        what = f"{found.dtype} {list(np.shape(image))}"
        raise BadValue(f"image {number}", what, "numbers of shape [h, w] or [h, w, c]")
    highest = 1 if found.dtype.kind == "f" else 255
    # Written so that NaN fails too.
    if not (found.min() >= 0 and found.max() <= highest):
        span = f"{found.dtype} from {found.min()} to {found.max()}"
        raise BadValue(f"image {number}", span, "whole numbers from 0 to 255 or real ones from 0 to 1")
    return found.astype(np.float64) / highest


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
