"""Shapes as meshes in the Object File Format, turned into graphs of their edges."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.bundles import read_bundle
from gnz_track.datasets.readers.edge_arrays import both_ways, rank
from gnz_track.datasets.readers.published_parts import GraphParts, with_validation

__all__ = ["parse_off", "read_modelnet"]


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
