"""Nodes in five folds are those that scikit-learn draws, and links are held out by their shares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, train_test_split
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset, freeze
from gnz_track.datasets.splits.links import split_links
from gnz_track.datasets.splits.nodes_and_graphs import draw_node_fold, split_nodes
from gnz_track.errors import SplitImpossible
from gnz_track.types import Category, DatasetRow, TaskType


def by_sklearn(nodes: Tensor, fold: int) -> list[list[int]]:
    folds = list(KFold(5, shuffle=True, random_state=101).split(np.arange(nodes.numel())))
    rest, test = folds[fold]
    train, val = train_test_split(rest, test_size=0.2, random_state=101 * fold, shuffle=True)
    return [nodes[torch.from_numpy(np.sort(part))].tolist() for part in (train, val, test)]


@settings(deadline=None, max_examples=40)
@given(n=st.integers(5, 3000), seed=st.integers(0, 4), first=st.integers(0, 50))
def test_folds_are_those_of_scikit_learn(n: int, seed: int, first: int) -> None:
    nodes = torch.arange(n) * 3 + first
    assert [part.tolist() for part in draw_node_fold(nodes, n_folds=5, seed=seed)] == by_sklearn(nodes, seed)


def test_seeds_beyond_the_folds_repeat_them() -> None:
    nodes = torch.arange(100)
    for seed in range(5):
        once, again = (draw_node_fold(nodes, n_folds=5, seed=seed + more) for more in (0, 5))
        assert all(map(torch.equal, once, again))
    sizes = [part.numel() for part in draw_node_fold(nodes, n_folds=5, seed=0)]
    assert sizes == [64, 16, 20]
    tested = torch.cat([draw_node_fold(nodes, n_folds=5, seed=seed)[2] for seed in range(5)])
    assert tested.sort().values.tolist() == nodes.tolist()


ROW = DatasetRow(
    name="made_up",
    category=Category.custom,
    task_types=(TaskType.node_cls, TaskType.link_pred),
    loader="",
    source="made up",
    licence="none",
    citation="none",
)


def make(folder: Path, edges: Tensor, labels: Tensor) -> FrozenDataset:
    return freeze([Data(edge_index=edges, y=labels, num_nodes=labels.numel())], folder, row=ROW)


def test_nodes_without_label_or_neighbour_are_in_no_part(tmp_path: Path) -> None:
    ring = torch.stack([torch.arange(30), (torch.arange(30) + 1) % 30])
    # Nodes 30 to 34 are linked with nothing, and 34 with itself alone.
    edges = torch.cat([ring, ring.flip(0), torch.tensor([[34], [34]])], dim=1)
    labels = torch.arange(35) % 3
    labels[:4] = -1
    parts = split_nodes(make(tmp_path, edges, labels), policy="fifths", seed=2)
    found = [part.tolist() for part in parts.items().values()]
    assert found == by_sklearn(torch.arange(4, 30), 2)


def test_too_few_nodes_are_refused(tmp_path: Path) -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(SplitImpossible, match="part is empty"):
        split_nodes(make(tmp_path, edges, torch.tensor([0, 1])), policy="fifths", seed=4)


def test_links_lose_their_direction_and_loops_pass_nothing(tmp_path: Path) -> None:
    links = torch.combinations(torch.arange(10)).T[:, ::2]
    loops = torch.tensor([[3, 4], [3, 4]])
    dataset = make(tmp_path, torch.cat([links, loops, links[:, :5].flip(0)], dim=1), torch.zeros(40, dtype=torch.long))
    assert dataset.is_directed
    split = split_links(dataset, policy="fifths", seed=0)
    parts = (split.train, split.val, split.test)
    n = links.size(1)
    n_val, n_test = int(0.16 * n), int(0.2 * n)
    assert [int(part.labels.sum()) for part in parts] == [n - n_val - n_test, n_val, n_test]
    assert all(part.labels.numel() == 2 * int(part.labels.sum()) for part in parts)
    messages = {tuple(pair) for pair in split.message_edges.T.tolist()}
    positives = split.train.pairs[:, split.train.labels == 1].T.tolist()
    assert messages == {(a, b) for a, b in positives} | {(b, a) for a, b in positives}
    held_out = {frozenset(pair) for part in parts[1:] for pair in part.pairs.T.tolist()}
    assert not held_out & {frozenset(pair) for pair in messages}
