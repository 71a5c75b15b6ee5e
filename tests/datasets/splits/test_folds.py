"""Folds: the same for all seeds, of equal sizes and classes, and told by the seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.nodes_and_graphs import Fold, draw_folds, fold_of, split_edges, split_graphs, split_nodes
from gnz_track.errors import BadValue

Freezer = Callable[..., FrozenDataset]


def _frozen(frozen_from: Freezer, labels: list[int], **options: object) -> FrozenDataset:
    return frozen_from([Data(x=torch.ones(1, 1), y=torch.tensor([label])) for label in labels], **options)


@settings(deadline=None, max_examples=40)
@given(labels=st.lists(st.integers(0, 3), min_size=20, max_size=120), n_folds=st.sampled_from([5, 10]))
def test_folds_have_equal_sizes_and_classes(frozen_from: Freezer, labels: list[int], n_folds: int) -> None:
    fold = draw_folds(_frozen(frozen_from, labels), n_folds=n_folds)
    sizes = fold.bincount(minlength=n_folds)
    assert int(sizes.max() - sizes.min()) <= 1
    for label in set(labels):
        of_label = fold[torch.tensor(labels) == label].bincount(minlength=n_folds)
        assert int(of_label.max() - of_label.min()) <= 1


@pytest.mark.parametrize(("n", "parts"), [(600, (480, 60, 60)), (1_113, (890, 112, 111)), (1_178, (942, 118, 118))])
def test_ten_folds_divide_as_published(frozen_from: Freezer, n: int, parts: tuple[int, int, int]) -> None:
    """80 / 10 / 10 of so many graphs, to within one graph, as the published numbers are."""
    dataset = _frozen(frozen_from, [number % 6 for number in range(n)])
    tested = []
    for seed in range(10):
        found = split_graphs(dataset, policy="ten_folds", seed=seed)
        sizes = [part.numel() for part in found.items().values()]
        assert sum(sizes) == n
        assert all(abs(size - wanted) <= 2 for size, wanted in zip(sizes, parts, strict=True))
        assert found.sizes == (sizes[0], sizes[2])
        tested.append(found.test)
    assert torch.equal(torch.cat(tested).sort().values, torch.arange(n))


def test_classes_are_shared_out_as_another_library_does(frozen_from: Freezer) -> None:
    labels = np.random.default_rng(0).choice(3, size=100, p=[0.6, 0.3, 0.1])
    dataset = _frozen(frozen_from, labels.tolist())
    found = [split_graphs(dataset, policy="ten_folds", seed=seed).test.numpy() for seed in range(10)]
    counts = sorted(tuple(np.bincount(labels[test], minlength=3)) for test in found)
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(labels, labels)
    wanted = sorted(tuple(np.bincount(labels[test], minlength=3)) for _, test in folds)
    assert np.abs(np.array(counts) - np.array(wanted)).max() <= 1


def test_a_seed_is_a_fold_and_a_repetition(frozen_from: Freezer) -> None:
    dataset = _frozen(frozen_from, [number % 2 for number in range(40)])
    for seed in range(20):
        assert fold_of(dataset, policy="ten_folds", seed=seed) == Fold(seed % 10, 10, seed // 10)
        again = split_graphs(dataset, policy="ten_folds", seed=seed + 10)
        assert split_graphs(dataset, policy="ten_folds", seed=seed).digest == again.digest
    digests = {split_graphs(dataset, policy="five_folds", seed=seed).digest for seed in range(15)}
    assert len(digests) == 5
    assert fold_of(dataset, policy="published", seed=3) is None
    assert fold_of(dataset, policy="random", seed=3) is None


def test_columns_of_parts_are_folds_too(frozen_from: Freezer) -> None:
    columns = torch.stack([torch.arange(9).roll(shift) % 3 for shift in range(3)], dim=1)
    dataset = _frozen(frozen_from, [0] * 9, split=columns)
    for policy in ("published", "ten_folds"):
        assert fold_of(dataset, policy=policy, seed=7) == Fold(1, 3, 2)
        parts = split_graphs(dataset, policy=policy, seed=7)
        assert parts.test.tolist() == (columns[:, 1] == 2).nonzero().flatten().tolist()
    assert fold_of(dataset, policy="random", seed=7) is None
    one = _frozen(frozen_from, [0] * 9, split=columns[:, 0])
    assert fold_of(one, policy="ten_folds", seed=7) is None
    assert split_graphs(one, policy="ten_folds", seed=7).digest == split_graphs(one, policy="published", seed=1).digest


def test_nodes_and_labelled_edges_follow_their_graph(frozen_from: Freezer) -> None:
    split = torch.tensor([0, 0, 1, 2])
    pair = torch.tensor([[0, 1], [1, 0]])
    labelled = {"edge_label_index": pair[:, :1], "edge_label": torch.tensor([1])}
    nodes = frozen_from(
        [Data(x=torch.ones(n, 1), edge_index=pair, y=torch.arange(n) % 2) for n in (2, 3, 4, 5)], split=split
    )
    for policy in ("published", "ten_folds"):
        parts = split_nodes(nodes, policy=policy, seed=0)
        assert [part.tolist() for part in parts.items().values()] == [
            list(range(5)),
            list(range(5, 9)),
            list(range(9, 14)),
        ]
    drawn = split_nodes(nodes, policy="random", seed=0)
    assert sum(part.numel() for part in drawn.items().values()) == 14
    edges = frozen_from([Data(x=torch.ones(2, 1), edge_index=pair, **labelled) for _ in range(4)], split=split)
    found = split_edges(edges, policy="ten_folds", seed=3)
    assert [part.tolist() for part in found.items().values()] == [[0, 1], [2], [3]]


def test_numbers_are_folded_without_classes(frozen_from: Freezer) -> None:
    dataset = frozen_from([Data(x=torch.ones(1, 1), y=torch.tensor([[0.5 * n, 1.0]])) for n in range(25)])
    assert draw_folds(dataset, n_folds=5).bincount().tolist() == [5] * 5


def test_a_split_of_another_length_or_with_other_parts_is_refused(frozen_from: Freezer) -> None:
    for split in (torch.zeros(3), torch.full((4,), 3), torch.zeros(4, 2, 2), torch.empty(4, 0), torch.zeros(3, 2)):
        with pytest.raises(BadValue, match="split"):
            _frozen(frozen_from, [0] * 4, split=split)
