"""Molecules as logical facts, one molecule a line: ``<1> bond(0, 1, 2),<1> b_0(2),<1> atom_5(0),<1> atom_3(1).``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.nn.functional import one_hot
from torch_geometric.data import Data

from gnz_track.datasets.readers.bundles import read_lines
from gnz_track.datasets.readers.edge_arrays import rank

__all__ = ["read_ground_facts"]

_FACTS, _LABELS = "examples.txt", "queries.txt"
_FACT = re.compile(r"(?:<[^<>]*>\s*)?([a-z]\w*)\(([\d,\s]*)\)\s*([,.])\s*")
_TYPED = re.compile(r"(atom|b)_(\d+)")


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
