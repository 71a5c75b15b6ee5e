"""Molecules as types of atoms and bonds: ZINC and AQSOL, in the pickles of the benchmark that made them graphs."""

from __future__ import annotations

import collections
import io
import pickle
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch._utils import _rebuild_tensor_v2
from torch_geometric.data import Data

from gnz_track.datasets.readers.published_parts import GraphParts
from gnz_track.datasets.readers.restricted_pickle import load_arrays

__all__ = ["read_aqsol", "read_zinc"]

_PARTS = ("train", "val", "test")


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


def _aqsol_graph(x: Any, edge_attr: Any, edge_index: Any, y: Any) -> Data:
    atoms, bonds, edges = (torch.tensor(part.tolist(), dtype=torch.int64) for part in (x, edge_attr, edge_index))
    return Data(x=atoms, edge_index=edges, edge_attr=bonds, y=torch.tensor([float(y)]))


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
