"""Images as graphs of regions, meshes as graphs of their edges, and clouds of points labelled by their part."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.spatial import KDTree
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs, parts_of_sizes
from gnz_track.datasets.generators.images import superpixels
from gnz_track.datasets.readers.raw_files import GraphParts, both_ways, rank, read_bundle, with_validation
from gnz_track.datasets.readers.restricted_pickle import load_arrays

__all__ = [
    "parse_off",
    "read_cifar10_regions",
    "read_image_regions",
    "read_mnist_regions",
    "read_modelnet",
    "read_shapenet",
]

Array = np.ndarray[Any, Any]
_SHAPENET = "shapenetcore_partanno_segmentation_benchmark_v0_normal"
_SHAPENET_COLUMNS = 7
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


def read_modelnet(folder: Path, *, archive: str) -> GraphParts:
    """Read meshes as graphs: x and pos ``[n, 3]`` are the corners, edges those of the faces, y ``[1]`` the class.

    Wu et al.: 3D ShapeNets: A Deep Representation for Volumetric Shapes, CVPR 2015.
    """
    parts: dict[str, list[tuple[str, str, Data]]] = {"train": [], "test": []}
    for path, content in read_bundle(folder, archive=archive, suffix=".off"):
        kind, part = path.parts[-3:-1]
        parts[part].append((kind, path.name, parse_off(content.decode("utf-8"))))
    kinds = rank(kind for kind, _, _ in parts["train"])
    for kind, _, graph in (*parts["train"], *parts["test"]):
        graph.y = torch.tensor([kinds[kind]])
    train, test = ([graph for _, _, graph in sorted(part, key=lambda row: row[:2])] for part in parts.values())
    return with_validation(train, test)


def read_shapenet(folder: Path, *, k: int) -> list[Data]:
    """Read point clouds: pos and normals x ``[n, 3]``, part labels y ``[n]``, masks ``[n]`` of the published parts.

    The clouds have no edges; each point is joined to its ``k`` nearest. Yi et al.: A Scalable Active Framework for
    Region Annotation in 3D Shape Collections, 2016.
    """
    files = read_bundle(folder, archive=f"{_SHAPENET}.zip", suffix=".txt")
    clouds = {"/".join(path.parts[-2:]): content for path, content in files}
    lists = read_bundle(folder, archive=f"{_SHAPENET}.zip", suffix="_file_list.json")
    parts = {path.stem.split("_")[1]: json.loads(content) for path, content in lists}
    return [
        _cloud_graph(clouds["/".join(name.split("/")[-2:]) + ".txt"], part, k)
        for part in ("train", "val", "test")
        for name in sorted(parts[part])
    ]


def parse_off(text: str) -> Data:
    """Parse one mesh; polygons are cut into triangles from their first corner.

    Some files of the collection have no line break after the word ``OFF``.
    """
    lines = (line.partition("#")[0].strip() for line in text.removeprefix("OFF").splitlines())
    rows = [line.split() for line in lines if line]
    n_corners, n_faces = int(rows[0][0]), int(rows[0][1])
    if len(rows) < 1 + n_corners + n_faces:
        message = f"{len(rows) - 1} lines for {n_corners} corners and {n_faces} faces"
        raise ValueError(message)
    pos = torch.from_numpy(np.array([row[:3] for row in rows[1 : 1 + n_corners]], dtype=np.float32).reshape(-1, 3))
    links: list[tuple[int, int]] = []
    for row in rows[1 + n_corners : 1 + n_corners + n_faces]:
        first, *others = (int(corner) for corner in row[1 : 1 + int(row[0])])
        links.extend((first, other) for other in others)
        links.extend(itertools.pairwise(others))
    edges = torch.tensor(links, dtype=torch.int64).reshape(-1, 2).t()
    return Data(x=pos, pos=pos, edge_index=both_ways(edges, n_corners))


def _cloud_graph(content: bytes, part: str, k: int) -> Data:
    points = np.loadtxt(io.BytesIO(content), dtype=np.float32, ndmin=2)
    if points.shape[1] != _SHAPENET_COLUMNS:
        message = f"a point cloud has {points.shape[1]} columns, {_SHAPENET_COLUMNS} are expected"
        raise ValueError(message)
    n_points = len(points)
    k = min(k, n_points - 1)
    nearest = torch.from_numpy(KDTree(points[:, :3]).query(points[:, :3], k=k + 1)[1][:, 1:].reshape(-1))
    source = torch.arange(n_points).repeat_interleave(k)
    masks = {f"{name}_mask": torch.full((n_points,), name == part) for name in ("train", "val", "test")}
    return Data(
        pos=torch.from_numpy(points[:, :3].copy()),
        x=torch.from_numpy(points[:, 3:6].copy()),
        y=torch.from_numpy(points[:, 6].astype(np.int64)),
        edge_index=both_ways(torch.stack([source, nearest.long()]), n_points),
        **masks,
    )
