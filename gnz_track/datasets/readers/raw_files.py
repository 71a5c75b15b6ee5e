"""Tools of all readers: archives of small files, lines, and edges as arrays."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

__all__ = [
    "GraphParts",
    "both_ways",
    "count_edges",
    "distinct",
    "rank",
    "read_bundle",
    "read_lines",
    "renumber",
    "with_validation",
]

Members = Iterator[tuple[PurePosixPath, bytes]]
T = TypeVar("T", int, str)
GraphParts = tuple[list[Data], list[Data], list[Data]]
_EVERY = 10


def read_bundle(folder: Path, *, archive: str, suffix: str) -> Members:
    """Give path and content of each file of a suffix.

    Parameters
    ----------
    folder, suffix
    archive
        Is read where it is there, else the folder.
    """
    path = folder / archive
    if path.exists():
        reader = next(reader for ending, reader in _READERS.items() if archive.endswith(ending))
        yield from ((name, content) for name, content in reader(path, suffix) if "__MACOSX" not in name.parts)
        return
    found = sorted(folder.rglob(f"*{suffix}"))
    if not found:
        message = f"neither {archive} nor a file *{suffix}"
        raise FileNotFoundError(2, message, str(path))
    for file in found:
        yield PurePosixPath(file.relative_to(folder).as_posix()), file.read_bytes()


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file that are not blank."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def distinct(edges: Tensor, n_nodes: int) -> Tensor:
    """Return the edges ``[2, m]`` without repetition, ordered by source, then by target; self-loops stay."""
    codes = torch.unique(edges[0] * n_nodes + edges[1])
    return torch.stack([codes // n_nodes, codes % n_nodes])


def both_ways(edges: Tensor, n_nodes: int) -> Tensor:
    """Return the distinct edges ``[2, m]`` of an undirected graph, each in both directions, self-loops once."""
    return distinct(torch.cat([edges, edges.flip(0)], dim=1), n_nodes)


def count_edges(listed: Iterable[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Return distinct edges ``[2, m]``, each in both directions, and how often it was listed in either ``[m]``.

    Loops are left out. Edges are ordered by source, then by target.

    >>> [found.tolist() for found in count_edges([(2, 0), (0, 2), (1, 1)])]
    [[[0, 2], [2, 0]], [2, 2]]
    """
    pairs = torch.tensor(list(listed), dtype=torch.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    distinct, counts = torch.unique(torch.cat([pairs, pairs.flip(1)]), dim=0, return_counts=True)
    return distinct.t().contiguous(), counts


def rank(values: Iterable[T]) -> dict[T, int]:
    """Return distinct values in ascending order with their numbers, from 0 on.

    >>> rank("nana")
    {'a': 0, 'n': 1}
    """
    return {value: number for number, value in enumerate(sorted(set(values)))}


def renumber(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return ids numbered from 0 in ascending order, and how many of them there are.

    >>> renumber(np.array([[7, 3], [3, 9]]))[0].tolist()
    [[1, 0], [0, 2]]
    """
    known, numbers = np.unique(ids, return_inverse=True)
    return numbers.reshape(ids.shape), len(known)


def with_validation(train: list[Data], test: list[Data]) -> GraphParts:
    """Set every tenth training graph aside for validation, where only training and test parts are published."""
    kept = [graph for place, graph in enumerate(train) if place % _EVERY]
    return kept, train[::_EVERY], test


def _zipped(path: Path, suffix: str) -> Members:
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(suffix):
                yield PurePosixPath(name), archive.read(name)


def _tarred(path: Path, suffix: str) -> Members:
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and member.name.endswith(suffix) else None
            if file is not None:
                yield PurePosixPath(member.name), file.read()


_READERS: dict[str, Callable[[Path, str], Members]] = {".zip": _zipped, ".tar.gz": _tarred}
