"""The csv tables of the Open Graph Benchmark, written by hand in its format."""

from __future__ import annotations

import gzip
import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnz_track.datasets.readers.graph_sets import read_ogb_graphs, read_ogb_links, read_ogb_nodes


def _write(folder: Path, tables: dict[str, Sequence[object]]) -> Path:
    for name, rows in tables.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as file:
            file.writelines(f"{row}\n" for row in rows)
    return folder


NODES = {
    "raw/edge": ["0,1", "1,2", "3,0"],
    "raw/node-feat": ["0.5,1", "-1,2.25", "0,0", "3,-4"],
    "raw/node-label": ["2", "0", "1", "2"],
    "split/time/train": [0, 3],
    "split/time/valid": [1],
    "split/time/test": [2],
}


def test_nodes_with_their_published_parts(tmp_path: Path) -> None:
    graph = read_ogb_nodes(_write(tmp_path, NODES), split="time", is_directed=True)
    assert graph.x.tolist() == [[0.5, 1], [-1, 2.25], [0, 0], [3, -4]]
    assert graph.x.dtype == torch.float32
    assert graph.y.tolist() == [2, 0, 1, 2]
    assert graph.edge_index.tolist() == [[0, 1, 3], [1, 2, 0]]
    assert graph.train_mask.tolist() == [True, False, False, True]
    assert graph.val_mask.tolist() == [False, True, False, False]
    assert graph.test_mask.tolist() == [False, False, True, False]
    undirected = read_ogb_nodes(tmp_path, split="time", is_directed=False)
    assert undirected.edge_index.tolist() == [[0, 1, 3, 1, 2, 0], [1, 2, 0, 0, 1, 3]]


LINKS = {
    "raw/edge": ["0,1", "0,1", "2,1"],
    "raw/node-feat": ["1", "2", "3"],
    "raw/edge_weight": [3, 1, 1],
    "raw/edge_year": [1999, 2004, 2004],
}
PARTS: dict[str, dict[str, Any]] = {
    "train": {"edge": [[0, 1], [0, 1], [2, 1]], "weight": [3, 1, 1], "year": [1999, 2004, 2004]},
    "valid": {"edge": [[0, 2]], "edge_neg": [[1, 1], [2, 0]], "weight": [1], "year": [2018]},
    "test": {"edge": [[2, 0], [1, 2]], "edge_neg": [[0, 0], [1, 0], [0, 2]], "weight": [2, 1], "year": [2019, 2019]},
}


def _write_parts(folder: Path, kind: Any, *, is_zip: bool) -> Path:
    folder.mkdir(parents=True)
    for name, part in PARTS.items():
        content = {key: kind(value) for key, value in part.items()}
        torch.save(content, folder / f"{name}.pt", _use_new_zipfile_serialization=is_zip)
    return folder


@pytest.mark.parametrize("is_zip", [True, False], ids=["archive", "of old"])
@pytest.mark.parametrize("kind", [np.array, torch.tensor], ids=["arrays", "tensors"])
def test_links_with_their_published_parts(kind: Any, is_zip: bool, tmp_path: Path) -> None:  # noqa: FBT001
    _write_parts(tmp_path / "split" / "time", kind, is_zip=is_zip)
    graph = read_ogb_links(_write(tmp_path, LINKS), split="time")
    assert graph.edge_index.tolist() == [[0, 0, 2, 1, 1, 1], [1, 1, 1, 0, 0, 2]]
    assert graph.edge_weight.tolist() == [3, 1, 1, 3, 1, 1]
    assert graph.edge_year.tolist() == [1999, 2004, 2004, 1999, 2004, 2004]
    # A link counts as often as it was published.
    assert graph.train_link_index.tolist() == [[0, 0, 2], [1, 1, 1]]
    assert graph.val_link_index.tolist() == [[0], [2]]
    assert graph.val_non_link_index.tolist() == [[1, 2], [1, 0]]
    assert graph.test_link_index.tolist() == [[2, 1], [0, 2]]
    assert graph.test_non_link_index.tolist() == [[0, 1, 0], [0, 0, 2]]


class _Asks:
    """Unpickled without restriction, it runs a command."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


@pytest.mark.parametrize("is_zip", [True, False], ids=["archive", "of old"])
def test_parts_that_ask_to_run_something_are_refused(is_zip: bool, tmp_path: Path) -> None:  # noqa: FBT001
    folder, mark = _write_parts(tmp_path / "split" / "time", np.array, is_zip=is_zip), tmp_path / "mark"
    content = {"edge": np.zeros((1, 2), dtype=np.int64), "edge_neg": _Asks(f"touch {mark}")}
    torch.save(content, folder / "test.pt", _use_new_zipfile_serialization=is_zip)
    with pytest.raises(pickle.UnpicklingError, match=r"posix\.system"):
        read_ogb_links(_write(tmp_path, LINKS), split="time")
    assert not mark.exists()


def test_parts_that_are_no_file_of_torch_are_refused(tmp_path: Path) -> None:
    folder = _write_parts(tmp_path / "split" / "time", np.array, is_zip=True)
    (folder / "train.pt").write_bytes(b"".join(pickle.dumps(value) for value in (1, 2, 3, PARTS["train"])))
    with pytest.raises(pickle.UnpicklingError, match=r"no file of torch\.save"):
        read_ogb_links(_write(tmp_path, LINKS), split="time")


# The second molecule is one atom without a bond.
GRAPHS = {
    "raw/num-node-list": [2, 1, 3],
    "raw/num-edge-list": [1, 0, 2],
    "raw/edge": ["0,1", "0,1", "1,2"],
    "raw/edge-feat": ["0,0,0", "1,0,1", "3,0,1"],
    "raw/node-feat": ["5,0", "6,0", "7,1", "5,1", "5,2", "16,0"],
    "split/scaffold/train": [2, 0],
    "split/scaffold/valid": [],
    "split/scaffold/test": [1],
}


def test_molecules_with_missing_labels(tmp_path: Path) -> None:
    tables = {**GRAPHS, "raw/graph-label": ["1,0", ",1", "0,"], "split/scaffold/valid": [0]}
    train, val, test = read_ogb_graphs(_write(tmp_path, tables), split="scaffold")
    assert [graph.num_nodes for graph in (*train, *val, *test)] == [3, 2, 2, 1]
    assert train[0].x.tolist() == [[5, 1], [5, 2], [16, 0]]
    assert train[0].edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert train[0].edge_attr.tolist() == [[1, 0, 1], [3, 0, 1]] * 2
    assert test[0].edge_index.shape == (2, 0)
    assert test[0].edge_attr.shape == (0, 3)
    assert test[0].y.dtype == torch.float32
    assert test[0].y.isnan().tolist() == [[True, False]]


def test_molecules_with_one_class_each(tmp_path: Path) -> None:
    tables = {**GRAPHS, "raw/graph-label": [1, 0, 1], "split/scaffold/valid": [1]}
    train, _, _ = read_ogb_graphs(_write(tmp_path, tables), split="scaffold")
    assert [graph.y.tolist() for graph in train] == [[[1]], [[1]]]
    assert train[0].y.dtype == torch.int64


def test_tables_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    tables = {**GRAPHS, "raw/graph-label": [1, 0], "split/scaffold/valid": [1]}
    with pytest.raises(ValueError, match="zip"):
        read_ogb_graphs(_write(tmp_path, tables), split="scaffold")
