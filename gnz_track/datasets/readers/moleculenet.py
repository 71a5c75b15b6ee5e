"""Molecules written as SMILES, with a measured property each; needs rdkit."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from torch_geometric.data import Data
from torch_geometric.utils import from_smiles

__all__ = ["read_moleculenet"]


def read_moleculenet(folder: Path, *, file: str, target: str) -> list[Data]:
    """Read x ``[n, 9]`` and edge_attr ``[m, 3]`` whole numbers, y ``[1]`` float32.

    Wu et al.: MoleculeNet: A Benchmark for Molecular Machine Learning, 2018.

    Parameters
    ----------
    folder, file
    target
        Column of the property.
    """
    table = pd.read_csv(folder / file)
    graphs: list[Data] = []
    for smiles, value in zip(table["smiles"], table[target], strict=True):
        graph = from_smiles(smiles)
        graph.y = torch.tensor([value], dtype=torch.float32)
        graphs.append(graph)
    return graphs
