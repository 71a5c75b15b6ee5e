"""What is told of a dataset before anything is posed is what the problem then has, and what a model is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.errors import SplitImpossible
from gnz_track.problems.catalogue import pose, sizes_of

Freezer = Callable[[Any], FrozenDataset]
Worlds = Callable[[str], Any]


def first_batch(objective: Any) -> Any:
    inner = getattr(objective, "inner", objective)
    return inner.data if hasattr(inner, "data") else next(iter(inner.batches(torch.Generator())))


@pytest.mark.parametrize("encoding", ["", "lap3"])
def test_sizes_are_those_of_what_a_model_is_given(any_world: Any, encoding: str, frozen: Freezer) -> None:
    if any_world.name == "triples" and encoding:
        encoding = "lap3-plain"
    settings = any_world.settings(encoding=encoding)
    problem = pose(frozen(any_world), settings)
    sizes, shown = problem.sizes, first_batch(problem.objective)
    assert sizes == sizes_of(frozen(any_world), settings)
    assert sizes.in_channels == shown.x.size(1)
    assert sizes.n_encoding == (shown.encoding.size(1) if encoding else 0)
    assert ("encoding" in shown) is bool(encoding)
    assert bool(sizes.vocabulary) is not shown.x.is_floating_point()
    assert sizes.n_nodes == (shown.num_nodes if len(frozen(any_world)) == 1 else 0)


def test_features_of_message_edges_are_counted(world: Worlds, tmp_path: Path) -> None:
    graphs = [graph.clone() for graph in world("graphs").graphs]
    for graph in graphs:
        graph.edge_attr = torch.rand(graph.num_edges, 2)
    real = replace(world("graphs"), name="real", graphs=graphs)
    found = sizes_of(real.freeze(tmp_path / "real"), real.settings())
    assert (found.edge_channels, found.edge_vocabulary) == (2, ())
    for number, graph in enumerate(graphs):
        graph.edge_attr = torch.arange(graph.num_edges) % (2 + number % 4)
    whole = replace(world("graphs"), name="whole", graphs=graphs)
    found = sizes_of(whole.freeze(tmp_path / "whole"), whole.settings())
    assert (found.edge_channels, found.edge_vocabulary) == (1, (5,))


def test_links_have_no_features_of_message_edges(world: Worlds, tmp_path: Path) -> None:
    graph = world("links").graphs[0].clone()
    graph.edge_attr = torch.rand(graph.num_edges, 2)
    featured = replace(world("links"), name="featured", graphs=[graph])
    assert sizes_of(featured.freeze(tmp_path / "links"), featured.settings()).edge_channels == 0


def test_a_task_without_labels_is_an_error(world: Worlds, tmp_path: Path) -> None:
    graphs = [graph.clone() for graph in world("graphs").graphs]
    for graph in graphs:
        graph.y = torch.tensor([-1])
    unlabelled = replace(world("graphs"), name="unlabelled", graphs=graphs)
    with pytest.raises(SplitImpossible, match="no labels for graph_cls"):
        sizes_of(unlabelled.freeze(tmp_path / "none"), unlabelled.settings())
