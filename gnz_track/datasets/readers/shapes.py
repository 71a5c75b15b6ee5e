"""Shapes: meshes in the Object File Format as graphs of their edges, and points labelled by their part."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import KDTree
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import GraphParts, both_ways, rank, read_bundle, with_validation

__all__ = ["parse_off", "read_modelnet", "read_shapenet"]

_SHAPENET = "shapenetcore_partanno_segmentation_benchmark_v0_normal"
_SHAPENET_COLUMNS = 7


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
