"""Circles with skip links: ten of them, none like another, and five folds."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from gnz_track.datasets.collation import PartedGraphs
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.generators.cycles import skip_link_circles

SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)


@pytest.fixture(scope="module")
def circles() -> PartedGraphs:
    return skip_link_circles(n_nodes=41, skips=SKIPS, n_copies=15, n_folds=5, seed=0)


def _listed(circles: PartedGraphs) -> list[Data]:
    return list(circles.graphs)


def _graph(data: Data) -> nx.Graph:
    return to_networkx(data, to_undirected=True)


def test_a_class_is_one_graph_and_classes_are_ten(circles: PartedGraphs) -> None:
    graphs = _listed(circles)
    by_class = [[_graph(data) for data in graphs if int(data.y) == kind] for kind in range(10)]
    for skip, alike in zip(SKIPS, by_class, strict=True):
        assert len(alike) == 15
        circle = nx.circulant_graph(41, [1, skip])
        assert all(nx.is_isomorphic(circle, graph) for graph in alike[:3])
        assert nx.to_numpy_array(alike[0], nodelist=range(41)).sum() == 164
    # Cospectral graphs may differ, but graphs of different spectra are different.
    spectra = [np.sort(np.linalg.eigvalsh(nx.to_numpy_array(alike[0]))) for alike in by_class]
    assert all(np.abs(one - other).max() > 1e-6 for one, other in itertools.combinations(spectra, 2))


def test_all_copies_are_numbered_anew(circles: PartedGraphs) -> None:
    codes = {tuple((data.edge_index[0] * 41 + data.edge_index[1]).sort().values.tolist()) for data in circles.graphs}
    assert len(codes) == 150


def test_colour_refinement_sees_one_graph(circles: PartedGraphs) -> None:
    # With the same features at all nodes, equal degrees are all that refinement starts from, and ends with.
    assert {degree for data in circles.graphs for _, degree in _graph(data).degree} == {4}
    assert not any(data.x.any() for data in circles.graphs)


def test_each_fold_has_all_classes_alike(circles: PartedGraphs, frozen_from: Callable[..., FrozenDataset]) -> None:
    kinds = torch.tensor([int(data.y) for data in circles.graphs])
    assert circles.split.shape == (150, 5)
    for column in circles.split.unbind(dim=1):
        for part, size in ((0, 9), (1, 3), (2, 3)):
            assert kinds[column == part].bincount().tolist() == [size] * 10
    # Each graph is tested once, and validates once.
    for part in (1, 2):
        assert ((circles.split == part).sum(dim=1) == 1).all()
    dataset = frozen_from(_listed(circles), split=circles.split)
    assert dataset.split is not None
    assert torch.equal(dataset.split, circles.split)
    # In no order: where graphs stood sorted by class, their places would tell it.
    assert abs(np.corrcoef(np.arange(150), kinds)[0, 1]) < 0.25
