"""What generated data must not give away."""

from __future__ import annotations

import torch

from gnz_track.datasets.labelled_graphs import planted_partition


def test_node_numbers_say_nothing_of_classes() -> None:
    graph = planted_partition(n_classes=4, class_size=150, p_within=0.05, p_between=0.01, n_features=4, seed=0)
    by_number = torch.arange(600) * 4 // 600
    assert graph.y.bincount().tolist() == [150] * 4
    assert (graph.y == by_number).float().mean() < 0.35
