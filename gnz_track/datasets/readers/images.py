"""Images turned into graphs of regions: MNIST and CIFAR-10 as published, and grey images in a table."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs, parts_of_sizes
from gnz_track.datasets.generators.images import superpixels
from gnz_track.datasets.readers.restricted_pickle import load_arrays

__all__ = ["read_cifar10_regions", "read_image_regions", "read_mnist_regions"]

Array = np.ndarray[Any, Any]
# The first training images validate, as published.
_N_VAL = 5_000
# What an array of bytes begins with, in the second to last byte.
_BYTES = 0x800
_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))


def read_mnist_regions(folder: Path, *, sizes: tuple[int, int, int], n_regions: int) -> PartedGraphs:
    """Read digits as graphs of regions: x ``[n, 3]`` are mean grey and place, y ``[1]`` the digit.

    Each region is joined to the eight most similar ones, edge_attr ``[m, 1]`` how similar they are. LeCun, Cortes,
    Burges: The MNIST database, 1998.

    Parameters
    ----------
    folder
    sizes
        First graphs of each part.
    n_regions
        About how many regions an image has.
    """
    train, test = (
        (_read_idx(folder / f"{part}-images-idx3-ubyte.gz", 3), _read_idx(folder / f"{part}-labels-idx1-ubyte.gz", 1))
        for part in ("train", "t10k")
    )
    return _parted_regions(train, test, sizes, n_regions)


def read_cifar10_regions(folder: Path, *, sizes: tuple[int, int, int], n_regions: int) -> PartedGraphs:
    """Read photographs as graphs of regions: x ``[n, 5]`` are mean colour and place, y ``[1]`` the class.

    Edges as :func:`read_mnist_regions` has them. Krizhevsky: Learning multiple layers of features, 2009.

    Parameters
    ----------
    folder, sizes, n_regions
        As :func:`read_mnist_regions` takes them.
    """
    return _parted_regions(_read_batches(folder, _BATCHES), _read_batches(folder, ("test_batch",)), sizes, n_regions)


def read_image_regions(folder: Path, *, file: str, per_class: int, n_regions: int, edges: str) -> Iterator[Data]:
    """Yield the first images of each class, in their order, as graphs of regions.

    A row holds the pixels of a square image, 0 to 255, and its class in the last column. x ``[n, 4]`` and y ``[1]`` are
    those of :func:`superpixels`.

    Parameters
    ----------
    folder
    file
        The table; it may be gzipped.
    per_class
        Images of a class.
    n_regions, edges
        As :func:`superpixels` takes them.
    """
    rows = list(_read_images(folder / file, per_class))
    images, classes = [image for image, _ in rows], [number for _, number in rows]
    yield from superpixels(images, classes, n_regions=n_regions, edges=edges)


def _parted_regions(
    train: tuple[Array, Array], test: tuple[Array, Array], sizes: tuple[int, int, int], n_regions: int
) -> PartedGraphs:
    n_val = min(_N_VAL, len(train[0]) - 1)
    rest, val = tuple(column[n_val:] for column in train), tuple(column[:n_val] for column in train)
    parts = [tuple(column[:size] for column in part) for part, size in zip((rest, val, test), sizes, strict=True)]
    split = parts_of_sizes(*(len(part[0]) for part in parts))
    return PartedGraphs(chain.from_iterable(_region_graphs(*part, n_regions) for part in parts), split)


def _region_graphs(images: Array, labels: Array, n_regions: int) -> Iterator[Data]:
    for graph in superpixels(images, labels.tolist(), n_regions=n_regions, edges="similar"):
        # The published features tell nothing of how large a region is.
        graph.x = graph.x[:, :-1].contiguous()
        yield graph


def _read_idx(path: Path, n_dimensions: int) -> Array:
    """Read an array of bytes: a magic number, the length of each dimension, and all values."""
    with gzip.open(path) as file:
        content = file.read()
    magic = int.from_bytes(content[:4], "big")
    if magic != _BYTES + n_dimensions:
        message = f"{path.name} begins with {magic:#x}, not as an array of bytes with {n_dimensions} dimensions does"
        raise ValueError(message)
    shape = np.frombuffer(content, dtype=">u4", count=n_dimensions, offset=4).astype(int).tolist()
    return np.frombuffer(content, dtype=np.uint8, offset=4 * (1 + n_dimensions)).reshape(shape)


def _read_batches(folder: Path, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Read images ``[n, 32, 32, 3]`` and classes ``[n]`` of several files."""
    found = [load_arrays(folder / name) for name in names]
    images = np.concatenate([np.asarray(batch["data"]) for batch in found]).reshape(-1, 3, 32, 32)
    return images.transpose(0, 2, 3, 1), np.concatenate([np.array(batch["labels"]) for batch in found])


def _read_images(path: Path, per_class: int) -> Iterator[tuple[Array, int]]:
    opened = gzip.open if path.suffix == ".gz" else open
    seen: Counter[int] = Counter()
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            *pixels, last = line.split(",")
            if not pixels or seen[int(last)] >= per_class:
                continue
            seen[int(last)] += 1
            side = math.isqrt(len(pixels))
            yield np.array(pixels, dtype=np.uint8).reshape(side, side), int(last)
