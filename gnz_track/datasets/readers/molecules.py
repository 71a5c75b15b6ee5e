"""Molecules and peptides: as types of atoms and bonds, logical facts, SMILES, and atoms in space."""

from __future__ import annotations

import collections
import io
import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch._utils import _rebuild_tensor_v2
from torch.nn.functional import one_hot
from torch_geometric.data import Data
from torch_geometric.utils import from_smiles

from gnz_track.datasets.readers.raw_files import GraphParts, rank, read_lines
from gnz_track.datasets.readers.restricted_pickle import load_arrays, load_tensors

__all__ = ["read_aqsol", "read_ground_facts", "read_moleculenet", "read_peptides", "read_xyz_energies", "read_zinc"]

Array = np.ndarray[Any, Any]
_PARTS = ("train", "val", "test")
_FACTS, _LABELS = "examples.txt", "queries.txt"
# A molecule is a line: <1> bond(0, 1, 2),<1> b_0(2),<1> atom_5(0),<1> atom_3(1).
_FACT = re.compile(r"(?:<[^<>]*>\s*)?([a-z]\w*)\(([\d,\s]*)\)\s*([,.])\s*")
_TYPED = re.compile(r"(atom|b)_(\d+)")
# Angstrom; Cordero et al., Covalent radii revisited, Dalton Transactions, 2008.
_RADII = {"H": 0.31, "C": 0.76, "N": 0.71, "O": 0.66, "S": 1.05}
_LONGEST_BOND = 1.25
_KCAL_MOL_PER_EV = 23.060548


def read_zinc(folder: Path, *, is_subset: bool) -> GraphParts:
    """Read x ``[n, 1]`` and edge_attr ``[m]`` whole numbers, y ``[1]`` the penalised logP; the subset is 12,000.

    Dwivedi et al.: Benchmarking Graph Neural Networks, 2023; Irwin et al.: ZINC, 2012.
    """
    train, val, test = (_zinc_part(folder, part, is_subset=is_subset) for part in _PARTS)
    return train, val, test


def read_aqsol(folder: Path) -> GraphParts:
    """Read x ``[n]`` and edge_attr ``[m]`` whole numbers, y ``[1]`` log solubility; none without bonds.

    Dwivedi et al.: Benchmarking Graph Neural Networks, 2023; Sorkun, Khetan, Er: AqSolDB, 2019.
    """
    train, val, test = (
        [_aqsol_graph(*record) for record in load_arrays(folder / f"{part}.pickle") if record[2].size]
        for part in _PARTS
    )
    return train, val, test


def read_peptides(folder: Path) -> GraphParts:
    """Read peptides: x ``[n, 9]`` and edge_attr ``[m, 3]`` whole numbers, y ``[1, k]`` float32, three published parts.

    Dwivedi et al.: Long Range Graph Benchmark, NeurIPS 2022.
    """
    fields = ("x", "edge_attr", "edge_index", "y")
    train, val, test = (
        [Data(**dict(zip(fields, graph, strict=True))) for graph in load_tensors(folder / f"{part}.pt")]
        for part in ("train", "val", "test")
    )
    return train, val, test


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


def read_ground_facts(folder: Path) -> list[Data]:
    """Read molecules: x ``[n, atom types]`` and edge_attr ``[m, bond types]`` one-hot, y ``[1]`` the answer, 0 or 1.

    ``bond(i, j, k)`` joins two atoms by bond k, ``atom_t(i)`` and ``b_t(k)`` type an atom and a bond; types are
    numbered by rank, atoms by their own number. The first word of a line of ``queries.txt`` is the answer.
    """
    molecules = [_parse_molecule(line, number) for number, line in enumerate(read_lines(folder / _FACTS), start=1)]
    answers = [int(float(line.split()[0])) for line in read_lines(folder / _LABELS)]
    if len(molecules) != len(answers):
        message = f"{len(molecules)} molecules in {_FACTS}, {len(answers)} answers in {_LABELS}"
        raise ValueError(message)
    atom_types = rank(kind for molecule in molecules for kind in molecule.atoms.values())
    bond_types = rank(kind for molecule in molecules for kind in molecule.bond_types.values())
    pairs = zip(molecules, answers, strict=True)
    return [_molecule_graph(molecule, answer, atom_types, bond_types) for molecule, answer in pairs]


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


def _zinc_part(folder: Path, part: str, *, is_subset: bool) -> list[Data]:
    with (folder / f"{part}.pickle").open("rb") as file:
        molecules = _TensorsOnly(file).load()
    chosen = list(range(len(molecules)))
    if is_subset:
        numbers = (folder / f"{part}.index").read_text(encoding="utf-8")
        chosen = [int(number) for number in numbers.replace("\n", ",").split(",") if number.strip()]
    return [_zinc_graph(molecules[place]) for place in chosen]


def _zinc_graph(molecule: dict[str, Any]) -> Data:
    bonds = molecule["bond_type"]
    edges = bonds.nonzero().t().contiguous()
    return Data(
        x=molecule["atom_type"].long().reshape(-1, 1),
        edge_index=edges,
        edge_attr=bonds[edges[0], edges[1]].long(),
        y=molecule["logP_SA_cycle_normalized"].float().reshape(1),
    )


def _read_storage(content: bytes) -> Any:
    """Read the numbers of one tensor, which pickles of Torch carry as a file inside the file."""
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)


def _rebuild_tensor(*parts: Any) -> Tensor:
    found: Tensor = _rebuild_tensor_v2(*parts)
    return found


_ADMITTED: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch.storage", "_load_from_bytes"): _read_storage,
    ("collections", "OrderedDict"): collections.OrderedDict,
}


class _TensorsOnly(pickle.Unpickler):
    """Loads tensors and plain containers; refuses every other name."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            message = f"the pickle asks for {module}.{name}, which is neither a tensor nor a plain container"
            raise pickle.UnpicklingError(message) from None


def _aqsol_graph(x: Any, edge_attr: Any, edge_index: Any, y: Any) -> Data:
    atoms, bonds, edges = (torch.tensor(part.tolist(), dtype=torch.int64) for part in (x, edge_attr, edge_index))
    return Data(x=atoms, edge_index=edges, edge_attr=bonds, y=torch.tensor([float(y)]))


@dataclass(frozen=True)
class _Molecule:
    atoms: dict[int, int] = field(default_factory=dict)
    bond_types: dict[int, int] = field(default_factory=dict)
    bonds: dict[tuple[int, int], int] = field(default_factory=dict)


def _parse_molecule(line: str, number: int) -> _Molecule:
    molecule, at, end = _Molecule(), 0, ""
    while at < len(line) and end != ".":
        found = _FACT.match(line, at)
        if found is None:
            message = f"molecule {number}: no fact at {line[at : at + 40]!r}"
            raise ValueError(message)
        _add_fact(molecule, found[1], [int(word) for word in found[2].split(",")], number)
        at, end = found.end(), found[3]
    ends = {atom for pair in molecule.bonds for atom in pair}
    unknown = sorted(ends - set(molecule.atoms)) or sorted(set(molecule.bonds.values()) - set(molecule.bond_types))
    if end != "." or at < len(line) or unknown:
        reason = f"{unknown[0]} has no type" if unknown else "it does not end at its full stop"
        message = f"molecule {number}: {reason}"
        raise ValueError(message)
    return molecule


def _add_fact(molecule: _Molecule, name: str, terms: Sequence[int], number: int) -> None:
    typed = _TYPED.fullmatch(name)
    if name == "bond" and len(terms) == 3:
        molecule.bonds[terms[0], terms[1]] = terms[2]
        return
    if typed is None or len(terms) != 1:
        message = f"molecule {number}: {name} of {len(terms)} terms is no fact on atoms or bonds"
        raise ValueError(message)
    known = molecule.atoms if typed[1] == "atom" else molecule.bond_types
    if known.setdefault(terms[0], int(typed[2])) != int(typed[2]):
        message = f"molecule {number}: {name}({terms[0]}) is a second type of it"
        raise ValueError(message)


def _molecule_graph(molecule: _Molecule, answer: int, atom_types: dict[int, int], bond_types: dict[int, int]) -> Data:
    place = rank(molecule.atoms)
    bonds = sorted((place[one], place[other], bond) for (one, other), bond in molecule.bonds.items())
    atoms = torch.tensor([atom_types[molecule.atoms[atom]] for atom in sorted(place)])
    kinds = torch.tensor([bond_types[molecule.bond_types[bond]] for _, _, bond in bonds], dtype=torch.int64)
    return Data(
        x=one_hot(atoms, len(atom_types)).float(),
        edge_index=torch.tensor([bond[:2] for bond in bonds], dtype=torch.int64).reshape(-1, 2).t().contiguous(),
        edge_attr=one_hot(kinds, len(bond_types)).float(),
        y=torch.tensor([answer]),
    )


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
    is_bonded = (length < _LONGEST_BOND * (radii[:, None] + radii[None])) & ~np.eye(n, dtype=bool)
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
