"""People and the crimes they were involved in, from files of the KONECT collection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.bundles import read_lines
from gnz_track.datasets.readers.edge_arrays import both_ways

__all__ = ["read_crime_roles"]


def read_crime_roles(folder: Path, *, edges: str, roles: str, sexes: str, labelled: Sequence[str]) -> Data:
    """Read the roles of people in crimes: nodes are people, then crimes; ``edge_label`` is the number of a role.

    x ``[n, 3]``: is a person, is a crime, the person's sex as the file has it (0 or 1). Names are not read.

    Parameters
    ----------
    folder
    edges, roles, sexes
        Names of files.
    labelled
        Roles in the order of their numbers; edges with any other pass messages and have no label.
    """
    pairs = [
        [int(word) for word in line.split()[:2]] for line in read_lines(folder / edges) if not line.startswith("%")
    ]
    role_of = [line.strip() for line in read_lines(folder / roles)]
    sex = torch.tensor([float(line) for line in read_lines(folder / sexes)])
    if len(pairs) != len(role_of) or max(person for person, _ in pairs) > len(sex):
        message = f"{len(pairs)} edges, {len(role_of)} roles and {len(sex)} people do not belong together"
        raise ValueError(message)
    ends = torch.tensor(pairs).t() - 1
    ends[1] += len(sex)
    n_crimes = int(ends[1].max()) + 1 - len(sex)
    is_person = torch.cat([torch.ones(len(sex)), torch.zeros(n_crimes)])
    x = torch.stack([is_person, 1 - is_person, torch.cat([sex, torch.zeros(n_crimes)])], dim=1)
    kept = [at for at, role in enumerate(role_of) if role in labelled]
    return Data(
        x=x,
        edge_index=both_ways(ends, is_person.numel()),
        edge_label_index=ends[:, kept],
        edge_label=torch.tensor([labelled.index(role_of[at]) for at in kept]),
    )
