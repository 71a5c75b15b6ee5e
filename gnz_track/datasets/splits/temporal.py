"""Parts by time: the earliest examples train, later ones validate, the latest are tested; no seed changes them."""

from __future__ import annotations

import torch
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.errors import SplitImpossible

__all__ = ["TEMPORAL", "cut_in_time", "times_of"]

TEMPORAL = "temporal"
# What is divided -> the fields that may say its time, the first that is there; edges that are predicted are links.
_FIELDS = {
    "node": ("time", "year", "node_time", "node_year"),
    "edge": ("edge_label_time", "edge_label_year"),
    "link": ("edge_time", "edge_year", "time", "year"),
    "graph": ("time", "year", "graph_time", "graph_year"),
}
# Names that are of edges only where they cannot be of nodes.
_OF_NODES = frozenset({"time", "year"})
FEWEST_TIMES = 3


def times_of(dataset: FrozenDataset, unit: str, n: int) -> Tensor:
    """Return the time of each example ``[n]``; data without one are refused.

    Parameters
    ----------
    dataset
        The data.
    unit
        What is divided: ``node``, ``edge`` (with a label), ``link`` or ``graph``.
    n
        How many there are.
    """
    names = _FIELDS[unit]
    name = next((name for name in names if _is_time(dataset.tensors.get(name), n)), "")
    if unit == "link" and name in _OF_NODES and dataset.n_nodes == dataset.n_edges:
        reason = f"it has as many nodes as edges, and {name} may be of either; call it edge_{name} where it is of edges"
        raise SplitImpossible(dataset.name, TEMPORAL, reason)
    if not name:
        reason = f"it has no {' or '.join(names)} with a number for each of {n} {unit}s"
        raise SplitImpossible(dataset.name, TEMPORAL, reason)
    times = dataset.tensors[name].reshape(n)
    if times.is_floating_point() and not times.isfinite().all():
        raise SplitImpossible(dataset.name, TEMPORAL, f"{int((~times.isfinite()).sum())} {unit}s have no time")
    return times


def _is_time(tensor: Tensor | None, n: int) -> bool:
    return tensor is not None and tensor.numel() == n and tensor.dtype != torch.bool


def cut_in_time(
    times: Tensor, shares: tuple[float, float], dataset: FrozenDataset, unit: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the places ``[n]`` in ``times`` of training, validation and test; what is of one time is of one part.

    Parts begin at the times at which they are nearest to their shares.

    Parameters
    ----------
    times
        Time of each example ``[n]``.
    shares
        Share of training, and that of training and validation together.
    dataset, unit
        Whose times they are, for errors.
    """
    values, place, counts = torch.unique(times, return_inverse=True, return_counts=True)
    n_times = values.numel()
    if n_times < FEWEST_TIMES:
        reason = f"its {unit}s have {n_times} different times, at least {FEWEST_TIMES} are needed"
        raise SplitImpossible(dataset.name, TEMPORAL, reason)
    until = counts.cumsum(0).double()
    asked = [share * times.numel() for share in shares]
    last_train = int((until[: n_times - 2] - asked[0]).abs().argmin())
    last_val = last_train + 1 + int((until[last_train + 1 : n_times - 1] - asked[1]).abs().argmin())
    parts = (place <= last_train, (place > last_train) & (place <= last_val), place > last_val)
    train, val, test = (part.nonzero().flatten() for part in parts)
    return train, val, test
