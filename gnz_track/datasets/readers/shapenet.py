"""Points on shapes, each labelled by the part it belongs to."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import KDTree
from torch_geometric.data import Data

from gnz_track.datasets.readers.bundles import read_bundle
from gnz_track.datasets.readers.edge_arrays import both_ways

__all__ = ["read_shapenet"]

_ROOT = "shapenetcore_partanno_segmentation_benchmark_v0_normal"
_N_COLUMNS = 7


def read_shapenet(folder: Path, *, k: int) -> list[Data]:
    """Read point clouds: pos and normals x ``[n, 3]``, part labels y ``[n]``, masks ``[n]`` of the published parts.

    The clouds have no edges; each point is joined to its ``k`` nearest. Yi et al.: A Scalable Active Framework for
    Region Annotation in 3D Shape Collections, 2016.
    """
    files = read_bundle(folder, archive=f"{_ROOT}.zip", suffix=".txt")
    clouds = {"/".join(path.parts[-2:]): content for path, content in files}
    lists = read_bundle(folder, archive=f"{_ROOT}.zip", suffix="_file_list.json")
    parts = {path.stem.split("_")[1]: json.loads(content) for path, content in lists}
    return [
        _cloud_graph(clouds["/".join(name.split("/")[-2:]) + ".txt"], part, k)
        for part in ("train", "val", "test")
        for name in sorted(parts[part])
    ]


def _cloud_graph(content: bytes, part: str, k: int) -> Data:
    points = np.loadtxt(io.BytesIO(content), dtype=np.float32, ndmin=2)
    if points.shape[1] != _N_COLUMNS:
        message = f"a point cloud has {points.shape[1]} columns, {_N_COLUMNS} are expected"
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
