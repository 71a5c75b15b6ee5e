"""Contacts between people as the SocioPatterns project lists them: time, one, other, and the group of each."""

from __future__ import annotations

from pathlib import Path

import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.bundles import read_lines
from gnz_track.datasets.readers.edge_arrays import rank
from gnz_track.datasets.readers.edge_counts import count_edges

__all__ = ["read_contacts"]


def read_contacts(folder: Path, *, file: str) -> Data:
    """Read who met whom: x ``[n, n]`` the identity, y ``[n]`` the group, edge_attr ``[m, 1]`` the number of contacts.

    A line is one contact of one interval. People are numbered by their number in the file, groups by name.
    """
    group_of: dict[int, str] = {}
    met: list[tuple[int, int]] = []
    for line in read_lines(folder / file):
        _, one, other, *groups = line.split()
        met.append((int(one), int(other)))
        for person, group in zip(met[-1], groups, strict=True):
            if group_of.setdefault(person, group) != group:
                message = f"person {person} is in the groups {group_of[person]} and {group}"
                raise ValueError(message)
    place, kinds = rank(group_of), rank(group_of.values())
    edges, counts = count_edges((place[one], place[other]) for one, other in met)
    return Data(
        x=torch.eye(len(place)),
        edge_index=edges,
        edge_attr=counts.float().unsqueeze(1),
        y=torch.tensor([kinds[group_of[person]] for person in place]),
    )
