"""Grey images as rows of a table, turned into graphs of regions."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from gnz_track.datasets.generators.superpixels import superpixels

__all__ = ["read_image_regions"]

Array = np.ndarray[Any, Any]


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
