"""Molecules as atoms in space, one XYZ file each, with their energies in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.bundles import read_lines

__all__ = ["read_xyz_energies"]

Array = np.ndarray[Any, Any]

# Angstrom; Cordero et al., Covalent radii revisited, Dalton Transactions, 2008.
_RADII = {"H": 0.31, "C": 0.76, "N": 0.71, "O": 0.66, "S": 1.05}
_LONGEST = 1.25
_KCAL_MOL_PER_EV = 23.060548


def read_xyz_energies(folder: Path, *, energies: str, structures: str, centre: float, every: int = 1) -> list[Data]:
    """Read molecules: x ``[n, 6]`` element one-hot and mean bond length, edge_attr ``[m, 1]`` length, y ``[1, 1]``.

    Atoms are bonded where they are nearer than 1.25 times the sum of their covalent radii (Angstrom).

    Parameters
    ----------
    folder
    energies
        File whose lines begin with an energy in kcal/mol; y is that energy in eV per atom, minus ``centre``.
    structures
        Folder of the files ``*.xyz``.
    centre
    every
        Of the molecules by name, the first and each ``every``-th after it are read.
    """
    table = [line.split() for line in read_lines(folder / energies)]
    paths = sorted((folder / structures).glob("*.xyz"))[::every]
    energy_of = {name: float(energy) for name, energy, *_ in table}
    return [_bonded_graph(*_read_atoms(path), energy_of[path.name], centre) for path in paths]


def _read_atoms(path: Path) -> tuple[Array, Array]:
    """Return element numbers ``[n]`` and places ``[n, 3]``."""
    lines = path.read_text(encoding="utf-8").splitlines()
    n_atoms = int(lines[0])
    rows = [line.split() for line in lines[2 : 2 + n_atoms]]
    if len(rows) != n_atoms or n_atoms < 1:
        message = f"{path.name} announces {n_atoms} atoms and lists {len(rows)}"
        raise ValueError(message)
    numbers = {element: number for number, element in enumerate(_RADII)}
    elements = np.array([numbers[row[0].capitalize()] for row in rows])
    return elements, np.array([[float(word) for word in row[1:4]] for row in rows])


def _bonded_graph(elements: Array, places: Array, energy: float, centre: float) -> Data:
    n = len(elements)
    radii = np.array(list(_RADII.values()))[elements]
    length = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    is_bonded = (length < _LONGEST * (radii[:, None] + radii[None])) & ~np.eye(n, dtype=bool)
    # Rounded, so that another order of summation on another machine gives the same number.
    bonds, lengths = np.stack(is_bonded.nonzero()), length[is_bonded].round(6)
    mean_length = np.bincount(bonds[0], weights=lengths, minlength=n) / np.maximum(is_bonded.sum(axis=1), 1)
    x = np.concatenate([np.eye(len(_RADII))[elements], mean_length[:, None].round(6)], axis=1)
    target = energy / (_KCAL_MOL_PER_EV * n) - centre
    return Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.from_numpy(bonds.astype(np.int64)),
        edge_attr=torch.from_numpy(lengths[:, None].astype(np.float32)),
        y=torch.tensor([[round(target, 8)]], dtype=torch.float32),
    )
